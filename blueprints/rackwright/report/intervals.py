"""Intervals as text: the median with the percentile that goals are compared with."""

from collections.abc import Callable

from rackwright.sizing.evaluation.evaluate import p80
from rackwright.sizing.metrics import Interval
from rackwright.sizing.plan import Fit
from rackwright.wording.formatting import span, usd


def with_p80(interval: Interval, shown: Callable[[float], str]) -> str:
    """`1.9 h (p80 2.6 h)`: median, and the p80 that decides about deadlines and budgets; one value where both are the same."""
    likely, decisive = shown(interval.p50), shown(p80(interval))
    return likely if likely == decisive else f"{likely} (p80 {decisive})"


def decisive_text(fit: Fit) -> str:
    """`2.6 h, 4.30 USD: deadline and budget are compared with the p80`; empty where it equals the median."""
    found = ((fit.finish_s, span), (fit.cost_usd, usd))
    parts = [shown(p80(interval)) for interval, shown in found if interval and p80(interval) != interval.p50]
    return f"{', '.join(parts)}: deadline and budget are compared with the p80" if parts else ""
