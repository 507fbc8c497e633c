"""Units. Sizes are in bytes, times in seconds and long times in hours, unless a name ends in another unit."""

MIB, GIB, TIB = 2**20, 2**30, 2**40
"""Bytes of a binary megabyte, gigabyte and terabyte."""
HOUR = 3600.0
"""Seconds of an hour."""
MONTH_H = 730.0
"""Hours of an average month, as clouds bill."""
YEARS = range(2000, 2201)
"""Years of every date of a spec and of `--today`. Adding the longest time to live, 100 years, and a time zone stays a valid date."""
