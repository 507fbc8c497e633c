"""What each node needs besides its accelerators."""
