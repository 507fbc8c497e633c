"""Node pools: accelerator pools, and a small untainted system pool for operators."""

from collections import Counter
from dataclasses import replace

from rackwright.catalog.rows import Fabric, Machine
from rackwright.clouds import profile
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.nodes.capacity import capacity_entry, capacity_plan, extra_pool_entries, has_started, pool_bounds
from rackwright.compile.nodes.fabric import nic_layout
from rackwright.compile.nodes.sharing import sharing_plan
from rackwright.spec.blueprint import OwnImage
from rackwright.stackplan import CapacityPlan, DiskPlan, PlacePlan, PoolPlan, TaintPlan
from rackwright.stackplan.addresses import max_pods
from rackwright.stackplan.capacity import ADJACENT_MODES
from rackwright.stackplan.images import UBUNTU, image_variant
from rackwright.stackplan.labels import POOL_LABEL, QUEUED_LABEL, RESOURCES, ROLE_LABEL

SYSTEM_NODES = 2
"""Two, so that webhooks of operators survive the upgrade of one node (V-88)."""
POOL_NAMES = {"gpu": "gpu", "tpu": "slice", "neuron": "neuron"}


def system_pool(context: CompileContext, place: PlacePlan) -> PoolPlan:
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
        max_pods=max_pods(context.catalog.machine(cloud.system_machine), (), prefixes=True) if cloud.pods_use_subnet else None,
        image=cloud.system_image,
        pod_prefixes=cloud.pods_use_subnet,
    )


def accelerator_pools(context: CompileContext, place: PlacePlan, counts: tuple[int, int, int] | None = None) -> tuple[PoolPlan, ...]:
    """The sized pool, or one pool per entry of `capacity.fallback` in that order, all of which grow from 0 nodes.
    counts: see `accelerator_pool`.
    """
    sized = accelerator_pool(context, place, context.named(POOL_NAMES[context.machine.kind]), counts)
    entries = context.place.capacity.fallback
    if len(entries) < 2:
        return (sized,)
    chosen = entries.index(capacity_entry(context) or entries[0])
    plans = [sized.capacity if order == chosen else capacity_plan(context, entry) for order, entry in enumerate(entries)]
    names = _fallback_names(sized.name, [plan.mode for plan in plans], chosen)
    pools = (_fallback_pool(context, sized, *pool, counts) for pool in zip(names, plans, range(len(plans)), strict=True))
    return tuple(replace(pool, labels=(*pool.labels, (POOL_LABEL, pool.name))) for pool in pools)


def _fallback_names(sized: str, modes: list[str], chosen: int) -> list[str]:
    """`gpu` for the sized pool, `gpu-spot` for another mode, `gpu-reservation-2` for a repeated mode."""
    seen = Counter[str]()
    names = []
    for order, mode in enumerate(modes):
        seen[mode] += order != chosen
        number = f"-{seen[mode]}" if seen[mode] > 1 else ""
        names.append(sized if order == chosen else f"{sized}-{mode}{number}")
    return names


def _fallback_pool(
    context: CompileContext, sized: PoolPlan, name: str, capacity: CapacityPlan, preference: int, counts: tuple[int, int, int] | None
) -> PoolPlan:
    """The sized pool in a capacity mode, with at most the nodes of its reservation. Capacity blocks are not autoscaled.

    The minimum is 0: at the minimum size the autoscaler removes no node that failed to start and expects it forever, so that the next pool
    is never used (kubernetes/autoscaler, tag cluster-autoscaler-1.35.0, cluster-autoscaler/cloudprovider/aws: DeleteNodes). A preferred
    reservation is paid for and starts with its nodes. Spot and on-demand pools start without nodes, because a new node group
    fails without capacity. The nodes of a block always run within its hours.
    """
    high = min(sized.nodes_max, capacity.count or sized.nodes_max)
    block = capacity.mode == "capacity-block"
    start = high if block and has_started(capacity, context) else 0
    if preference == 0 and capacity.mode == "reservation":
        start = min(counts[2] if counts else high, high)
    return replace(
        sized,
        name=name,
        capacity=capacity,
        nodes_min=0,
        nodes_max=high,
        nodes_start=start,
        autoscaled=not block,
        preference=preference,
        adjacent=_uses_placement_group(context, context.machine, capacity, high),
    )


