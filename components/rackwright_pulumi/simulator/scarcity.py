"""Capacity and quota: which machines a resource asks for, in which zone, and whether the cloud has and grants them."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rackwright_pulumi.simulator.store import Store
from rackwright_pulumi.simulator.values import opened

ON_DEMAND = {"p": "L-417A185B", "g": "L-DB2E81BA", "vt": "L-DB2E81BA", "trn": "L-2C3B7624", "inf": "L-1945791B", "dl": "L-6E869C2A"}
SPOT = {"p5": "L-C4BD4855", "p": "L-7212CCBC", "g": "L-3819A6DF", "vt": "L-3819A6DF", "trn": "L-6B0D517C", "inf": "L-B5D1601B"}
STANDARD, STANDARD_SPOT = "L-1216C47A", "L-34B43A08"
"""AWS service quotas in vCPU per account and region (AWS EC2 instance type quotas page, 2026)."""
GPU_METRIC = {
    "nvidia-tesla-t4": "NVIDIA_T4_GPUS",
    "nvidia-l4": "NVIDIA_L4_GPUS",
    "nvidia-tesla-a100": "NVIDIA_A100_GPUS",
    "nvidia-a100-80gb": "NVIDIA_A100_80GB_GPUS",
    "nvidia-h100-80gb": "NVIDIA_H100_GPUS",
    "nvidia-h100-mega-80gb": "NVIDIA_H100_MEGA_GPUS",
    "nvidia-h200-141gb": "NVIDIA_H200_GPUS",
    "nvidia-b200": "NVIDIA_B200_GPUS",
    "nvidia-gb200": "NVIDIA_GB200_GPUS",
}
"""Google's GPU quota metrics per project and region (Compute Engine quota pages, 2026)."""
TPU_METRIC = {"ct5lp": "TPU_LITE_PODSLICE_V5", "ct6e": "TPU-V6E-per-project-region"}
"""Google's TPU quotas by machine family, in chips per project and region (Cloud Quotas API, 2026)."""


@dataclass(frozen=True)
class Machines:
    """``count`` machines of one type in one zone, bought on demand or as spot."""

    type: str
    zone: str
    count: int
    spot: bool = False
    accelerator: str = ""
    accelerators_each: int = 0

    @property
    def region(self) -> str:
        """``us-east-1`` of ``us-east-1a``, ``us-central1`` of ``us-central1-a``."""
        return self.zone[:-1].rstrip("-")


def vcpus(instance_type: str) -> int:
    """vCPU of an EC2 type from its size: ``large`` 2, ``xlarge`` 4, ``48xlarge`` 192 (EC2's naming rule; other sizes count 2)."""
    size = instance_type.partition(".")[2]
    match = re.fullmatch(r"(\d*)xlarge", size)
    return 4 * int(match.group(1) or 1) if match else 2


def quota_of(machines: Machines) -> tuple[str, int] | None:
    """Quota code or metric, and how much of it one machine uses; None where no quota is known."""
    if "." in machines.type:
        family = re.split(r"\d", machines.type, maxsplit=1)[0]
        p5 = machines.type[:2] if machines.type[:2] in ("p5", "p6") else family
        codes, default = (SPOT, STANDARD_SPOT) if machines.spot else (ON_DEMAND, STANDARD)
        return codes.get("p5" if machines.spot and p5 in ("p5", "p6") else family, default), vcpus(machines.type)
    metric, each = GPU_METRIC.get(machines.accelerator), machines.accelerators_each
    chips = re.search(r"-(\d)t$", machines.type)
    if metric is None and chips:
        metric, each = TPU_METRIC.get(machines.type.partition("-")[0]), int(chips.group(1))
    return (("PREEMPTIBLE_" if machines.spot else "") + metric, each) if metric else None


def asked(store: Store, token: str, inputs: Mapping[str, Any], region: str) -> list[Machines]:
    """The machines a resource would run, in the zones it would run them in."""
    find = ASKED.get(token)
    return list(find(store, opened(dict(inputs)), region)) if find else []


def _instance(store: Store, inputs: dict[str, Any], region: str) -> Iterator[Machines]:
    zone = inputs.get("availabilityZone") or _zone_of(store, inputs.get("subnetId")) or f"{region}a"
    yield Machines(inputs.get("instanceType", "t3.micro"), zone, 1, bool(inputs.get("instanceMarketOptions")))


def _zone_of(store: Store, subnet: Any) -> str | None:
    found = store.find("aws:ec2/subnet:Subnet", subnet) if isinstance(subnet, str) else None
    return found.state.get("availabilityZone") if found else None


