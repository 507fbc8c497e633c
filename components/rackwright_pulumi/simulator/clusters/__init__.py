"""Simulated Kubernetes clusters and their controllers."""
