"""Components in any Kubernetes cluster, and the provider of an existing cluster on own servers."""

CLOUD = "kubernetes"
"""The cloud of a plan for own servers, and the name of its provider."""
