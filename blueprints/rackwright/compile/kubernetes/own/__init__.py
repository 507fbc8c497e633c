"""Objects on own servers: node labels, InfiniBand and RoCE networks, volumes."""
