"""Machines that a resource requests: type, zone, count, purchase option, and the quota they use."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rackwright_pulumi.simulator.provider.values import unwrap_secrets, values_at
from rackwright_pulumi.simulator.store import Store

ON_DEMAND = {
    "p": "L-417A185B",
    "g": "L-DB2E81BA",
    "gr": "L-DB2E81BA",
    "vt": "L-DB2E81BA",
    "trn": "L-2C3B7624",
    "inf": "L-1945791B",
    "dl": "L-6E869C2A",
}
SPOT = {
    "p5": "L-C4BD4855",
    "p": "L-7212CCBC",
    "g": "L-3819A6DF",
    "gr": "L-3819A6DF",
    "vt": "L-3819A6DF",
    "trn": "L-6B0D517C",
    "inf": "L-B5D1601B",
    "dl": "L-85EED4F7",
}
STANDARD, STANDARD_SPOT = "L-1216C47A", "L-34B43A08"
"""AWS service quotas in vCPU per account and region (AWS EC2 instance type quotas page, 2026)."""
METAL = {"g4dn.metal": 96, "g5g.metal": 64}
"""vCPU of types whose size has no number."""
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
BLOCK = "capacity-block"
"""The market type of a capacity block."""
TPU_METRIC = {"ct5lp": "TPU_LITE_PODSLICE_V5", "ct6e": "TPU-V6E-per-project-region"}
"""Google's TPU quotas by machine family, in chips per project and region (Cloud Quotas API, 2026)."""


@dataclass(frozen=True)
class MachineRequest:
    """``count`` machines of one type in one zone: on demand, spot, or from a reservation."""

    type: str
    zone: str
    count: int
    spot: bool = False
    accelerator: str = ""
    accelerators_each: int = 0
    reservation: str = ""
    """Id of the reservation or capacity block, empty without one."""
    block: bool = False
    placement_group: str = ""

    @property
    def region(self) -> str:
        """``us-east-1`` of ``us-east-1a``, ``us-central1`` of ``us-central1-a``."""
        return self.zone[:-1].rstrip("-")


def vcpus(instance_type: str) -> int:
    """vCPU of an EC2 type from its size: ``large`` 2, ``xlarge`` 4, ``48xlarge`` 192 (EC2's naming rule; other sizes count 2)."""
    if instance_type in METAL:
        return METAL[instance_type]
    size = instance_type.partition(".")[2]
    match = re.fullmatch(r"(\d*)xlarge", size)
    return 4 * int(match.group(1) or 1) if match else 2


def quota_of(machines: MachineRequest) -> tuple[str, int] | None:
    """Quota code or metric, and the amount one machine uses; None without a known quota, and for capacity blocks.

    Capacity blocks do not count against vCPU quotas: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-how.html
    """
    if machines.block:
        return None
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


def requested_machines(store: Store, token: str, inputs: Mapping[str, Any], region: str) -> list[MachineRequest]:
    """The machines that a resource requests, by zone."""
    read = MACHINE_READERS.get(token)
    return list(read(store, unwrap_secrets(dict(inputs)), region)) if read else []


def _instance(store: Store, inputs: dict[str, Any], region: str) -> Iterator[MachineRequest]:
    zone = inputs.get("availabilityZone") or _zone_of(store, inputs.get("subnetId")) or f"{region}a"
    market = (inputs.get("instanceMarketOptions") or {}).get("marketType", "")
    spot, block = bool(inputs.get("instanceMarketOptions")) and market != BLOCK, market == BLOCK
    reserved, group = reservation_id(inputs), inputs.get("placementGroup", "")
    yield MachineRequest(inputs.get("instanceType", "t3.micro"), zone, 1, spot, reservation=reserved, block=block, placement_group=group)


def _zone_of(store: Store, subnet: Any) -> str | None:
    found = store.find("aws:ec2/subnet:Subnet", subnet) if isinstance(subnet, str) else None
    return found.state.get("availabilityZone") if found else None


def _node_group(store: Store, inputs: dict[str, Any], region: str) -> Iterator[MachineRequest]:
    template = template_of(store, inputs)
    type_ = template.get("instanceType") or (inputs.get("instanceTypes") or ["t3.medium"])[0]
    zones = [_zone_of(store, s) or f"{region}a" for s in inputs.get("subnetIds", [])] or [f"{region}a"]
    total, capacity_type = int(inputs["scalingConfig"]["desiredSize"]), inputs.get("capacityType")
    reserved, group = reservation_id(template), (template.get("placement") or {}).get("groupName", "")
    for i, zone in enumerate(zones):
        count = total // len(zones) + (i < total % len(zones))
        spot, block = capacity_type == "SPOT", capacity_type == "CAPACITY_BLOCK"
        yield MachineRequest(type_, zone, count, spot, "", 0, reserved, block, group)


def template_of(store: Store, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs of a node group's launch template, empty without one."""
    template = store.find("aws:ec2/launchTemplate:LaunchTemplate", (inputs.get("launchTemplate") or {}).get("id", ""))
    return unwrap_secrets(template.inputs) if template else {}


def reservation_id(inputs: Mapping[str, Any]) -> str:
    """Reservation id of an instance or launch template, empty without one."""
    path = "capacityReservationSpecification.capacityReservationTarget.capacityReservationId"
    return next(iter(values_at(dict(inputs), path)), "")


def _vm(store: Store, inputs: dict[str, Any], region: str) -> Iterator[MachineRequest]:
    model = (inputs.get("scheduling") or {}).get("provisioningModel")
    gpus = inputs.get("guestAccelerators") or [{}]
    zone = inputs.get("zone") or f"{region}-a"
    yield MachineRequest(
        inputs["machineType"], zone, 1, model in ("SPOT", "FLEX_START"), gpus[0].get("type", ""), int(gpus[0].get("count", 0))
    )


def _node_pool(store: Store, inputs: dict[str, Any], region: str) -> Iterator[MachineRequest]:
    config, scaling = inputs.get("nodeConfig") or {}, inputs.get("autoscaling") or {}
    zones = inputs.get("nodeLocations") or [f"{region}-a"]
    per_zone = inputs.get("nodeCount") or inputs.get("initialNodeCount") or scaling.get("minNodeCount") or 0
    total = int(scaling.get("totalMinNodeCount") or int(per_zone) * len(zones))
    gpus = config.get("guestAccelerators") or [{}]
    spot = bool(config.get("spot") or config.get("flexStart"))
    for i, zone in enumerate(zones):
        count = total // len(zones) + (i < total % len(zones))
        yield MachineRequest(
            config.get("machineType", "e2-medium"), zone, count, spot, gpus[0].get("type", ""), int(gpus[0].get("count", 0))
        )


MACHINE_READERS = {
    "aws:ec2/instance:Instance": _instance,
    "aws:eks/nodeGroup:NodeGroup": _node_group,
    "gcp:compute/instance:Instance": _vm,
    "gcp:container/nodePool:NodePool": _node_pool,
}
