"""Paths of a StackPlan -> paths of the spec they were compiled from, with line and column, so that a problem points into the user's file.

in_spec(check(stack), spec, fit.candidate.place, stack, text)
"""

from collections.abc import Iterable
from dataclasses import replace

from rackwright.clouds import profile
from rackwright.diagnostics.problem import At, Problem
from rackwright.diagnostics.redaction import Redaction
from rackwright.spec.infra import CapacityBlock, CapacityEntry, Reservation, existing_capacity
from rackwright.spec.reading.tree import YamlNode, parse
from rackwright.spec.spec import Spec
from rackwright.stackplan import CapacityPlan, StackPlan

BY_CODE = {"V-115": "{place}.quotas"}
"""Problems whose cause is not the value at their path: the account's quota, not the pools."""
ORIGINS = {
    stack: spec
    for spec, stacks in {
        "{place}": "place pools",
        "{place}.inventory": "installed",
        "{place}.regions": "place.region",
        "{place}.zones": "place.zone place.zone_assumed place.control_zones lustre.zone box.zone pools.*.zones extra_pools.*.zones",
        "{account}": "place.account",
        "{place}.role": "place.role_arn",
        "{place}.permissions_boundary": "place.boundary_arn",
        "{place}.network": "network",
        "{place}.network.cidr": "network.cidr",
        "{subnets}": "network.subnets network.existing_subnet_ids",
        "{subnets}.cidr": "network.subnets.*.cidr",
        "{subnets}.zone": "network.subnets.*.zone",
        "{subnets}.use": "network.subnets.*.purpose",
        "{subnets}.pods": "network.subnets.*.secondary network.subnets.*.range_names",
        "{place}.network.existing.vpc": "network.existing_id",
        "blueprint.safety.flow_logs": "network.flow_logs",
        "blueprint.safety.private_endpoints": "network.private_endpoints",
        "{place}.key": "key",
        "workloads[0]": "buckets manifests",
        "{place}.network.existing.subnet_users": "network.host_project",
        "workloads[0].data.uri": "buckets.data lustre.imports",
        "workloads[0].checkpoint.uri": "buckets.checkpoints lustre.exports",
        "workloads[0].model.weights.uri": "buckets.weights",
        "blueprint.storage": "lustre",
        "blueprint.storage.lustre.capacity": "lustre.capacity_gib",
        "blueprint.storage.lustre.throughput": "lustre.throughput_mb_s_per_tib lustre.throughput_mb_s",
        "blueprint.storage.lustre.tiering": "lustre.kind",
        "blueprint.storage.lustre.efa": "lustre.rdma",
        "workloads[0].run": "identities box.setup_script",
        "{place}.roles.workload": "identities.*.existing_arn",
        "blueprint.kind": "box",
        "{place}.pin.instance": "box.machine pools.*.machine",
        "{capacity}": "box.capacity pools.*.capacity",
        "blueprint.ssh_from": "box.ingress",
        "blueprint.ssh_from[*]": "box.ingress.*",
        "blueprint.safety.idle_alarm": "box.idle_stop_minutes guard.idle_minutes guard.idle_cpu_percent",
        "workloads[0].data": "box.data",
        "blueprint.cluster": "cluster",
        "name": "cluster.name",
        "blueprint.cluster.name": "cluster.existing",
        "blueprint.cluster.location": "cluster.location",
        "blueprint.api_access": "cluster.private_api cluster.public_api cluster.runner_inside",
        "blueprint.api_access.cidrs": "cluster.api_cidrs",
        "blueprint.api_access.cidrs[*]": "cluster.api_cidrs.*",
        "blueprint.admins": "cluster.admins cluster.creator_access",
        "blueprint.admins[*]": "cluster.admins.*",
        "blueprint.viewers": "cluster.viewers",
        "blueprint.viewers[*]": "cluster.viewers.*",
        "blueprint.safety.audit_logs": "cluster.audit_logs",
        "blueprint.pod_logs": "cluster.pod_logs",
        "{place}.roles.cluster": "cluster.control_role_arn",
        "{place}.roles.nodes": "cluster.node_role_arn",
        "{place}.pin.topology": "pools.*.topology",
        "{nodes}": "pools.*.nodes_min pools.*.nodes_max pools.*.nodes_start",
        "blueprint.nodes.image": "pools.*.image pools.*.image_id pins.images",
        "blueprint.nodes.provisioner": "pools.*.provisioner pools.*.autoscaled karpenter",
        "blueprint.nodes.devices": "pools.*.devices",
        "blueprint.nodes.interfaces": "pools.*.nics expected_fabric",
        "blueprint.nodes.placement_group": "pools.*.adjacent",
        "blueprint.nodes": "pools.*.disk",
        "blueprint.pools[*]": "extra_pools.*",
        "blueprint.pools[*].name": "extra_pools.*.name",
        "blueprint.pools[*].instance": "extra_pools.*.machine",
        "blueprint.pools[*].at_least": "extra_pools.*.nodes_min extra_pools.*.nodes_start",
        "blueprint.pools[*].nodes": "extra_pools.*.nodes_max",
        "blueprint.pools[*].capacity": "extra_pools.*.capacity",
        "workloads[0].team": "namespaces",
        "workloads[0].run.image": "manifests.*.body.spec.template.spec.containers.*.image",
        "workloads[0].min_replicas": "manifests.*.body.spec.minReplicaCount",
        "workloads[0].max_replicas": "manifests.*.body.spec.maxReplicaCount",
        "workloads[0].name": "manifests.*.body.metadata.name",
        "blueprint": "addons releases services layers below pins",
        "blueprint.ttl": "expires_on guard.expires_on guard.reminders",
        "blueprint.notify": "guard",
        "goals.max_cost": "guard.budget_usd_per_month",
        "blueprint.safety.deletion_protection": "protected",
    }.items()
    for stack in stacks.split()
}
"""Path of a stack, indexes as `*` -> path of the spec; written as spec path: paths of the values compiled from it. The longest prefix of a
path decides, and `[*]` takes its index. {place} is the chosen entry of infra. Buckets are found by their key; pools of `blueprint.pools`
are `extra_pools`."""
CAPACITY_KEYS = {"reservation_id": "id", "group_arn": "group", "machine": "instance", "zone": "zone", "count": "count"}
CAPACITY_KEYS |= {"local_ssds": "local_ssds", "starts_at": "start", "ends_at": "end", "drains_at": "end"}
"""Field of a CapacityPlan -> key of the block or reservation."""


