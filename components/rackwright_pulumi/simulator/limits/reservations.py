"""Reservations and capacity blocks by id: who may use them, where, when and how many machines are left in them."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from rackwright_pulumi.simulator.limits.machines import BLOCK, MachineRequest

LACKING = "ReservationCapacityExceeded: the requested reservation does not have sufficient compatible and available capacity"
"""EC2's one answer to a reservation of another type, of another zone, or used up (EC2 API error codes)."""


def unserved(machines: MachineRequest, reservations: Mapping[str, Mapping[str, Any]], used: int, now: str) -> str:
    """EC2's refusal to start machines in the reservation they ask for; empty when it has them, or is not known here.

    used: machines in it, these included; now: ISO 8601, empty where no time passes.
    """
    row = reservations.get(machines.reservation)
    if row is None or not machines.count:
        return ""
    if row.get("block", False) != machines.block:
        sold = "a capacity block" if row.get("block") else "no capacity block"
        return f"InvalidParameterCombination: {machines.reservation} is {sold}; its market type must say so"
    if now and (over := _closed(row, now)):
        return f"InvalidCapacityReservationState: {machines.reservation} {over}"
    for what, asked in (("type", machines.type), ("zone", machines.zone)):
        if row.get(what, asked) != asked:
            return f"{LACKING}: {machines.reservation} is of {what} {row[what]}, not {asked}"
    if machines.placement_group and row.get("placement_group", "") != machines.placement_group:
        return f"{LACKING}: {machines.reservation} was not made in placement group {machines.placement_group}"
    if row.get("count") is not None and used > row["count"]:
        return f"{LACKING}: {machines.reservation} has {row['count']} machines"
    return ""


def _closed(row: Mapping[str, Any], now: str) -> str:
    start, end, moment = (_moment(text) for text in (row.get("start"), row.get("end"), now))
    if moment and start and moment < start:
        return f"is scheduled and starts at {row['start']}"
    return f"expired at {row['end']}" if moment and end and moment >= end else ""


def _moment(text: str | None) -> datetime | None:
    found = datetime.fromisoformat(text) if text else None
    return found.replace(tzinfo=UTC) if found and found.tzinfo is None else found


def refuse_purchase(inputs: Mapping[str, Any], template: Mapping[str, Any]) -> str:
    """EKS' refusal of a node group and template that disagree on how machines are bought; empty when they agree.

    Source: https://docs.aws.amazon.com/eks/latest/userguide/capacity-blocks-mng.html (recipes V-32, V-33).
    """
    target = (template.get("capacityReservationSpecification") or {}).get("capacityReservationTarget") or {}
    bought, reserved = inputs.get("capacityType", "ON_DEMAND"), next(iter(target.values()), "")
    market = (template.get("instanceMarketOptions") or {}).get("marketType", "")
    if (bought == "CAPACITY_BLOCK") != (market == BLOCK):
        return f"InvalidParameterException: capacity type {bought} with the template's market type {market or 'none'}"
    if bought == "CAPACITY_BLOCK" and not reserved:
        return "InvalidParameterException: a capacity block needs the template to target its reservation"
    if bought == "SPOT" and reserved:
        return f"InvalidParameterException: spot machines cannot use the reservation {reserved}"
    return ""
