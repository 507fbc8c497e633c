"""Kubernetes objects as data; objects of one cloud's controllers are in aws/ and gcp/."""
