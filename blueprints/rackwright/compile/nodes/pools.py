"""Pools of machines: the accelerators, and a small untainted system pool the operators run on."""

from collections import Counter
from dataclasses import replace

from rackwright.catalog.rows import Fabric, Machine
from rackwright.clouds import profile
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.nodes.capacity import bounds, capacity_plan, has_started
from rackwright.compile.nodes.capacity_entry import capacity_entries, pools_listed
from rackwright.compile.nodes.fabric import most_pods, nic_layout
from rackwright.compile.nodes.machine_facts import machine_facts
from rackwright.spec.blueprint import ExtraPool
from rackwright.spec.infra import CapacityEntry
from rackwright.stackplan import CapacityPlan, DiskPlan, PlacePlan, PoolPlan, TaintPlan

SYSTEM_NODES = 2
"""Two, so that an operator's webhook survives one node's upgrade (recipes V-88)."""
RESOURCES = {"gpu": "nvidia.com/gpu", "tpu": "google.com/tpu", "neuron": "aws.amazon.com/neuron"}
POOL_NAMES = {"gpu": "gpu", "tpu": "slice", "neuron": "neuron"}
RESERVED_MODES = ("capacity-block", "reservation")
"""Machines bought so already sit close together; a placement group of one's own can keep them from starting (eksctl issue 7949)."""
HYPERDISK_ONLY = ("ct6e-", "tpu7x-", "g4-", "a3-ultragpu-", "a4-", "a4x-")
"""Prefixes of machines that take no other boot disk (cloud.google.com/tpu/docs/setup-persistent-disk, cluster-toolkit@1047080 examples)."""
ROLE_LABEL = "rackwright/role"
POOL_LABEL = "rackwright/pool"
"""On the nodes of pools that are one of several: what tells their flavors apart."""


def system_pool(place: PlacePlan) -> PoolPlan:
    cloud = profile(place.cloud)
    return PoolPlan(
        name="system",
        machine=cloud.system_machine,
        zones=place.control_zones or (place.zone,),
        nodes_min=SYSTEM_NODES,
        nodes_max=SYSTEM_NODES,
        nodes_start=SYSTEM_NODES,
        role="system",
        disk=DiskPlan(100),
        labels=((ROLE_LABEL, "system"),),
        max_pods=most_pods(machine_facts(cloud.system_machine), (), prefixes=True) if cloud.pods_use_subnet else None,
        image=cloud.system_image,
        pod_prefixes=cloud.pods_use_subnet,
    )


def accelerator_pools(context: CompileContext, place: PlacePlan, counts: tuple[int, int, int] | None = None) -> tuple[PoolPlan, ...]:
    """The pools of the work: the sized one, or one per entry of `capacity.fallback` in its order. The sized one has its nodes; the others
    start empty and grow as far when jobs wait for it. counts: as of `accelerator_pool`.
    """
    sized = accelerator_pool(context, place, POOL_NAMES[context.machine.kind], counts)
    entries = context.place.capacity.fallback
    if len(entries) < 2:
        return (sized,)
    names = _fallback_names(
        sized.name, [capacity_plan(context, entry).mode for entry in entries], entries.index(capacity_entries(context) or entries[0])
    )
    pools = (sized if name == sized.name else _later(context, sized, name, entry) for name, entry in zip(names, entries, strict=True))
    return tuple(replace(pool, preference=order, labels=(*pool.labels, (POOL_LABEL, pool.name))) for order, pool in enumerate(pools))


def _fallback_names(sized: str, modes: list[str], chosen: int) -> list[str]:
    """`gpu` for the sized pool, else `gpu-spot`; a mode that comes again is counted: `gpu-reservation-2`."""
    seen = Counter[str]()
    names = []
    for order, mode in enumerate(modes):
        seen[mode] += order != chosen
        number = f"-{seen[mode]}" if seen[mode] > 1 else ""
        names.append(sized if order == chosen else f"{sized}-{mode}{number}")
    return names


