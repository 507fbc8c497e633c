"""Candidates against goals and limits."""
