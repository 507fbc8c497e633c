"""The compiled stack of a fit: whether it can be built, its problems and bill, its outputs and its teardown."""
