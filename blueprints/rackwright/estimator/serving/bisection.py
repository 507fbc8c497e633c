"""The largest whole number that still fits."""

from collections.abc import Callable


def largest(fits: Callable[[int], bool], most: int = 2**40) -> int:
    """0 when not even 1 fits; by doubling, then halving: `fits` never turns true again once false."""
    if not fits(1):
        return 0
    low, high = 1, 2
    while high <= most and fits(high):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
