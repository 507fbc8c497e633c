"""Rules on disks, buckets and file systems."""
