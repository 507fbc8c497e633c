"""Combinations that this release cannot build, checked before compilation, each with an alternative."""

from collections.abc import Iterator
from ipaddress import IPv4Network

from rackwright.clouds import profile, supports
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.network.place import zone_of
from rackwright.compile.nodes.capacity import capacity_plan, has_started
from rackwright.compile.serving.neuron import unsupported_on_neuron
from rackwright.compile.spec_options import existing_cluster
from rackwright.diagnostics.problem import At, Problem
from rackwright.spec.blueprint import Nodes
from rackwright.spec.workload import Serve
from rackwright.stackplan import BlueprintKind
from rackwright.stackplan.addresses import VPC_MIN_PREFIX

MACHINE_KINDS = {
    BlueprintKind.BOX: ("gpu", "neuron", "cpu"),
    BlueprintKind.TRAINING_CLUSTER: ("gpu", "neuron"),
    BlueprintKind.INFERENCE_FLEET: ("gpu", "neuron"),
    BlueprintKind.TPU_POD: ("tpu",),
}
"""Kinds of machine that each blueprint supports."""
BOX_MAX_PREFIX, CLUSTER_MAX_PREFIX = 27, 23
"""Longest prefixes of a network. A box needs a /28 and a public one beside it. In a cluster the control plane, endpoints and operators
need about forty addresses in the zone of the machines: a /26, which is a quarter of the lower half."""
VPC_SIZES = "https://docs.aws.amazon.com/vpc/latest/userguide/vpc-cidr-blocks.html"
WORKLOAD = At() / "workloads" / 0


def unsupported_problems(context: CompileContext, kind: BlueprintKind) -> list[Problem]:
    """Every reason why this stack cannot be built; empty where it can."""
    return [
        *_machine(context, kind),
        *_workload(context, kind),
        *_fleet(context, kind),
        *_nodes(context, kind),
        *_network(context, kind),
        *_existing(context, kind),
    ]


def _machine(context: CompileContext, kind: BlueprintKind) -> Iterator[Problem]:
    chosen, machine = context.candidate, context.machine
    if machine.kind not in MACHINE_KINDS[kind]:
        reason = f"Blueprint {kind} supports machines of kind {', '.join(MACHINE_KINDS[kind])}; {chosen.machine} is {machine.kind}"
        yield Problem("C-machine", reason, At() / "blueprint" / "kind", "set it to auto, or choose another candidate")
    if kind is BlueprintKind.BOX:
        yield from _one_machine(context)
    elif context.spec.blueprint.ssh_from != "nobody":
        reason = f"ssh_from applies to a box, and this stack is a {kind}"
        yield Problem("C-ssh", reason, At() / "blueprint" / "ssh_from", "remove it; use Session Manager to log in to nodes")
    if context.spec.blueprint.storage not in ("auto", "none") and kind is not BlueprintKind.TRAINING_CLUSTER:
        reason = f"This release supports Lustre in a {BlueprintKind.TRAINING_CLUSTER} only, and this stack is a {kind}"
        yield Problem("C-storage", reason, At() / "blueprint" / "storage", "set it to auto, which uses a bucket")


def _one_machine(context: CompileContext) -> Iterator[Problem]:
    """Reasons why a candidate cannot be a box."""
    chosen, machine = context.candidate, context.machine
    if chosen.nodes != 1 or machine.unit_nodes != 1:
        count = chosen.nodes * machine.unit_nodes
        reason = f"A box has one machine; {chosen.label} has {count}"
        yield Problem("C-nodes", reason, At() / "blueprint" / "kind", "set it to auto, or pin a larger machine")
    if len(context.place.capacity.fallback) > 1:
        at = At() / "infra" / ("any_of" if context.spec.infra.any_of else "ordered") / chosen.place / "capacity" / "fallback"
        reason = f"A box has one machine and one capacity mode; capacity.fallback lists {len(context.place.capacity.fallback)}"
        yield Problem("C-fallback", reason, at, "use `ordered`, which selects the first entry that fits")
    plan = capacity_plan(context)
    if plan.drains_at and not has_started(plan, context):
        reason = f"A box starts immediately, but capacity block {plan.reservation_id} starts at {plan.starts_at}"
        fix = "build it then, or set kind to training-cluster, whose pool starts with the block"
        yield Problem("C-block", reason, At() / "blueprint" / "kind", fix)
    if context.spec.blueprint.pools != "auto":
        yield Problem("C-pools", "pools applies to clusters, and this stack is a box", At() / "blueprint" / "pools", "set it to auto")
    if not machine.orderable:
        why = f"it is a part of {machine.unit_machine}" if machine.unit_machine else "no instance type name is published"
        yield Problem("C-machine", f"{machine.name} cannot be ordered: {why}", WORKLOAD, "choose another candidate")
    if machine.no_box_image:
        reason = f"No pinned image supports {machine.name}: {machine.no_box_image}"
        yield Problem("C-image", reason, At() / "blueprint" / "kind", "choose another candidate")


def _workload(context: CompileContext, kind: BlueprintKind) -> Iterator[Problem]:
    serves, fleet = isinstance(context.spec.workload, Serve), kind is BlueprintKind.INFERENCE_FLEET
    if serves != fleet and not (serves and kind is BlueprintKind.BOX):
        reason = f"Blueprint {kind} does not support workloads of kind {context.spec.workload.kind}"
        yield Problem("C-workload", reason, At() / "blueprint" / "kind", "set it to auto")
    if len(context.spec.workloads) > 1:
        reason = f"This release builds one workload per stack; the spec has {len(context.spec.workloads)}"
        yield Problem("C-many", reason, At() / "workloads", "write one spec per workload")