def in_spec(problems: Iterable[Problem], spec: Spec, place: int, stack: StackPlan | None = None, text: str = "") -> tuple[Problem, ...]:
    """The problems with paths of the spec, and line and column where `text` has them. Secrets of the text are hidden.

    place: index of the chosen infra entry. stack: what was compiled, None where compilation failed. text: content of the spec file, ""
    for a spec that was not read from a file. A path of the stack remains as `stack_at`. A path of the spec only gets its line and column.
    """
    problems = tuple(problems)
    if not problems:
        return problems
    tree = parse(text, "")[0] if text else None
    found = tuple(_located(problem, spec, place, stack, tree) for problem in problems)
    return Redaction(text).problems(found) if text else found


def spec_path(at: At, spec: Spec, place: int, stack: StackPlan) -> At:
    """The path in the spec that decides the value at `at` of a stack."""
    steps = _named(at, spec, stack)
    for length in range(len(steps), 0, -1):
        if template := ORIGINS.get(".".join("*" if isinstance(step, int) else step for step in steps[:length])):
            return _fill(template, at, steps, spec, place, stack)
    return at


def _located(problem: Problem, spec: Spec, place: int, stack: StackPlan | None, tree: YamlNode | None) -> Problem:
    if problem.mark:
        return problem
    at = problem.at
    if stack and problem.code in BY_CODE:
        at = _fill(BY_CODE[problem.code], at, (), spec, place, stack)
    elif stack and at.steps:
        at = spec_path(at, spec, place, stack)
    moved = replace(problem, at=at, stack_at=problem.at) if at != problem.at else problem
    return moved.with_mark(tree.nearest(at)) if tree and (at.steps or stack) else moved


