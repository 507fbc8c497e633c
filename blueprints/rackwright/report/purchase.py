"""Purchases as JSON."""

from dataclasses import asdict
from typing import Any

from rackwright.workflow.purchase import PurchaseOption

DERIVED = (
    "servers", "switch_transceivers", "it_watts", "facility_watts", "btu_per_hour", "rack_units", "racks", "known_usd", "purchase_usd",
    "depreciation_usd_per_year", "energy_usd_per_year", "usd_per_server_hour",
)  # fmt: skip


def options_json(found: list[PurchaseOption]) -> list[dict[str, Any]]:
    """One mapping per server model. Unknown values are null, and `missing` names the keys of `purchase` that they need."""
    return [_option(option) for option in found]


def _option(option: PurchaseOption) -> dict[str, Any]:
    plan, fit = option.plan, option.fit
    made: dict[str, Any] = {"machine": option.machine, "reason": option.reason or None}
    if plan is None:
        return made
    duration = asdict(fit.duration_s) if fit and fit.duration_s else None
    lines = [asdict(line) | {"usd": line.usd} for line in plan.lines]
    values = {key: getattr(plan, key) for key in DERIVED}
    fabric = asdict(plan.fabric) | {"switches": plan.fabric.switches, "cables": plan.fabric.cables}
    return made | {
        "duration_s": duration,
        **values,
        "server": asdict(plan.server),
        "switch": asdict(plan.switch),
        "fabric": fabric,
        "lines": lines,
        "missing": list(plan.missing),
    }
