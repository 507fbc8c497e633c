"""C-rules: options that the blueprint of the stack does not have, and addresses that it cannot use.

The kind of a stack can depend on the candidate. Over a spec, a rule is violated where every kind that the spec can lead to violates it;
over a candidate, where the candidate's kind, cloud and machine violate it. Messages name one kind.
"""

from collections.abc import Iterator
from ipaddress import IPv4Network

from rackwright.clouds import profile, supports
from rackwright.diagnostics.problem import At
from rackwright.diagnostics.rule import Violation
from rackwright.spec.blueprint import Nodes
from rackwright.spec.infra import ExistingSubnet, Place
from rackwright.stackplan.addresses import MACHINE_PURPOSES, VPC_MIN_PREFIX
from rackwright.validation.spec.places import existing_entries
from rackwright.validation.spec.registry import SpecContext, rule

BOX, TRAINING_CLUSTER, FLEET = "box", "training-cluster", "inference-fleet"
BOX_MAX_PREFIX, CLUSTER_MAX_PREFIX = 27, 23
"""Longest prefixes of a network. A box needs a /28 and a public one beside it. In a cluster the control plane, endpoints and operators
need about forty addresses in the zone of the machines: a /26, which is a quarter of the lower half."""
VPC_SIZES = "https://docs.aws.amazon.com/vpc/latest/userguide/vpc-cidr-blocks.html"
HUB = "hf"
"""Scheme of weights that the server downloads from the Hugging Face hub."""
BLUEPRINT = At() / "blueprint"
ORDERED = "use `ordered`, which selects the first entry that fits"


@rule("C-ssh", of_candidate=True)
def ssh_needs_a_box(context: SpecContext) -> Iterator[Violation]:
    """`ssh_from` requires a box. N-17 reports it where the spec sets another kind."""
    if context.candidate and context.spec.blueprint.ssh_from != "nobody" and BOX not in context.kinds:
        message = f"ssh_from applies to a box, and this stack is a {context.kind}"
        yield Violation(BLUEPRINT / "ssh_from", "remove it; use Session Manager to log in to nodes", message)


@rule("C-storage", of_candidate=True)
def lustre_needs_a_training_cluster(context: SpecContext) -> Iterator[Violation]:
    """A Lustre file system requires a training-cluster."""
    if context.spec.blueprint.storage not in ("auto", "none") and TRAINING_CLUSTER not in context.kinds:
        message = f"This release supports Lustre in a {TRAINING_CLUSTER} only, and this stack is a {context.kind}"
        yield Violation(BLUEPRINT / "storage", "set it to auto, which uses a bucket", message)


@rule("C-nodes", of_candidate=True)
def box_has_one_machine(context: SpecContext) -> Iterator[Violation]:
    """A box has one machine."""
    chosen = context.candidate
    if chosen and context.kinds == {BOX} and chosen.nodes != 1:
        message = f"A box has one machine; {chosen.label} has {chosen.nodes * context.catalog.machine(chosen.machine).unit_nodes}"
        yield Violation(BLUEPRINT / "kind", "set it to auto, or pin a larger machine", message)


@rule("C-fallback", of_candidate=True)
def box_has_one_capacity_mode(context: SpecContext) -> Iterator[Violation]:
    """A box has one capacity mode."""
    for at, place in context.places if context.kinds == {BOX} else ():
        if len(place.capacity.fallback) > 1:
            message = f"A box has one machine and one capacity mode; capacity.fallback lists {len(place.capacity.fallback)}"
            yield Violation(at / "capacity" / "fallback", ORDERED, message)


@rule("C-slices", of_candidate=True)
def slices_have_one_capacity_mode(context: SpecContext) -> Iterator[Violation]:
    """Slices of TPUs have one capacity mode, and a pod of slices has no additional pools."""
    is_pod = context.kinds == {"tpu-pod"}
    if not is_pod and not (context.candidate and context.candidate.topology):
        return
    for at, place in context.places:
        if len(place.capacity.fallback) > 1:
            message = f"Slices of TPUs have one capacity mode; capacity.fallback lists {len(place.capacity.fallback)}"
            yield Violation(at / "capacity" / "fallback", ORDERED, message)
    if context.spec.blueprint.pools != "auto" and is_pod:
        yield Violation(BLUEPRINT / "pools", "set it to auto", "This release adds no pools to a TPU pod")


