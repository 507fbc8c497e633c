"""Answers to provider functions (invokes)."""
