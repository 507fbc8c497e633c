"""Errors of reservations and capacity blocks: type, zone, time, placement group, and remaining machines."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from rackwright_pulumi.simulator.computed.arns import zone_name
from rackwright_pulumi.simulator.limits.machines import BLOCK, MachineRequest

EXCEEDED = "ReservationCapacityExceeded: the requested reservation does not have sufficient compatible and available capacity"
"""EC2's error for a reservation of another type or zone, or without free machines (EC2 API error codes)."""


def reservation_error(machines: MachineRequest, reservations: Mapping[str, Mapping[str, Any]], used: int, now: str) -> str:
    """EC2's error for machines in their reservation; empty if it has them, or is not configured.

    used: machines in it, including these; now: ISO 8601, empty to skip the check.
    """
    row = reservations.get(machines.reservation)
    if row is None or not machines.count:
        return ""
    if row.get("block", False) != machines.block:
        kind = "a capacity block" if row.get("block") else "no capacity block"
        return f"InvalidParameterCombination: {machines.reservation} is {kind}, and the market type does not match"
    if now and (reason := _closed(row, now)):
        return f"InvalidCapacityReservationState: {machines.reservation} {reason}"
    for attribute, requested in (("type", machines.type), ("zone", machines.zone)):
        if zone_name(row.get(attribute, requested), machines.region) != requested:
            return f"{EXCEEDED}: {machines.reservation} is of {attribute} {row[attribute]}, not {requested}"
    if machines.placement_group and row.get("placement_group", "") != machines.placement_group:
        return f"{EXCEEDED}: {machines.reservation} was not created in placement group {machines.placement_group}"
    if row.get("count") is not None and used > row["count"]:
        return f"{EXCEEDED}: {machines.reservation} has {row['count']} machines"
    return ""


def _closed(row: Mapping[str, Any], now: str) -> str:
    start, end, moment = (_moment(text) for text in (row.get("start"), row.get("end"), now))
    if moment and start and moment < start:
        return f"is scheduled and starts at {row['start']}"
    return f"expired at {row['end']}" if moment and end and moment >= end else ""


def _moment(text: str | None) -> datetime | None:
    found = datetime.fromisoformat(text) if text else None
    return found.replace(tzinfo=UTC) if found and found.tzinfo is None else found


def capacity_type_error(inputs: Mapping[str, Any], template: Mapping[str, Any]) -> str:
    """EKS' error for a node group and template with different capacity types; empty if they match.

    Source: https://docs.aws.amazon.com/eks/latest/userguide/capacity-blocks-mng.html (rules V-32, V-33).
    """
    target = (template.get("capacityReservationSpecification") or {}).get("capacityReservationTarget") or {}
    capacity_type, reserved = inputs.get("capacityType", "ON_DEMAND"), next(iter(target.values()), "")
    market = (template.get("instanceMarketOptions") or {}).get("marketType", "")
    if (capacity_type == "CAPACITY_BLOCK") != (market == BLOCK):
        return f"InvalidParameterException: capacity type {capacity_type} with the template's market type {market or 'none'}"
    if capacity_type == "CAPACITY_BLOCK" and not reserved:
        return "InvalidParameterException: a capacity block needs the template to target its reservation"
    if capacity_type == "SPOT" and reserved:
        return f"InvalidParameterException: spot machines cannot use the reservation {reserved}"
    return ""