@rule("C-pools", of_candidate=True)
def pools_need_a_cluster(context: SpecContext) -> Iterator[Violation]:
    """`pools` requires a cluster."""
    if context.spec.blueprint.pools != "auto" and context.kinds == {BOX}:
        yield Violation(BLUEPRINT / "pools", "set it to auto", "pools applies to clusters, and this stack is a box")


@rule("C-node-setup", of_candidate=True)
def node_settings_need_a_cluster(context: SpecContext) -> Iterator[Violation]:
    """`nodes` requires a cluster."""
    if context.spec.blueprint.nodes != Nodes() and context.kinds == {BOX}:
        message = "nodes applies to clusters, and this stack is a box"
        yield Violation(BLUEPRINT / "nodes", "remove it, or set kind to training-cluster", message)


@rule("C-cluster", of_candidate=True)
def existing_cluster_needs_a_cluster(context: SpecContext) -> Iterator[Violation]:
    """`cluster` requires a blueprint with a cluster."""
    if context.spec.blueprint.cluster != "new" and context.kinds == {BOX}:
        message = "cluster applies to clusters, and this stack is a box"
        yield Violation(BLUEPRINT / "cluster", "remove it, or set kind to training-cluster", message)


@rule("C-roles", of_candidate=True)
def roles_are_used(context: SpecContext) -> Iterator[Violation]:
    """The stack must use every existing role that the spec names."""
    has_cluster = context.kinds != {BOX}
    uses = {"cluster": has_cluster and context.spec.blueprint.cluster == "new", "nodes": has_cluster}
    for at, place in context.places:
        for name, used in uses.items():
            if place.roles and getattr(place.roles, name) is not None and not used:
                yield Violation(at / "roles" / name, "remove it", f"roles.{name} is set, but this stack does not use it")


@rule("C-provisioner", of_candidate=True)
def karpenter_starts_replicas(context: SpecContext) -> Iterator[Violation]:
    """Karpenter provisions the nodes of an inference-fleet in a new cluster."""
    at = BLUEPRINT / "nodes" / "provisioner"
    if context.spec.blueprint.nodes.provisioner != "karpenter":
        return
    if context.kinds == {TRAINING_CLUSTER}:
        message = "Karpenter starts machines one by one, but training machines must start together, in a managed node group"
        yield Violation(at, "set it to auto", message)
    if context.kinds == {FLEET} and context.spec.blueprint.cluster != "new":
        message = "Karpenter of an existing cluster cannot use the node role of this stack"
        yield Violation(at, "set it to auto, which adds managed node groups", message)


@rule("C-devices", of_candidate=True)
def dra_needs_efa(context: SpecContext) -> Iterator[Violation]:
    """`devices: dra` requires a machine with EFA interfaces."""
    if context.candidate and context.kinds != {BOX} and context.spec.blueprint.nodes.devices == "dra":
        machine = context.catalog.machine(context.candidate.machine)
        if not machine.efa_interfaces:
            message = f"devices: dra requires EFA interfaces, and {machine.name} has none"
            yield Violation(BLUEPRINT / "nodes" / "devices", "set it to plugin", message)


