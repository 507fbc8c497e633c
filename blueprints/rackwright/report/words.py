"""Numbers as people read them. Unknown is said, never shown as zero."""

from rackwright.sizing.plan import GIB, Interval

UNKNOWN = "not published"


def usd(value: float | None, digits: int | None = None) -> str:
    if value is None:
        return UNKNOWN
    places = digits if digits is not None else 2 if abs(value) < 100 else 0
    return f"{value:,.{places}f} USD"


def span(seconds: float | None) -> str:
    """`38 s`, `12 min`, `6.5 h`, `3.2 d`."""
    if seconds is None:
        return UNKNOWN
    for unit, size in (("d", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0)):
        if seconds >= (2 * size if unit == "d" else size):
            number = seconds / size
            return f"{number:,.0f} {unit}" if number >= 100 or unit == "s" else f"{number:,.1f} {unit}"
    return f"{seconds * 1000:,.0f} ms"


def gib(value: float) -> str:
    return f"{value / GIB:,.1f} GiB"


def percent(fraction: float) -> str:
    return f"{fraction * 100:,.0f} %"


def count(value: float) -> str:
    """`8.03B`, `250k`."""
    for unit, size in (("T", 1e12), ("B", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:,.3g}{unit}"
    return f"{value:,.0f}"


def span_range(interval: Interval | None) -> str:
    """The likely value, with the range that holds four times in five."""
    return UNKNOWN if interval is None else f"{span(interval.p50)} ({span(interval.p10)} to {span(interval.p90)})"


def usd_range(interval: Interval) -> str:
    return f"{usd(interval.p50)} ({interval.p10:,.0f} to {interval.p90:,.0f})"
