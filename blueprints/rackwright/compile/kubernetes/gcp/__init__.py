"""Kubernetes objects of Google Cloud controllers."""
