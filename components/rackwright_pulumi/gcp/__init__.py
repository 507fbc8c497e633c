"""Components on Google Cloud."""

CLOUD = "gcp"
"""The cloud of a plan these parts build, and the name of its provider."""
