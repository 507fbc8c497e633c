"""What a unit is, once. Bytes, seconds and hours are meant wherever a name does not say otherwise."""

GIB, TIB = 2**30, 2**40
"""Bytes of a binary gigabyte and terabyte."""
HOUR = 3600.0
"""Seconds."""
MONTH_H = 730.0
"""Hours of an average month, as clouds bill it."""
