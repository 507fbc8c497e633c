"""Cost of an hour of an own server: depreciation, power and cooling. Numbers in, numbers out."""

from dataclasses import dataclass

from rackwright.units import HOUR


@dataclass(frozen=True)
class OwnNodeCost:
    """US dollars of one server for an hour. depreciation_usd, power_usd: its parts; None for an amount that is stated as a whole.

    kw: of the server at full load. pue: facility over IT power.
    """

    usd_per_hour: float
    depreciation_usd: float | None = None
    power_usd: float | None = None
    kw: float = 0.0
    pue: float = 1.0
    usd_per_kwh: float = 0.0


def node_usd_per_hour(purchase_usd: float, lifetime_s: float, watts: float, usd_per_kwh: float, pue: float) -> OwnNodeCost:
    """Straight-line depreciation over the lifetime, and power at full load times the facility's overhead.

    watts: of the server at full load. pue: facility over IT power, which adds cooling and distribution.
    """
    depreciation = purchase_usd / (lifetime_s / HOUR)
    power = watts / 1000 * pue * usd_per_kwh
    return OwnNodeCost(depreciation + power, depreciation, power, watts / 1000, pue, usd_per_kwh)
