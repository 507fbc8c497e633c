"""Quotas besides those of machines, by cloud."""
