"""The provider protocol over one simulated cloud."""
