"""Buckets, box disks and the shared file system."""
