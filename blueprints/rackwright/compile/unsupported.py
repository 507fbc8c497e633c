"""What a path of this release cannot build, said before anything is compiled, each with what can be done instead."""

from collections.abc import Iterator
from ipaddress import IPv4Network

from rackwright.clouds import profile, supports
from rackwright.compile.aws_options import existing_cluster
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.network.addresses import LARGEST
from rackwright.compile.network.place import zone_of
from rackwright.compile.nodes.capacity import capacity_plan, has_started
from rackwright.compile.operators.versions import NO_BOX_IMAGE
from rackwright.compile.serving.neuron import neuron_refusals
from rackwright.diagnostics.problem import At, Problem
from rackwright.spec.blueprint import Nodes
from rackwright.spec.workload import Serve
from rackwright.stackplan import BlueprintKind

MACHINES = {
    BlueprintKind.BOX: ("gpu", "neuron", "cpu"),
    BlueprintKind.TRAINING_CLUSTER: ("gpu", "neuron"),
    BlueprintKind.INFERENCE_FLEET: ("gpu", "neuron"),
    BlueprintKind.TPU_POD: ("tpu",),
}
"""Kinds of machine each blueprint is made of."""
LEAST_BOX_PREFIX, LEAST_CLUSTER_PREFIX = 27, 23
"""A box is a /28 beside a public one; a cluster's machines share their zone with its control plane's interfaces, endpoints and operators,
some forty addresses, a /26 of the quarter that control-1 is of the lower half."""
VPC_SIZES = "https://docs.aws.amazon.com/vpc/latest/userguide/vpc-cidr-blocks.html"
WORKLOAD = At() / "workloads" / 0


def unsupported_problems(context: CompileContext, kind: BlueprintKind) -> list[Problem]:
    """Every reason why `kind` cannot be built from the draft; empty when it can."""
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
    if machine.kind not in MACHINES[kind]:
        able = " or ".join(name.upper() if len(name) == 3 else name.title() for name in MACHINES[kind])
        reason = f"a {kind} is made of {able} machines, and {chosen.machine} is {machine.kind}"
        yield Problem("C-machine", reason, At() / "blueprint" / "kind", "leave it at auto, or choose another candidate")
    if kind is BlueprintKind.BOX:
        yield from _one_machine(context)
    elif context.spec.blueprint.ssh_from != "nobody":
        reason = f"SSH opens on a box, and this is a {kind}"
        yield Problem("C-ssh", reason, At() / "blueprint" / "ssh_from", "leave it out; a node is reached through Session Manager")
    if context.spec.blueprint.storage not in ("auto", "none") and kind is not BlueprintKind.TRAINING_CLUSTER:
        fix = "leave it at auto: a bucket is used"
        yield Problem("C-storage", f"this release has no Lustre on a {kind}", At() / "blueprint" / "storage", fix)


def _one_machine(context: CompileContext) -> Iterator[Problem]:
    """What makes a machine no box: more than one of it, no name to order it by, no image that starts it."""
    chosen, machine = context.candidate, context.machine
    if chosen.nodes != 1 or machine.unit_nodes != 1:
        count = chosen.nodes * machine.unit_nodes
        reason = f"a box is one machine, and {chosen.label} has {count}"
        yield Problem("C-nodes", reason, At() / "blueprint" / "kind", "leave it at auto, or pin a larger machine")
    if len(context.place.capacity.fallback) > 1:
        at = At() / "infra" / ("any_of" if context.spec.infra.any_of else "ordered") / chosen.place / "capacity" / "fallback"
        yield Problem("C-fallback", "a box is one machine, bought one way", at, "write `ordered`: the first entry that fits is taken")
    plan = capacity_plan(context)
    if plan.drains_at and not has_started(plan, context):
        reason = f"a box starts at once, and the machines of {plan.reservation_id} are there from {plan.starts_at}"
        yield Problem(
            "C-block", reason, At() / "blueprint" / "kind", "build it then, or as a training-cluster, whose pool fills at the start"
        )
    if context.spec.blueprint.pools != "auto":
        yield Problem("C-pools", "a box has no pools", At() / "blueprint" / "pools", "leave it at auto")
    if not machine.orderable:
        inside = f"only inside {machine.unit_machine}" if machine.unit_machine else "no name to order it by is published"
        yield Problem("C-machine", f"{machine.name} is not sold by itself: {inside}", WORKLOAD, "choose another candidate")
    if machine.family in NO_BOX_IMAGE:
        reason = f"no image starts {machine.name}: {NO_BOX_IMAGE[machine.family]}"
        yield Problem("C-image", reason, At() / "blueprint" / "kind", "choose another candidate")


def _workload(context: CompileContext, kind: BlueprintKind) -> Iterator[Problem]:
    serves, fleet = isinstance(context.spec.workload, Serve), kind is BlueprintKind.INFERENCE_FLEET
    if serves != fleet and not (serves and kind is BlueprintKind.BOX):
        reason = f"a {kind} does not run a workload of kind {context.spec.workload.kind}"
        yield Problem("C-workload", reason, At() / "blueprint" / "kind", "leave it at auto")
    if len(context.spec.workloads) > 1:
        yield Problem("C-many", "this release builds one workload per stack", At() / "workloads", "give each a stack of its own")


