"""Seconds of calls in process."""

import gc
import time
from collections.abc import Callable


def best(work: Callable[[], object], times: int) -> float:
    """Of the fastest of so many calls, each after a garbage collection."""
    found = []
    for _ in range(times):
        gc.collect()
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return min(found)
