"""A running cluster: its API server, the inventory read from it, and the jobs submitted to it."""
