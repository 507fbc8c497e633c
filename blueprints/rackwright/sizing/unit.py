"""Units in which a workload is counted and priced."""

from dataclasses import dataclass

from rackwright.sizing.metrics import Interval
from rackwright.sizing.plan import Fit, WorkloadFacts
from rackwright.units import HOUR


@dataclass(frozen=True)
class Unit:
    """plural: `images`. lot: units in a price. priced_per: `1,000 images`."""

    plural: str
    lot: float
    priced_per: str


UNITS = {
    "token": Unit("tokens", 1e6, "1M tokens"),
    "request": Unit("requests", 1e3, "1,000 requests"),
    "image": Unit("images", 1e3, "1,000 images"),
    "audio-second": Unit("seconds of audio", HOUR, "hour of audio"),
    "document": Unit("documents", 1e6, "1M documents"),
}
"""By `WorkloadFacts.unit`."""


@dataclass(frozen=True)
class UnitCost:
    """US dollars of machines per `per`, such as `1,000 images`; of a service at the planned traffic."""

    usd: Interval
    per: str


def unit_cost(fit: Fit, facts: WorkloadFacts) -> UnitCost | None:
    """Cost of a lot of units; None without a price, and for work that is counted in tokens."""
    unit = UNITS[facts.unit]
    if facts.unit == "token" or fit.cost_usd is None:
        return None
    if fit.duration_s:
        return UnitCost(fit.cost_usd.times(unit.lot / facts.units), unit.priced_per) if facts.units else None
    rate = (fit.speed.requests_per_s or 0.0) * facts.units_per_request
    if not rate or fit.usd_per_hour is None:
        return None
    each = fit.usd_per_hour / HOUR / rate * unit.lot
    return UnitCost(Interval(each, each, each), unit.priced_per)