def _node_group(store: Store, inputs: dict[str, Any], region: str) -> Iterator[Machines]:
    template = store.find("aws:ec2/launchTemplate:LaunchTemplate", (inputs.get("launchTemplate") or {}).get("id", ""))
    of_template = opened(template.inputs).get("instanceType") if template else None
    type_ = of_template or (inputs.get("instanceTypes") or ["t3.medium"])[0]
    zones = [_zone_of(store, s) or f"{region}a" for s in inputs.get("subnetIds", [])] or [f"{region}a"]
    wanted, spot = int(inputs["scalingConfig"]["desiredSize"]), inputs.get("capacityType") == "SPOT"
    for i, zone in enumerate(zones):
        yield Machines(type_, zone, wanted // len(zones) + (i < wanted % len(zones)), spot)


def _vm(store: Store, inputs: dict[str, Any], region: str) -> Iterator[Machines]:
    model = (inputs.get("scheduling") or {}).get("provisioningModel")
    gpus = inputs.get("guestAccelerators") or [{}]
    zone = inputs.get("zone") or f"{region}-a"
    yield Machines(inputs["machineType"], zone, 1, model in ("SPOT", "FLEX_START"), gpus[0].get("type", ""), int(gpus[0].get("count", 0)))


def _node_pool(store: Store, inputs: dict[str, Any], region: str) -> Iterator[Machines]:
    config, scaling = inputs.get("nodeConfig") or {}, inputs.get("autoscaling") or {}
    zones = inputs.get("nodeLocations") or [f"{region}-a"]
    per_zone = inputs.get("nodeCount") or inputs.get("initialNodeCount") or scaling.get("minNodeCount") or 0
    total = int(scaling.get("totalMinNodeCount") or int(per_zone) * len(zones))
    gpus = config.get("guestAccelerators") or [{}]
    spot = bool(config.get("spot") or config.get("flexStart"))
    for i, zone in enumerate(zones):
        count = total // len(zones) + (i < total % len(zones))
        yield Machines(config.get("machineType", "e2-medium"), zone, count, spot, gpus[0].get("type", ""), int(gpus[0].get("count", 0)))


ASKED = {
    "aws:ec2/instance:Instance": _instance,
    "aws:eks/nodeGroup:NodeGroup": _node_group,
    "gcp:compute/instance:Instance": _vm,
    "gcp:container/nodePool:NodePool": _node_pool,
}


def shortage(store: Store, token: str, urn: str, inputs: Mapping[str, Any], region: str, project: str) -> str | None:
    """The cloud's refusal when a resource asks for more than is there or granted; None when it is served.

    ``capacity`` is {machine type: {zone: machines}}, ``quota`` is {code or metric: vCPU, GPUs or chips per region}; what neither
    names is unlimited. Both count what lives in the cloud already, this resource's own machines left out.
    """
    capacity, quota = store.knob("capacity", {}), store.knob("quota", {})
    if not (capacity or quota) or token not in ASKED:
        return None
    used_machines: Counter[tuple[str, str]] = Counter()
    used_quota: Counter[tuple[str, str]] = Counter()
    for record in (r for type_ in ASKED for r in store.all(type_) if r.urn != urn):
        for machines in asked(store, record.type, record.inputs, region):
            _count(machines, used_machines, used_quota)
    for machines in asked(store, token, inputs, region):
        _count(machines, used_machines, used_quota)
        code = quota_of(machines)
        limit = quota.get(code[0]) if code else None
        if machines.count and code and limit is not None and used_quota[machines.region, code[0]] > limit:
            return _over_quota(token, machines, code[0], limit)
        there = capacity.get(machines.type, {}).get(machines.zone)
        if machines.count and there is not None and used_machines[machines.type, machines.zone] > there:
            return _out_of_stock(token, machines, project)
    return None


def _count(machines: Machines, used: Counter[tuple[str, str]], used_quota: Counter[tuple[str, str]]) -> None:
    used[machines.type, machines.zone] += machines.count
    code = quota_of(machines)
    if code:
        used_quota[machines.region, code[0]] += machines.count * code[1]


def _over_quota(token: str, machines: Machines, code: str, limit: int) -> str:
    if token.startswith("gcp:"):
        return f"Error 403: QUOTA_EXCEEDED: Quota '{code}' exceeded. Limit: {limit} in region {machines.region}."
    return _wrapped(token, f"VcpuLimitExceeded: {machines.count} x {machines.type} goes over the vCPU limit of {limit} ({code})")


def _out_of_stock(token: str, machines: Machines, project: str) -> str:
    if token.startswith("gcp:"):
        where = f"projects/{project}/zones/{machines.zone}"
        return (
            f"GCE_STOCKOUT: ZONE_RESOURCE_POOL_EXHAUSTED: '{where}' has not enough {machines.type} to fulfil the request; try another zone"
        )
    return _wrapped(token, f"InsufficientInstanceCapacity: not enough {machines.type} in the Availability Zone {machines.zone}")


def _wrapped(token: str, reason: str) -> str:
    return f"NodeCreationFailure: AsgInstanceLaunchFailures: {reason}" if token.endswith(":NodeGroup") else reason
