"""Edits of stacks, benign and destructive, for comparisons of `rackwright diff` with the engine's preview."""

from collections.abc import Callable
from dataclasses import replace

from rackwright.stackplan import StackPlan

from tests import plans
from tests.engine.aws_stacks import edited

Edit = Callable[[StackPlan], StackPlan]
STACKS: dict[str, Callable[[], StackPlan]] = {
    "box": plans.box_plan,
    "training": plans.training_plan,
    "eks-fleet": plans.FLEETS["fleet-eks"],
    "managed-fleet": plans.FLEETS["fleet-managed"],
    "gke-fleet": plans.fleet_plan,
    "tpu": plans.tpu_plan,
}


def other_region(plan: StackPlan) -> StackPlan:
    text = plan.to_json().replace("us-east-1", "us-west-2").replace("us-central1", "europe-west4")
    return StackPlan.from_json(text)


def other_addresses(plan: StackPlan) -> StackPlan:
    return replace(plan, network=replace(plan.network, cidr="10.9.0.0/16"))


def other_tags(plan: StackPlan) -> StackPlan:
    return replace(plan, tags=(*plan.tags, ("project", "atlas")))


def fewer_objects(plan: StackPlan) -> StackPlan:
    """Without the last object for which nothing waits."""
    awaited = {name for each in (*plan.manifests, *plan.releases) for name in each.after}
    last = next(each for each in reversed(plan.manifests) if each.key not in awaited)
    return replace(plan, manifests=tuple(each for each in plan.manifests if each is not last))


def newer_kubernetes(plan: StackPlan) -> StackPlan:
    major, minor = plan.cluster.version.split(".")
    return replace(plan, cluster=replace(plan.cluster, version=f"{major}.{int(minor) + 1}"))


def other_disks(plan: StackPlan) -> StackPlan:
    if plan.box:
        return replace(plan, box=replace(plan.box, root=replace(plan.box.root, size_gib=plan.box.root.size_gib * 2)))
    return replace(plan, pools=tuple(replace(pool, disk=replace(pool.disk, size_gib=pool.disk.size_gib * 2)) for pool in plan.pools))


def other_file_system(plan: StackPlan) -> StackPlan:
    return replace(plan, lustre=replace(plan.lustre, capacity_gib=plan.lustre.capacity_gib * 2))


def other_zone(plan: StackPlan) -> StackPlan:
    return StackPlan.from_json(plan.to_json().replace("us-east-1a", "us-east-1b"))


def no_file_system(plan: StackPlan) -> StackPlan:
    return plans.nodes_plan(storage="none")


def other_machine(plan: StackPlan) -> StackPlan:
    if plan.box:
        return plans.compiled(plans.box_case(machine="g6e.4xlarge"))
    return plans.compiled(plans.training_case(machine="p5en.48xlarge"))


def other_topology(plan: StackPlan) -> StackPlan:
    pools = (replace(p, topology="4x8", nodes_min=8, nodes_max=8, nodes_start=8) if p.topology else p for p in plan.pools)
    return replace(plan, pools=tuple(pools))


def own_image(plan: StackPlan) -> StackPlan:
    return plans.NODES["own-ami"]()


EDITS: dict[str, dict[str, Edit]] = {
    "box": {"benign": edited, "region": other_region, "disks": other_disks, "zone": other_zone, "addresses": other_addresses},
    "training": {
        "benign": edited,
        "machine": other_machine,
        "region": other_region,
        "addresses": other_addresses,
        "kubernetes": newer_kubernetes,
        "disks": other_disks,
        "file-system": other_file_system,
        "no-file-system": no_file_system,
        "zone": other_zone,
        "image": own_image,
        "objects": fewer_objects,
    },
    "eks-fleet": {"benign": edited, "region": other_region, "kubernetes": newer_kubernetes, "addresses": other_addresses},
    "managed-fleet": {"benign": edited, "region": other_region, "disks": other_disks},
    "gke-fleet": {"tags": other_tags, "region": other_region, "disks": other_disks, "addresses": other_addresses},
    "tpu": {"tags": other_tags, "region": other_region, "topology": other_topology},
}
