"""Pools of machines: the accelerators, and a small untainted system pool the operators run on."""

from rackwright.catalog.rows import Fabric
from rackwright.compile.capacity import bounds, capacity_want
from rackwright.compile.draft import Draft
from rackwright.compile.fabric import most_pods, nic_layout
from rackwright.compile.hardware import machine_facts
from rackwright.compile.wants import DiskWant, PlaceWant, PoolWant, TaintWant

SYSTEM_MACHINES = {"aws": "m7i.2xlarge", "gcp": "e2-standard-8"}
SYSTEM_IMAGES = {"aws": "al2023", "gcp": "cos"}
SYSTEM_NODES = 2
"""Two, so that an operator's webhook survives one node's upgrade (recipes V-88)."""
RESOURCES = {"gpu": "nvidia.com/gpu", "tpu": "google.com/tpu", "neuron": "aws.amazon.com/neuron"}
MAX_PODS = {"gpu": 32, "tpu": 15}
"""GKE: what AI-Hypercomputer/xpk@367c838 gives its pools; each node reserves twice as many addresses."""
RESERVED_MODES = ("capacity-block", "reservation")
"""Machines bought so already sit close together; a placement group of one's own can keep them from starting (eksctl issue 7949)."""
HYPERDISK_ONLY = ("ct6e-", "tpu7x-", "g4-", "a3-ultragpu-", "a4-", "a4x-")
"""Prefixes of machines that take no other boot disk (cloud.google.com/tpu/docs/setup-persistent-disk, cluster-toolkit@1047080 examples)."""
ROLE_LABEL = "rackwright/role"


def system_pool(place: PlaceWant) -> PoolWant:
    return PoolWant(
        name="system",
        machine=SYSTEM_MACHINES[place.cloud],
        zones=place.control_zones or (place.zone,),
        nodes_min=SYSTEM_NODES,
        nodes_max=SYSTEM_NODES,
        nodes_start=SYSTEM_NODES,
        role="system",
        disk=DiskWant(100),
        labels=((ROLE_LABEL, "system"),),
        max_pods=most_pods(machine_facts(SYSTEM_MACHINES["aws"]), (), prefixes=True) if place.cloud == "aws" else None,
        image=SYSTEM_IMAGES[place.cloud],
        pod_prefixes=place.cloud == "aws",
    )


def accelerator_pool(draft: Draft, place: PlaceWant, name: str = "gpu", counts: tuple[int, int, int] | None = None) -> PoolWant:
    """counts: (least, most, at first) nodes; without it the fit's nodes in the bounds of the capacity mode."""
    machine = draft.machine
    kind = "hyperdisk-balanced" if machine.name.startswith(HYPERDISK_ONLY) else "balanced"
    least, most, start = counts or bounds(draft, draft.candidate.nodes)
    capacity = capacity_want(draft)
    aws = place.cloud == "aws"
    nics = nic_layout(machine, draft.spec.blueprint.nodes.interfaces)
    return PoolWant(
        name=name,
        machine=machine.name,
        zones=(place.zone,),
        nodes_min=least,
        nodes_max=most,
        nodes_start=start,
        accelerator=machine.accelerator or "",
        accelerator_label=machine.gke_accelerator_label,
        accelerator_count=machine.accelerator_count,
        resource=RESOURCES[machine.kind],
        cpu_arch=machine.cpu_arch or "x86_64",
        capacity=capacity,
        disk=DiskWant(200, iops=3000, throughput_mib_s=250) if place.cloud == "aws" else DiskWant(200, kind=kind),
        labels=((ROLE_LABEL, "accelerator"),),
        taints=(TaintWant(RESOURCES[machine.kind], "present"),),
        fabric=str(machine.fabric),
        nics=nics,
        adjacent=machine.fabric is Fabric.EFA and most > 1 and capacity.mode not in RESERVED_MODES,
        local_nvme=bool(machine.local_nvme_bytes),
        local_ssd_count=(machine.local_nvme_count or 0) if place.cloud == "gcp" and machine.local_nvme_bytes else 0,
        max_pods=most_pods(machine, nics, prefixes=True) if aws else MAX_PODS[machine.kind],
        image=_image(draft),
        pod_prefixes=aws,
    )


def _image(draft: Draft) -> str:
    if draft.candidate.cloud == "gcp":
        return "cos"
    return {"gpu": "al2023-nvidia", "neuron": "al2023-neuron"}[draft.machine.kind]
