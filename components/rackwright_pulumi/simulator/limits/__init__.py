"""Errors of the simulated clouds: quotas, capacity, reservations, conflicts."""
