"""Rules over the spec (spec/) and over the compiled stack (stack/)."""
