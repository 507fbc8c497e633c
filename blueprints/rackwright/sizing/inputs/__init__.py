"""Workloads of the spec and their models as numbers for the formulas."""