def _fleet(context: CompileContext, kind: BlueprintKind) -> Iterator[Problem]:
    workload = context.spec.workload
    if kind is not BlueprintKind.INFERENCE_FLEET or not isinstance(workload, Serve):
        return
    if workload.scale_to_zero or workload.min_replicas == 0:
        reason = "a fleet at zero replicas needs a signal from something that stays up, and the server's own queue vanishes with its pods"
        yield Problem("V-92", reason, WORKLOAD / "scale_to_zero", "leave min_replicas at 1 or more")
    if (
        not supports(context.candidate.cloud, "serve.multi_node")
        and context.candidate.parallelism.accelerators > context.candidate.accelerators_per_node
    ):
        reason = (
            f"this release serves replicas that fit one machine, and one needs {context.candidate.parallelism.accelerators} accelerators"
        )
        yield Problem("C-wide-replica", reason, WORKLOAD, "pin a machine with as many, or quantize the weights")
    if workload.engine not in ("auto", "vllm"):
        yield Problem("C-engine", f"this release runs vLLM, not {workload.engine}", WORKLOAD / "engine", "leave it at auto")
    if context.machine.kind == "neuron":
        yield from neuron_refusals(context)


def _nodes(context: CompileContext, kind: BlueprintKind) -> Iterator[Problem]:
    nodes, at, machine = context.spec.blueprint.nodes, At() / "blueprint" / "nodes", context.machine
    if kind is BlueprintKind.BOX and nodes != Nodes():
        yield Problem(
            "C-node-setup", "a box is no node of a cluster, and has an image of its own", at, "leave it out, or ask for a cluster"
        )
    if kind is BlueprintKind.TRAINING_CLUSTER and nodes.provisioner == "karpenter":
        reason = "machines that train together start together, in node groups: Karpenter makes them one by one"
        yield Problem("C-provisioner", reason, at / "provisioner", "leave it at auto")
    if kind is BlueprintKind.INFERENCE_FLEET and nodes.provisioner == "karpenter" and existing_cluster(context):
        reason = "on a cluster that exists Karpenter is its owner's, and may not hand out a role of this stack's"
        yield Problem("C-provisioner", reason, at / "provisioner", "leave it at auto: node groups are added to it")
    if kind is not BlueprintKind.BOX and nodes.devices == "dra" and not machine.efa_interfaces:
        yield Problem("C-devices", f"{machine.name} has no EFA interfaces to claim", at / "devices", "leave it at plugin")


def _network(context: CompileContext, kind: BlueprintKind) -> Iterator[Problem]:
    order = "any_of" if context.spec.infra.any_of else "ordered"
    place = At() / "infra" / order / context.candidate.place
    network = context.place.network
    if network.existing and not network.existing.subnets:
        at, reason = place / "network" / "existing" / "subnets", "an existing network needs its subnets"
        fix = (
            "describe the private ones: {id: subnet-..., zone: ..., use: nodes}"
            if supports(context.place.cloud, "blueprint.cluster")
            else "name at least one"
        )
        link = profile(context.place.cloud).links.get("subnets", "")
        yield Problem("C-subnets", reason, at, fix, link=link)
    if network.existing and kind is BlueprintKind.BOX and not zone_of(context):
        reason = "a box's data volume is made in the zone of its subnet, which only you know"
        yield Problem("C-zone", reason, place / "zones", "name the zone of the first subnet")
    if network.existing and network.cidr:
        yield Problem("C-cidr", "a network that exists has its addresses", place / "network" / "cidr", "leave it out")
    elif network.cidr:
        yield from _addresses(network.cidr, kind, place / "network" / "cidr")


def _addresses(cidr: str, kind: BlueprintKind, at: At) -> Iterator[Problem]:
    """https://docs.aws.amazon.com/vpc/latest/userguide/vpc-cidr-blocks.html"""
    whole, least = IPv4Network(cidr), LEAST_BOX_PREFIX if kind is BlueprintKind.BOX else LEAST_CLUSTER_PREFIX
    if whole.prefixlen < LARGEST:
        fix = f"{next(whole.subnets(new_prefix=LARGEST))} is the largest of it that AWS makes"
        yield Problem("C-cidr", f"a network of AWS is a /{LARGEST} at most, and {cidr} is larger", at, fix, link=VPC_SIZES)
    if whole.prefixlen > least:
        fix = f"{whole.supernet(new_prefix=least)} is the smallest around it that does"
        yield Problem("C-cidr", f"{cidr} does not hold the subnets of a {kind}", at, fix, link=VPC_SIZES)


def _existing(context: CompileContext, kind: BlueprintKind) -> Iterator[Problem]:
    """What exists and is named where nothing would use it."""
    order = "any_of" if context.spec.infra.any_of else "ordered"
    roles, at = context.place.roles, At() / "infra" / order / context.candidate.place / "roles"
    own_cluster = context.spec.blueprint.cluster == "new"
    if kind is BlueprintKind.BOX and not own_cluster:
        yield Problem("C-cluster", "a box has no cluster", At() / "blueprint" / "cluster", "leave it out, or set kind: training-cluster")
    for name, used in (("cluster", kind is not BlueprintKind.BOX and own_cluster), ("nodes", kind is not BlueprintKind.BOX)):
        if roles and getattr(roles, name) is not None and not used:
            yield Problem("C-roles", f"nothing here takes the role of the {name}", at / name, "leave it out")
