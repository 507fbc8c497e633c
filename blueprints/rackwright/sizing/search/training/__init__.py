"""Parallel layout and batch of training on each machine."""
