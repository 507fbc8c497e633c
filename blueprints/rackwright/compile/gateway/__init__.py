"""One gateway for all models of a fleet (`blueprint.gateway: {envoy: ...}`): routes, clients, rates, and the signal that wakes a model."""
