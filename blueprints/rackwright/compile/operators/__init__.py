"""Cluster add-ons, Helm releases, drivers and queues, with their pinned versions."""