def _named(at: At, spec: Spec, stack: StackPlan) -> tuple[str | int, ...]:
    """The steps with a bucket's key in place of its index, and a pool of the spec as `extra_pools` with its index there."""
    match at.steps:
        case ("buckets", int(index), *rest):
            return ("buckets", stack.buckets[index].key.partition("-")[0], *rest)
        case ("pools", int(index), *rest) if spec.blueprint.pools != "auto":
            names = [pool.name for pool in spec.blueprint.pools]
            name = stack.pools[index].name
            return ("extra_pools", names.index(name), *rest) if name in names else at.steps
    return at.steps


def _fill(template: str, at: At, steps: tuple[str | int, ...], spec: Spec, place: int, stack: StackPlan) -> At:
    entry = At() / "infra" / ("any_of" if spec.infra.any_of else "ordered") / place
    indexes = [step for step in steps if isinstance(step, int)]
    made = At()
    for part in template.split("."):
        name, bracket, index = part.partition("[")
        if name == "{place}":
            made = entry
        elif name == "{account}":
            made = entry / profile(stack.place.cloud).owner_field
        elif name == "{subnets}":
            made, exists = _subnets(entry, indexes, spec, place)
            if not exists:
                break
        elif name == "{nodes}":
            made = (
                At() / "workloads" / _workload(at, spec, stack) / "max_replicas"
                if spec.workload.kind == "serve"
                else entry / "pin" / "nodes"
            )
        elif name == "{capacity}":
            made = _capacity(entry / "capacity", at, spec, place, stack)
        else:
            made = made / name
        if bracket:
            own = _workload(at, spec, stack) if name == "workloads" else int(index.removesuffix("]").replace("*", "0"))
            made = made / (indexes[0] if index == "*]" else own)
    return made


def _workload(at: At, spec: Spec, stack: StackPlan) -> int:
    """Index of the workload whose pool, bucket, identity or object is at a path of the stack.

    Names of parts of the workloads after the first end with the workload's name.
    """
    names: tuple[str, ...] = ()
    match at.steps:
        case ("pools", int(index), *_):
            names = (stack.pools[index].name,)
        case ("buckets" | "identities" as part, int(index), *_):
            names = (getattr(stack, part)[index].key,)
        case ("manifests", int(index), *_):
            names = tuple(stack.manifests[index].key.split("."))
    ends = ((i, (workload.name, f"-{workload.name}")) for i, workload in enumerate(spec.workloads) if i)
    return next((i for i, (own, end) in ends if any(name == own or name.endswith(end) for name in names)), 0)


def _subnets(entry: At, indexes: list[int], spec: Spec, place: int) -> tuple[At, bool]:
    """Where a subnet comes from, and whether it exists: those that are made are cut from the network's own addresses."""
    existing = spec.infra.places[place].network.existing
    if existing is None:
        return entry / "network" / "cidr", False
    listed = entry / "network" / "existing" / "subnets"
    return (listed / indexes[0] if indexes and indexes[0] < len(existing.subnets) else listed), True


def _capacity(at: At, stack_at: At, spec: Spec, place: int, stack: StackPlan) -> At:
    """The entry of `capacity` that a box or pool is bought by, and the key of it where it is a block or reservation."""
    pool, index = stack_at.steps[0], stack_at.steps[1]
    bought = (
        stack.pools[index].capacity if pool == "pools" and isinstance(index, int) else stack.box.capacity if stack.box else CapacityPlan()
    )
    capacity = spec.infra.places[place].capacity
    listed = at / ("ordered" if capacity.ordered else "fallback")
    number = next((i for i, entry in enumerate(capacity.ordered or capacity.fallback) if _is_bought(entry, bought)), None)
    if number is None:
        return listed
    entry = (capacity.ordered or capacity.fallback)[number]
    thing = existing_capacity(entry)
    if thing is None:
        return listed / number
    form = listed / number / ("capacity_block" if isinstance(thing, CapacityBlock) else "reservation")
    key = CAPACITY_KEYS.get(str(stack_at.steps[-1]))
    return form / key if key and getattr(thing, key, None) is not None else form


def _is_bought(entry: CapacityEntry, bought: CapacityPlan) -> bool:
    thing = existing_capacity(entry)
    if thing is None:
        return entry == bought.mode
    return (bought.reservation_id or bought.group_arn) in (thing.id, thing.group if isinstance(thing, Reservation) else None)
