"""Zones, address ranges and subnets."""
