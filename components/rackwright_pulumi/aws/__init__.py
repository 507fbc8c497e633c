"""Components on AWS."""

CLOUD = "aws"
"""The cloud of a plan these parts build, and the name of its provider."""
