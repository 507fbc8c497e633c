"""Kubernetes objects of AWS controllers."""
