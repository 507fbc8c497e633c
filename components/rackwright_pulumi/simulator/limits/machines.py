"""Machines that a resource requests: type, zone, count, purchase option, and the quota they use."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rackwright_pulumi.simulator.provider.values import unwrap_secrets, values_at
from rackwright_pulumi.simulator.schema.facts import entry
from rackwright_pulumi.simulator.store import Store

if TYPE_CHECKING:
    from rackwright.catalog.read import Catalog
    from rackwright.catalog.rows import Machine

BLOCK = "capacity-block"
"""The market type of a capacity block."""
STANDARD = "m7i.xlarge"
"""Under the quota of standard instances, as every EC2 type of a class that the catalog does not have."""
NODE_TYPE, INSTANCE_TYPE, VM_TYPE = "t3.medium", "t3.micro", "e2-medium"
"""What EKS takes for a node group without a type, what an instance without one is here, and what GKE takes."""


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


MACHINE_READERS: dict[str, Callable[[Store, dict[str, Any], str], Iterator[MachineRequest]]] = {}
"""Type token to the function that reads the machines a resource requests."""


def vcpus(instance_type: str) -> int:
    """vCPU of an EC2 type from its size: ``large`` 2, ``xlarge`` 4, ``48xlarge`` 192 (EC2's naming rule; other sizes count 2)."""
    match = re.fullmatch(r"(\d*)xlarge", instance_type.partition(".")[2])
    return 4 * int(match.group(1) or 1) if match else 2


def _catalog() -> "Catalog":
    """Imported on first use, because the import takes a third of the start of a provider, and most calls need no machine."""
    from rackwright.catalog.read import Catalog

    return Catalog.default()


def quota_of(machines: MachineRequest) -> tuple[str, int] | None:
    """Quota code or metric, and the amount one machine uses; None without a known quota, and for capacity blocks.

    Capacity blocks do not count against vCPU quotas: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-how.html
    """
    if machines.block:
        return None
    row = _catalog().machine_by_name.get(machines.type)
    if "." in machines.type:
        alike, each = row or _same_class(machines.type), row.vcpus if row else vcpus(machines.type)
    else:
        own = (row.accelerator_count or row.vcpus) if row else 0
        alike, each = row or _same_device(machines.accelerator), machines.accelerators_each or own
    code = (alike.quota_spot if machines.spot else alike.quota_on_demand) if alike else _metric(machines)
    return (code, each or 0) if code else None


def _metric(machines: MachineRequest) -> str:
    """Of accelerators that no machine of the catalog has, by the quota's row."""
    device = _catalog().accelerator_by_name.get(machines.accelerator)
    mode = "spot" if machines.spot else "on-demand"
    rows = (row for row in _catalog().quotas if device and row.unit == "gpu" and row.capacity == mode)
    return next((row.code for row in rows if device and device.name.endswith(f" {row.family}")), "")


def _same_class(instance_type: str) -> "Machine | None":
    """A machine of the catalog with the quota of an EC2 type that is not in it: same letters, and best same generation."""
    letters = re.split(r"\d", instance_type, maxsplit=1)[0]
    rows = [row for row in _catalog().machines if "." in row.name and re.split(r"\d", row.name, maxsplit=1)[0] == letters]
    begin = instance_type[: len(letters) + 1]
    return min(rows, key=lambda row: not row.name.startswith(begin), default=_catalog().machine_by_name.get(STANDARD))


def _same_device(label: str) -> "Machine | None":
    """A machine of the catalog with these accelerators: Google grants accelerators by metric, not by machine type."""
    return next((row for row in _catalog().machines if label and row.gke_accelerator_label == label), None)


def requested_machines(store: Store, token: str, inputs: Mapping[str, Any], region: str) -> list[MachineRequest]:
    """The machines that a resource requests, by zone."""
    read = MACHINE_READERS.get(token)
    return list(read(store, unwrap_secrets(dict(inputs)), region)) if read else []


@entry(MACHINE_READERS, "aws:ec2/instance:Instance")
def instance(store: Store, inputs: dict[str, Any], region: str) -> Iterator[MachineRequest]:
    zone = inputs.get("availabilityZone") or _zone_of(store, inputs.get("subnetId")) or f"{region}a"
    market = (inputs.get("instanceMarketOptions") or {}).get("marketType", "")
    spot, block = bool(inputs.get("instanceMarketOptions")) and market != BLOCK, market == BLOCK
    reserved, group = reservation_id(inputs), inputs.get("placementGroup", "")
    yield MachineRequest(inputs.get("instanceType", INSTANCE_TYPE), zone, 1, spot, reservation=reserved, block=block, placement_group=group)


def _zone_of(store: Store, subnet: Any) -> str | None:
    found = store.find("aws:ec2/subnet:Subnet", subnet) if isinstance(subnet, str) else None
    return found.state.get("availabilityZone") if found else None


@entry(MACHINE_READERS, "aws:eks/nodeGroup:NodeGroup")
def node_group(store: Store, inputs: dict[str, Any], region: str) -> Iterator[MachineRequest]:
    template = template_of(store, inputs)
    type_ = template.get("instanceType") or (inputs.get("instanceTypes") or [NODE_TYPE])[0]
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


@entry(MACHINE_READERS, "gcp:compute/instance:Instance")
def vm(store: Store, inputs: dict[str, Any], region: str) -> Iterator[MachineRequest]:
    model = (inputs.get("scheduling") or {}).get("provisioningModel")
    gpus = inputs.get("guestAccelerators") or [{}]
    zone = inputs.get("zone") or f"{region}-a"
    spot = model in ("SPOT", "FLEX_START")
    yield MachineRequest(inputs["machineType"], zone, 1, spot, gpus[0].get("type", ""), int(gpus[0].get("count", 0)))


@entry(MACHINE_READERS, "gcp:container/nodePool:NodePool")
def node_pool(store: Store, inputs: dict[str, Any], region: str) -> Iterator[MachineRequest]:
    config, scaling = inputs.get("nodeConfig") or {}, inputs.get("autoscaling") or {}
    zones = inputs.get("nodeLocations") or [f"{region}-a"]
    per_zone = inputs.get("nodeCount") or inputs.get("initialNodeCount") or scaling.get("minNodeCount") or 0
    total = int(scaling.get("totalMinNodeCount") or int(per_zone) * len(zones))
    gpus = config.get("guestAccelerators") or [{}]
    spot = bool(config.get("spot") or config.get("flexStart"))
    for i, zone in enumerate(zones):
        count = total // len(zones) + (i < total % len(zones))
        yield MachineRequest(config.get("machineType", VM_TYPE), zone, count, spot, gpus[0].get("type", ""), int(gpus[0].get("count", 0)))