@rule("C-bucket-cloud", of_candidate=True)
def data_is_in_the_cloud_of_the_stack(context: SpecContext) -> Iterator[Violation]:
    """Data, checkpoints and weights are in the object store of the stack's cloud."""
    clouds = {place.cloud: profile(place.cloud) for _, place in context.places}
    schemes = {cloud.uri_scheme: name for name, cloud in clouds.items() if cloud.uri_scheme}
    for at, workload in context.workloads if schemes else ():
        data, progress = getattr(workload, "data", None), getattr(workload, "checkpoint", None)
        for uri in (part.uri for part in (workload.model.weights, data, progress) if part):
            if uri and uri.partition("://")[0] not in (*schemes, HUB):
                wanted, name = next(iter(schemes.items()))
                fix = f"copy the data to a {wanted}:// bucket and set its URI, or remove it to create a bucket"
                yield Violation(at, fix, f"{uri} is in another cloud than the stack, which is on {name}")


@rule("C-subnets")
def existing_network_has_subnets(context: SpecContext) -> Iterator[Violation]:
    """An existing network lists its subnets, on clouds where this release supports one."""
    for at, place in context.places:
        if place.network.existing and not place.network.existing.subnets and supports(place.cloud, "network.existing"):
            cloud = profile(place.cloud)
            described = supports(place.cloud, "blueprint.cluster") and not cloud.subnet_form
            listed = f"list the one of the nodes: {{id: {cloud.subnet_form}, use: nodes}}" if cloud.subnet_form else "list at least one"
            fix = "list the private ones: {id: subnet-..., zone: ..., use: nodes}" if described else listed
            link = cloud.links.get("subnets", "")
            message = "The existing network lists no subnets"
            yield Violation(at / "network" / "existing" / "subnets", fix, message, link=link)


@rule("C-zone", of_candidate=True)
def box_in_an_existing_network_has_a_zone(context: SpecContext) -> Iterator[Violation]:
    """A box in an existing network has the zone of its subnet, because its data disk must be in that zone."""
    for at, place in context.places if context.kinds == {BOX} else ():
        region = context.candidate.region if context.candidate else ""
        bought = [thing.zone for _, other, thing in existing_entries(context) if other is place]
        zones = (*place.zones, *_subnet_zones(place), *bought)
        if place.network.existing and not any(zone and (not region or context.catalog.zone_is_in(zone, region)) for zone in zones):
            message = "The zone of the existing subnet is not set, and the data disk of a box must be in that zone"
            yield Violation(at / "zones", "set the zone of the first subnet", message)


@rule("C-cidr", link=VPC_SIZES, of_candidate=True)
def addresses_suffice(context: SpecContext) -> Iterator[Violation]:
    """The address range of a new network holds the subnets of the stack, and is a size that the cloud allows."""
    for at, place in context.places:
        cidr, where = place.network.cidr, at / "network" / "cidr"
        if cidr and place.network.existing:
            yield Violation(where, "remove it", "cidr cannot be set for an existing network")
        elif cidr and (network := _range(cidr)):
            kind = BOX if BOX in context.kinds else context.kind
            cloud, limit = profile(place.cloud), BOX_MAX_PREFIX if kind == BOX else CLUSTER_MAX_PREFIX
            low, high = cloud.network_prefixes or (VPC_MIN_PREFIX, limit)
            link = cloud.links.get("networks", VPC_SIZES)
            if network.prefixlen < low:
                fix = f"use {next(network.subnets(new_prefix=low))}, or another range of that size"
                name = "AWS" if link == VPC_SIZES else cloud.name
                yield Violation(where, fix, f"{cidr} is larger than a /{low}, the largest network on {name}", link=link)
            if network.prefixlen > high:
                fix = f"use {network.supernet(new_prefix=high)}, or another range of that size"
                yield Violation(where, fix, f"{cidr} is too small for the subnets of a {kind}, which need a /{high}", link=link)


def _subnet_zones(place: Place) -> Iterator[str | None]:
    """Zones of the existing subnets for machines."""
    subnets = place.network.existing.subnets if place.network.existing else ()
    return (entry.zone for entry in subnets if isinstance(entry, ExistingSubnet) and entry.use in MACHINE_PURPOSES)


def _range(cidr: str) -> IPv4Network | None:
    """The range; None where it is not one, which S-60 reports."""
    try:
        return IPv4Network(cidr)
    except ValueError:
        return None
