"""Model dimensions, parameter counts and floating-point operations."""
