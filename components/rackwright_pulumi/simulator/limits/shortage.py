"""Capacity and quota of the machines that a resource requests."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from rackwright_pulumi.simulator.computed.arns import zone_name
from rackwright_pulumi.simulator.limits.machines import MACHINE_READERS, MachineRequest, quota_of, requested_machines
from rackwright_pulumi.simulator.limits.reservations import reservation_error
from rackwright_pulumi.simulator.provider.values import unwrap_secrets
from rackwright_pulumi.simulator.store import Store

FAILED = "CREATE_FAILED"
"""Final status of a node group whose machines did not start (https://github.com/crossplane-contrib/provider-aws/issues/1447)."""


def shortage_error(store: Store, token: str, urn: str, inputs: Mapping[str, Any], region: str, project: str) -> str | None:
    """The cloud's error when a resource exceeds capacity, quota or its reservation; None if it does not.

    The settings ``capacity``, ``quota`` and ``reservations`` are those of SimulatedCloud. Machines of all other resources count as used.
    """
    capacity, quota, reserved = (store.setting(name, {}) for name in ("capacity", "quota", "reservations"))
    if not (capacity or quota or reserved) or token not in MACHINE_READERS:
        return None
    used_machines: Counter[tuple[str, str]] = Counter()
    used_quota: Counter[tuple[str, str]] = Counter()
    for machines in _running(store, urn, region):
        _count(machines, used_machines, used_quota)
    for machines in requested_machines(store, token, inputs, region):
        _count(machines, used_machines, used_quota)
        error = reservation_error(machines, reserved, used_machines[machines.reservation, machines.zone], store.setting("now", ""))
        if error:
            return _launch_error(token, error)
        code = quota_of(machines)
        limit = quota.get(code[0]) if code else None
        if machines.count and code and limit is not None and used_quota[machines.region, code[0]] > limit:
            return _over_quota(token, machines, code[0], limit)
        stock = {zone_name(zone, machines.region): count for zone, count in capacity.get(machines.type, {}).items()}
        available = None if machines.reservation in reserved else stock.get(machines.zone)
        if machines.count and available is not None and used_machines[machines.type, machines.zone] > available:
            return _out_of_stock(token, machines, project)
    return None


def _running(store: Store, urn: str, region: str) -> Iterator[MachineRequest]:
    """Machines of all other resources, and of this one if it is a failed node group: its scaling group keeps requesting them."""
    for record in (r for type_ in MACHINE_READERS for r in store.all(type_)):
        if record.urn != urn or unwrap_secrets(record.state).get("status") == FAILED:
            yield from requested_machines(store, record.type, record.inputs, region)


def _count(machines: MachineRequest, used: Counter[tuple[str, str]], used_quota: Counter[tuple[str, str]]) -> None:
    used[machines.reservation or machines.type, machines.zone] += machines.count
    code = quota_of(machines)
    if code:
        used_quota[machines.region, code[0]] += machines.count * code[1]


def _over_quota(token: str, machines: MachineRequest, code: str, limit: int) -> str:
    if token.startswith("gcp:"):
        return f"Error 403: QUOTA_EXCEEDED: Quota '{code}' exceeded. Limit: {limit} in region {machines.region}."
    return _launch_error(token, f"VcpuLimitExceeded: {machines.count} x {machines.type} exceeds the vCPU limit of {limit} ({code})")


def _out_of_stock(token: str, machines: MachineRequest, project: str) -> str:
    if token.startswith("gcp:"):
        zone = f"projects/{project}/zones/{machines.zone}"
        return (
            f"GCE_STOCKOUT: ZONE_RESOURCE_POOL_EXHAUSTED: '{zone}' has not enough {machines.type} to fulfil the request; try another zone"
        )
    return _launch_error(token, f"InsufficientInstanceCapacity: not enough {machines.type} in the Availability Zone {machines.zone}")


def _launch_error(token: str, reason: str) -> str:
    return f"NodeCreationFailure: AsgInstanceLaunchFailures: {reason}" if token.endswith(":NodeGroup") else reason
