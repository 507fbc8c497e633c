"""Capacity and quota: whether the cloud has and grants the machines a resource asks for."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from rackwright_pulumi.simulator.limits.machines import ASKED, MachineRequest, asked, quota_of
from rackwright_pulumi.simulator.limits.reservations import unserved
from rackwright_pulumi.simulator.provider.values import opened
from rackwright_pulumi.simulator.store import Store

FAILED = "CREATE_FAILED"
"""The status of a node group whose machines never came. It never leaves it (crossplane-contrib/provider-aws#1447)."""


def shortage(store: Store, token: str, urn: str, inputs: Mapping[str, Any], region: str, project: str) -> str | None:
    """The cloud's refusal when a resource asks for more than is there or granted; None when it is served.

    ``capacity`` is {machine type: {zone: machines}}, ``quota`` is {code or metric: vCPU, GPUs or chips per region}; what neither
    names is unlimited. Both count what lives in the cloud already, this resource's own machines left out.
    """
    capacity, quota, reserved = (store.knob(name, {}) for name in ("capacity", "quota", "reservations"))
    if not (capacity or quota or reserved) or token not in ASKED:
        return None
    used_machines: Counter[tuple[str, str]] = Counter()
    used_quota: Counter[tuple[str, str]] = Counter()
    for machines in _running(store, urn, region):
        _count(machines, used_machines, used_quota)
    for machines in asked(store, token, inputs, region):
        _count(machines, used_machines, used_quota)
        refusal = unserved(machines, reserved, used_machines[machines.reservation, machines.zone], store.knob("now", ""))
        if refusal:
            return _wrapped(token, refusal)
        code = quota_of(machines)
        limit = quota.get(code[0]) if code else None
        if machines.count and code and limit is not None and used_quota[machines.region, code[0]] > limit:
            return _over_quota(token, machines, code[0], limit)
        there = None if machines.reservation in reserved else capacity.get(machines.type, {}).get(machines.zone)
        if machines.count and there is not None and used_machines[machines.type, machines.zone] > there:
            return _out_of_stock(token, machines, project)
    return None


def _running(store: Store, urn: str, region: str) -> Iterator[MachineRequest]:
    """Of everything but this resource, and of a node group that failed: its scaling group goes on asking for them."""
    for record in (r for type_ in ASKED for r in store.all(type_)):
        if record.urn != urn or opened(record.state).get("status") == FAILED:
            yield from asked(store, record.type, record.inputs, region)


def _count(machines: MachineRequest, used: Counter[tuple[str, str]], used_quota: Counter[tuple[str, str]]) -> None:
    used[machines.reservation or machines.type, machines.zone] += machines.count
    code = quota_of(machines)
    if code:
        used_quota[machines.region, code[0]] += machines.count * code[1]


def _over_quota(token: str, machines: MachineRequest, code: str, limit: int) -> str:
    if token.startswith("gcp:"):
        return f"Error 403: QUOTA_EXCEEDED: Quota '{code}' exceeded. Limit: {limit} in region {machines.region}."
    return _wrapped(token, f"VcpuLimitExceeded: {machines.count} x {machines.type} goes over the vCPU limit of {limit} ({code})")


def _out_of_stock(token: str, machines: MachineRequest, project: str) -> str:
    if token.startswith("gcp:"):
        where = f"projects/{project}/zones/{machines.zone}"
        return (
            f"GCE_STOCKOUT: ZONE_RESOURCE_POOL_EXHAUSTED: '{where}' has not enough {machines.type} to fulfil the request; try another zone"
        )
    return _wrapped(token, f"InsufficientInstanceCapacity: not enough {machines.type} in the Availability Zone {machines.zone}")


def _wrapped(token: str, reason: str) -> str:
    return f"NodeCreationFailure: AsgInstanceLaunchFailures: {reason}" if token.endswith(":NodeGroup") else reason
