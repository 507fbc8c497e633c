"""Node provisioning: Karpenter's node pools and node classes, and node groups that the cluster autoscaler resizes."""

from collections.abc import Iterator

from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import StackPlan
from rackwright.stackplan.labels import ZONE_ID_LABEL, ZONE_LABEL
from rackwright.stackplan.operators import CLUSTER_AUTOSCALER, KARPENTER, KARPENTER_CAPACITY_TYPES, KARPENTER_CRDS
from rackwright.validation.stack.registry import accelerators, manifests, rule

NODE_CLASSES = "https://karpenter.sh/docs/concepts/nodeclasses/"
NODE_POOLS = "https://karpenter.sh/docs/concepts/nodepools/"
KARPENTER_INTERFACE_TYPES = ("interface", "efa-only")


@rule("V-97", Level.ERROR, NODE_CLASSES)
def karpenter_objects_are_complete(plan: StackPlan) -> Iterator[Violation]:
    """Karpenter node pools have limits; their node classes pin images and start with an IP interface; the controller runs on other
    nodes."""
    limits = {pool.name: f"{pool.resource}: {pool.accelerator_count * pool.nodes_max}" for _, pool in accelerators(plan)}
    for at, manifest in manifests(plan, "NodePool"):
        if not manifest.body["spec"].get("limits"):
            name = manifest.body["metadata"]["name"]
            message = f"Node pool {name} has no limits, so Karpenter could start any number of machines"
            yield Violation(at / "spec" / "limits", f"set {limits.get(name, 'the accelerators of the maximum replicas')}", message)
    for at, manifest in manifests(plan, "EC2NodeClass"):
        for index, term in enumerate(manifest.body["spec"].get("amiSelectorTerms", [])):
            if "id" not in term and term.get("alias", "@latest").endswith("@latest"):
                fix, message = "set a release such as al2023@v20260728, or an AMI ID", f"{term} does not pin an image release"
                yield Violation(at / "spec" / "amiSelectorTerms" / index, fix, message)
        yield from _interfaces(at / "spec" / "networkInterfaces", manifest.body["spec"].get("networkInterfaces", []))
    yield from _placement_group_zone(plan)
    yield from _controller_nodes(plan)


def _interfaces(at: At, interfaces: list[dict]) -> Iterator[Violation]:
    for index, nic in enumerate(interfaces):
        if nic["interfaceType"] not in KARPENTER_INTERFACE_TYPES:
            choices = " or ".join(KARPENTER_INTERFACE_TYPES)
            yield Violation(at / index / "interfaceType", f"use {choices}", f"Interface type {nic['interfaceType']!r} is not {choices}")
    primary = [nic for nic in interfaces if (nic["networkCardIndex"], nic["deviceIndex"]) == (0, 0)]
    if interfaces and not any(nic["interfaceType"] == "interface" for nic in primary):
        yield Violation(at, "set type interface there", "The node class has no IP interface on card 0, device 0")


def _placement_group_zone(plan: StackPlan) -> Iterator[Violation]:
    """A cluster placement group is in one zone."""
    grouped = {m.body["metadata"]["name"] for _, m in manifests(plan, "EC2NodeClass") if m.body["spec"].get("placementGroupSelector")}
    for at, manifest in manifests(plan, "NodePool"):
        template = manifest.body["spec"]["template"]["spec"]
        zones = [r["values"] for r in template["requirements"] if r["key"] in (ZONE_LABEL, ZONE_ID_LABEL)]
        if template["nodeClassRef"]["name"] in grouped and (not zones or len(zones[0]) != 1):
            count = len(zones[0]) if zones else "no"
            message = f"Node pool {manifest.body['metadata']['name']} uses a cluster placement group, but sets {count} zones instead of one"
            yield Violation(at / "spec" / "template" / "spec" / "requirements", f"set the zone to {plan.place.zone}", message)


def _controller_nodes(plan: StackPlan) -> Iterator[Violation]:
    """Karpenter's controller must not run on nodes that it removes."""
    pool_labels = [m.body["spec"]["template"]["metadata"]["labels"] for _, m in manifests(plan, "NodePool")]
    for index, release in enumerate(plan.releases):
        selector = release.values.get("nodeSelector", {})
        if release.name == KARPENTER and any(selector.items() <= labels.items() for labels in pool_labels):
            message = f"Karpenter's controller selects nodes that Karpenter creates: nodeSelector is {selector or 'empty'}"
            yield Violation(At() / "releases" / index / "values" / "nodeSelector", "select the system pool", message)


@rule("R-50", Level.ERROR, NODE_CLASSES)
def karpenter_capacity(plan: StackPlan) -> Iterator[Violation]:
    """Karpenter supports on-demand, spot, and reservations by ID; reservation groups require a managed node group."""
    for at, pool in accelerators(plan):
        if pool.provisioner != "karpenter":
            continue
        if pool.capacity.mode not in KARPENTER_CAPACITY_TYPES:
            message = f"Karpenter does not support capacity mode {pool.capacity.mode} of pool {pool.name}"
            yield Violation(at / "capacity" / "mode", f"use {', '.join(KARPENTER_CAPACITY_TYPES)}", message)
        elif KARPENTER_CAPACITY_TYPES[pool.capacity.mode] == "reserved" and not pool.capacity.reservation_id.startswith("cr-"):
            fix = "set reservation IDs (cr-...), or set blueprint.nodes.provisioner to managed"
            message = f"Karpenter needs a reservation ID for pool {pool.name}; it has {pool.capacity.group_arn or 'none'}"
            yield Violation(at / "capacity" / "reservation_id", fix, message)


@rule("R-51", Level.ERROR, NODE_POOLS)
def pools_have_a_provisioner(plan: StackPlan) -> Iterator[Violation]:
    """A Karpenter pool has a NodePool object, the Karpenter charts and IAM permissions; an autoscaled node group has the cluster
    autoscaler."""
    installed = {release.name for release in plan.releases}
    node_pools = {manifest.body["metadata"]["name"] for _, manifest in manifests(plan, "NodePool")}
    for at, pool in accelerators(plan):
        if pool.provisioner == "karpenter":
            missing = [*({KARPENTER, KARPENTER_CRDS} - installed), *([] if plan.karpenter else ["IAM permissions"])]
            missing += [] if pool.name in node_pools else [f"NodePool {pool.name}"]
            if missing:
                message = f"Pool {pool.name} uses Karpenter, but the plan lacks {', '.join(sorted(missing))}"
                yield Violation(at / "provisioner", "add what is missing, or use managed", message)
        elif pool.autoscaled and CLUSTER_AUTOSCALER not in installed:
            message = f"Pool {pool.name} is autoscaled, but {CLUSTER_AUTOSCALER} is not installed"
            yield Violation(at / "autoscaled", f"add the release {CLUSTER_AUTOSCALER}", message)
