"""Machines that come when pods wait for them: Karpenter's pools and their class, and node groups that somebody must move."""

from collections.abc import Iterator

from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import StackPlan
from rackwright.stackplan.operators import CLUSTER_AUTOSCALER, KARPENTER, KARPENTER_CAPACITY_TYPES, KARPENTER_CRDS
from rackwright.validation.stack.registry import accelerators, manifests, rule

NODE_CLASSES = "https://karpenter.sh/docs/concepts/nodeclasses/"
NODE_POOLS = "https://karpenter.sh/docs/concepts/nodepools/"
INTERFACES = ("interface", "efa-only")


@rule("V-97", Level.ERROR, NODE_CLASSES)
def karpenter_is_bounded_and_pinned(plan: StackPlan) -> Iterator[Violation]:
    """Karpenter's pools have limits, their images do not move, their interfaces begin with an ordinary one, and their own machines never
    run the controller that made them."""
    most = {pool.name: f"{pool.resource}: {pool.accelerator_count * pool.nodes_max}" for _, pool in accelerators(plan)}
    for at, manifest in manifests(plan, "NodePool"):
        if not manifest.body["spec"].get("limits"):
            fix = f"such as {most.get(manifest.body['metadata']['name'], 'the accelerators of the most replicas')}"
            yield Violation(at / "spec" / "limits", fix, detail="there is none")
    for at, manifest in manifests(plan, "EC2NodeClass"):
        yield from _image(at / "spec" / "amiSelectorTerms", manifest.body["spec"].get("amiSelectorTerms", []))
        yield from _interfaces(at / "spec" / "networkInterfaces", manifest.body["spec"].get("networkInterfaces", []))
    yield from _one_zone(plan)
    yield from _off_its_own(plan)


def _image(at: At, terms: list[dict]) -> Iterator[Violation]:
    for index, term in enumerate(terms):
        if "id" not in term and term.get("alias", "@latest").endswith("@latest"):
            yield Violation(at / index, "name a release, such as al2023@v20260728, or an id", detail=f"got {term}")


def _interfaces(at: At, found: list[dict]) -> Iterator[Violation]:
    for index, nic in enumerate(found):
        if nic["interfaceType"] not in INTERFACES:
            yield Violation(at / index / "interfaceType", f"use {' or '.join(INTERFACES)}", detail=f"got {nic['interfaceType']!r}")
    first = [nic for nic in found if (nic["networkCardIndex"], nic["deviceIndex"]) == (0, 0)]
    if found and not any(nic["interfaceType"] == "interface" for nic in first):
        yield Violation(at, "put an interface on card 0, device 0", detail="there is none")


def _one_zone(plan: StackPlan) -> Iterator[Violation]:
    """A cluster placement group is in one zone."""
    grouped = {m.body["metadata"]["name"] for _, m in manifests(plan, "EC2NodeClass") if m.body["spec"].get("placementGroupSelector")}
    for at, manifest in manifests(plan, "NodePool"):
        made = manifest.body["spec"]["template"]["spec"]
        zones = [r["values"] for r in made["requirements"] if r["key"] == "topology.kubernetes.io/zone"]
        if made["nodeClassRef"]["name"] in grouped and (not zones or len(zones[0]) != 1):
            place = at / "spec" / "template" / "spec" / "requirements"
            yield Violation(
                place, f"name {plan.place.zone} alone", detail=f"{manifest.body['metadata']['name']} starts in a placement group"
            )


def _off_its_own(plan: StackPlan) -> Iterator[Violation]:
    """Machines of a pool that the controller itself selects would be those it must outlive."""
    made = [m.body["spec"]["template"]["metadata"]["labels"] for _, m in manifests(plan, "NodePool")]
    for index, release in enumerate(plan.releases):
        chosen = release.values.get("nodeSelector", {})
        if release.name == KARPENTER and any(chosen.items() <= labels.items() for labels in made):
            yield Violation(
                At() / "releases" / index / "values" / "nodeSelector", "select the system pool", detail=f"it selects {chosen or 'nothing'}"
            )


@rule("R-50", Level.ERROR, NODE_CLASSES)
def karpenter_can_buy_it(plan: StackPlan) -> Iterator[Violation]:
    """Karpenter buys on demand and spot, and takes reservations by their ids; a group of reservations is a node group's."""
    for at, pool in accelerators(plan):
        if pool.provisioner != "karpenter":
            continue
        if pool.capacity.mode not in KARPENTER_CAPACITY_TYPES:
            yield Violation(
                at / "capacity" / "mode", f"use {', '.join(KARPENTER_CAPACITY_TYPES)}", detail=f"{pool.name} has {pool.capacity.mode!r}"
            )
        elif KARPENTER_CAPACITY_TYPES[pool.capacity.mode] == "reserved" and not pool.capacity.reservation_id.startswith("cr-"):
            fix = "name each reservation by its id, or set blueprint.nodes.provisioner to managed"
            yield Violation(at / "capacity" / "reservation_id", fix, detail=f"{pool.name} has {pool.capacity.group_arn or 'none'}")


@rule("R-51", Level.ERROR, NODE_POOLS)
def somebody_makes_the_machines(plan: StackPlan) -> Iterator[Violation]:
    """A pool of Karpenter's has a NodePool of its name, and Karpenter with its CRDs and its rights; a node group that moves has the cluster
    autoscaler."""
    installed = {release.name for release in plan.releases}
    made = {manifest.body["metadata"]["name"] for _, manifest in manifests(plan, "NodePool")}
    for at, pool in accelerators(plan):
        if pool.provisioner == "karpenter":
            missing = [*({KARPENTER, KARPENTER_CRDS} - installed), *([] if plan.karpenter else ["its rights"])]
            missing += [] if pool.name in made else [f"NodePool {pool.name}"]
            if missing:
                yield Violation(at / "provisioner", "add what is missing, or use managed", detail=f"missing: {', '.join(sorted(missing))}")
        elif pool.autoscaled and CLUSTER_AUTOSCALER not in installed:
            yield Violation(at / "autoscaled", f"add the release {CLUSTER_AUTOSCALER}", detail=f"nobody moves {pool.name}")