def extra_pools(context: CompileContext, place: PlacePlan) -> tuple[PoolPlan, ...]:
    """Additional pools of the spec, in the zone of the sized pool. They grow when jobs of their queue wait.

    Nodes without accelerators have a taint with the pool's name: without one, operators run there and keep idle nodes from being removed.
    Kueue adds the toleration to jobs of the pool's queue.
    """
    pools = []
    for entry in extra_pool_entries(context):
        machine, capacity = context.catalog.machine(entry.instance), capacity_plan(context, entry.capacity)
        block = capacity.mode == "capacity-block"
        low, high, start = pool_bounds(context, entry.nodes, capacity) if block else (entry.at_least, entry.nodes, entry.at_least)
        base = _base_pool(context, machine, place, entry.name)
        pool = replace(
            base,
            taints=base.taints or (TaintPlan(POOL_LABEL, entry.name),),
            nodes_min=low,
            nodes_max=high,
            nodes_start=start,
            capacity=capacity,
            autoscaled=low < high and not block,
            labels=((POOL_LABEL, entry.name),),
            adjacent=_uses_placement_group(context, machine, capacity, high),
        )
        pools.append(pool)
    return tuple(pools)


def accelerator_pool(context: CompileContext, place: PlacePlan, name: str = "gpu", counts: tuple[int, int, int] | None = None) -> PoolPlan:
    """The sized pool. counts: (minimum, maximum, start); default: from the fit and the capacity mode."""
    machine = context.machine
    low, high, start = counts or pool_bounds(context, context.candidate.nodes)
    capacity = capacity_plan(context)
    queued = ((QUEUED_LABEL, "true"),) if capacity.queued else ()
    base = _base_pool(context, machine, place, name)
    return replace(
        base,
        taints=(*base.taints, *(TaintPlan(*label) for label in queued)),
        nodes_min=low,
        nodes_max=high,
        nodes_start=start,
        capacity=capacity,
        labels=((ROLE_LABEL, context.named("accelerator")), *queued),
        serves=context.serves,
        sharing=sharing_plan(context),
        adjacent=_uses_placement_group(context, context.machine, capacity, high),
    )


def _base_pool(context: CompileContext, machine: Machine, place: PlacePlan, name: str) -> PoolPlan:
    """A pool of a machine, before its size and capacity are set."""
    cloud = profile(place.cloud)
    nics = nic_layout(machine, context.spec.blueprint.nodes.interfaces, context.catalog)
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
        disk=DiskPlan(200, kind=machine.boot_disk, **cloud.node_disk),
        taints=(TaintPlan(RESOURCES[machine.kind], "present"),) if machine.kind in RESOURCES else (),
        fabric=str(machine.fabric),
        nics=nics,
        local_nvme=bool(machine.local_nvme_bytes),
        local_ssd_count=machine.local_nvme_count or 0 if cloud.attaches_local_ssds and machine.local_nvme_bytes else 0,
        max_pods=max_pods(machine, nics, prefixes=True) if cloud.pods_use_subnet else cloud.max_pods.get(machine.kind),
        image=cloud.node_images.get(machine.kind, cloud.system_image),
        pod_prefixes=cloud.pods_use_subnet,
    )


def _uses_placement_group(context: CompileContext, machine: Machine, capacity: CapacityPlan, high: int) -> bool:
    """Whether a pool uses a placement group: several EFA machines that are not reserved."""
    allowed = context.spec.blueprint.nodes.placement_group != "never"
    return allowed and machine.fabric is Fabric.EFA and high > 1 and capacity.mode not in ADJACENT_MODES


def with_node_image(context: CompileContext, pool: PoolPlan) -> PoolPlan:
    """`pool` on EKS with the image and the EFA driver of the spec.

    A custom image applies to machines of the sized pool's kind and architecture; others use the EKS image of its family. Ubuntu nodes do
    not mount local disks, so pods cannot use them.
    """
    nodes, machine = context.spec.blueprint.nodes, context.catalog.machine(pool.machine)
    family, own = (nodes.image.family, nodes.image.ami) if isinstance(nodes.image, OwnImage) else (nodes.image, "")
    if own and (machine.kind, machine.cpu_arch) != (context.machine.kind, context.machine.cpu_arch):
        family, own = ("al2023" if family == UBUNTU else family), ""
    return replace(
        pool,
        image=image_variant(family, machine.kind),
        image_id=own,
        devices=nodes.devices if pool.nics else pool.devices,
        local_nvme=pool.local_nvme and family != UBUNTU,
    )
