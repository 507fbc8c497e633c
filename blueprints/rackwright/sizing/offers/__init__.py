"""Machines in the places and capacity modes that the spec allows."""