def _later(context: CompileContext, sized: PoolPlan, name: str, entry: CapacityEntry) -> PoolPlan:
    """Machines like the sized ones, bought another way: as many at most, or as the reservation holds. A block has hours, and no scaler."""
    capacity = capacity_plan(context, entry)
    most = min(sized.nodes_max, capacity.count or sized.nodes_max)
    block = capacity.mode == "capacity-block"
    return replace(
        sized,
        name=name,
        capacity=capacity,
        nodes_min=0,
        nodes_max=most,
        nodes_start=most if block and has_started(capacity, context) else 0,
        autoscaled=not block,
        adjacent=_adjacent(context, context.machine, capacity, most),
    )


def extra_pools(context: CompileContext, place: PlacePlan) -> tuple[PoolPlan, ...]:
    """The pools the spec lists beside the sized one, in its zone. They grow from their least to their most when jobs of their queue wait.

    Machines without accelerators are not tainted: what needs no accelerator may run there.
    """
    return tuple(_extra(context, place, pool) for pool in pools_listed(context))


def _extra(context: CompileContext, place: PlacePlan, said: ExtraPool) -> PoolPlan:
    machine, capacity = machine_facts(said.instance), capacity_plan(context, said.capacity)
    least, most, start = (
        bounds(context, said.nodes, capacity) if capacity.mode == "capacity-block" else (said.at_least, said.nodes, said.at_least)
    )
    return replace(
        _shaped(context, machine, place, said.name),
        nodes_min=least,
        nodes_max=most,
        nodes_start=start,
        capacity=capacity,
        autoscaled=least < most and capacity.mode != "capacity-block",
        labels=((POOL_LABEL, said.name),),
        adjacent=_adjacent(context, machine, capacity, most),
    )


def accelerator_pool(context: CompileContext, place: PlacePlan, name: str = "gpu", counts: tuple[int, int, int] | None = None) -> PoolPlan:
    """counts: (least, most, at first) nodes; without it the fit's nodes in the bounds of the capacity mode."""
    machine = context.machine
    least, most, start = counts or bounds(context, context.candidate.nodes)
    capacity = capacity_plan(context)
    return replace(
        _shaped(context, machine, place, name),
        nodes_min=least,
        nodes_max=most,
        nodes_start=start,
        capacity=capacity,
        labels=((ROLE_LABEL, "accelerator"),),
        adjacent=_adjacent(context, context.machine, capacity, most),
    )


def _shaped(context: CompileContext, machine: Machine, place: PlacePlan, name: str) -> PoolPlan:
    """A pool of one machine of the catalog, whatever its number and however it is bought."""
    cloud = profile(place.cloud)
    nics = nic_layout(machine, context.spec.blueprint.nodes.interfaces)
    kind = "hyperdisk-balanced" if machine.name.startswith(HYPERDISK_ONLY) else "balanced"
    return PoolPlan(
        name=name,
        machine=machine.name,
        zones=(place.zone,),
        nodes_min=1,
        nodes_max=1,
        nodes_start=1,
        accelerator=machine.accelerator or "",
        accelerator_label=machine.gke_accelerator_label,
        accelerator_count=machine.accelerator_count,
        role="accelerator" if machine.accelerator_count else "system",
        resource=RESOURCES.get(machine.kind, ""),
        cpu_arch=machine.cpu_arch or "x86_64",
        disk=DiskPlan(200, kind=kind, **cloud.node_disk),
        taints=(TaintPlan(RESOURCES[machine.kind], "present"),) if machine.kind in RESOURCES else (),
        fabric=str(machine.fabric),
        nics=nics,
        local_nvme=bool(machine.local_nvme_bytes),
        local_ssd_count=machine.local_nvme_count or 0 if cloud.attaches_local_ssds and machine.local_nvme_bytes else 0,
        max_pods=most_pods(machine, nics, prefixes=True) if cloud.pods_use_subnet else cloud.max_pods[machine.kind],
        image=cloud.node_images.get(machine.kind, cloud.system_image),
        pod_prefixes=cloud.pods_use_subnet,
    )


def _adjacent(context: CompileContext, machine: Machine, capacity: CapacityPlan, most: int) -> bool:
    """Whether the machines get a placement group: EFA machines that somebody may launch into one."""
    wanted = context.spec.blueprint.nodes.placement_group != "never"
    return wanted and machine.fabric is Fabric.EFA and most > 1 and capacity.mode not in RESERVED_MODES
