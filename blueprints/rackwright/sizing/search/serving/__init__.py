"""Replicas of services, and batches, on each machine."""