def _fleet(context: CompileContext, kind: BlueprintKind) -> Iterator[Problem]:
    workload = context.spec.workload
    if kind is not BlueprintKind.INFERENCE_FLEET or not isinstance(workload, Serve):
        return
    if workload.scale_to_zero or workload.min_replicas == 0:
        reason = "Scaling to 0 replicas is not supported: the metrics that would start a replica come from the server's own pods"
        yield Problem("V-92", reason, WORKLOAD / "scale_to_zero", "set min_replicas to 1 or more")
    need, have = context.candidate.parallelism.accelerators, context.candidate.accelerators_per_node
    if not supports(context.candidate.cloud, "serve.multi_node") and need > have:
        reason = f"A replica needs {need} accelerators and {context.machine.name} has {have}; this release serves it on one machine only"
        yield Problem("C-wide-replica", reason, WORKLOAD, f"pin a machine with {need} accelerators, or quantize the weights")
    if workload.engine not in ("auto", "vllm"):
        reason = f"Engine {workload.engine} is not supported; this release runs vLLM"
        yield Problem("C-engine", reason, WORKLOAD / "engine", "set it to auto")
    if context.machine.kind == "neuron":
        yield from unsupported_on_neuron(context)


def _nodes(context: CompileContext, kind: BlueprintKind) -> Iterator[Problem]:
    nodes, at, machine = context.spec.blueprint.nodes, At() / "blueprint" / "nodes", context.machine
    if kind is BlueprintKind.BOX and nodes != Nodes():
        reason, fix = "nodes applies to clusters, and this stack is a box", "remove it, or set kind to training-cluster"
        yield Problem("C-node-setup", reason, at, fix)
    if kind is BlueprintKind.TRAINING_CLUSTER and nodes.provisioner == "karpenter":
        reason = "Karpenter starts machines one by one, but training machines must start together, in a managed node group"
        yield Problem("C-provisioner", reason, at / "provisioner", "set it to auto")
    if kind is BlueprintKind.INFERENCE_FLEET and nodes.provisioner == "karpenter" and existing_cluster(context):
        reason = "Karpenter of an existing cluster cannot use the node role of this stack"
        yield Problem("C-provisioner", reason, at / "provisioner", "set it to auto, which adds managed node groups")
    if kind is not BlueprintKind.BOX and nodes.devices == "dra" and not machine.efa_interfaces:
        yield Problem("C-devices", f"devices: dra requires EFA interfaces, and {machine.name} has none", at / "devices", "set it to plugin")


def _network(context: CompileContext, kind: BlueprintKind) -> Iterator[Problem]:
    order = "any_of" if context.spec.infra.any_of else "ordered"
    place = At() / "infra" / order / context.candidate.place
    network = context.place.network
    if network.existing and not network.existing.subnets:
        at, reason = place / "network" / "existing" / "subnets", "The existing network lists no subnets"
        described = supports(context.place.cloud, "blueprint.cluster")
        fix = "list the private ones: {id: subnet-..., zone: ..., use: nodes}" if described else "list at least one"
        link = profile(context.place.cloud).links.get("subnets", "")
        yield Problem("C-subnets", reason, at, fix, link=link)
    if network.existing and kind is BlueprintKind.BOX and not zone_of(context):
        reason = "The zone of the existing subnet is not set, and the data disk of a box must be in that zone"
        yield Problem("C-zone", reason, place / "zones", "set the zone of the first subnet")
    if network.existing and network.cidr:
        yield Problem("C-cidr", "cidr cannot be set for an existing network", place / "network" / "cidr", "remove it")
    elif network.cidr:
        yield from _addresses(network.cidr, kind, place / "network" / "cidr")


def _addresses(cidr: str, kind: BlueprintKind, at: At) -> Iterator[Problem]:
    """https://docs.aws.amazon.com/vpc/latest/userguide/vpc-cidr-blocks.html"""
    network, limit = IPv4Network(cidr), BOX_MAX_PREFIX if kind is BlueprintKind.BOX else CLUSTER_MAX_PREFIX
    if network.prefixlen < VPC_MIN_PREFIX:
        fix = f"use {next(network.subnets(new_prefix=VPC_MIN_PREFIX))}, or another range of that size"
        yield Problem("C-cidr", f"{cidr} is larger than a /{VPC_MIN_PREFIX}, the largest network on AWS", at, fix, link=VPC_SIZES)
    if network.prefixlen > limit:
        fix = f"use {network.supernet(new_prefix=limit)}, or another range of that size"
        yield Problem("C-cidr", f"{cidr} is too small for the subnets of a {kind}, which need a /{limit}", at, fix, link=VPC_SIZES)


def _existing(context: CompileContext, kind: BlueprintKind) -> Iterator[Problem]:
    """Existing resources in the spec that the stack would not use."""
    order = "any_of" if context.spec.infra.any_of else "ordered"
    roles, at = context.place.roles, At() / "infra" / order / context.candidate.place / "roles"
    own_cluster = context.spec.blueprint.cluster == "new"
    if kind is BlueprintKind.BOX and not own_cluster:
        reason, fix = "cluster applies to clusters, and this stack is a box", "remove it, or set kind to training-cluster"
        yield Problem("C-cluster", reason, At() / "blueprint" / "cluster", fix)
    for name, used in (("cluster", kind is not BlueprintKind.BOX and own_cluster), ("nodes", kind is not BlueprintKind.BOX)):
        if roles and getattr(roles, name) is not None and not used:
            yield Problem("C-roles", f"roles.{name} is set, but this stack does not use it", at / name, "remove it")
