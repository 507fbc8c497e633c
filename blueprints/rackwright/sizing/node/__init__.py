"""Requirements of a node beside its accelerators."""
