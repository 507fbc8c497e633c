"""Queue `system` for jobs without accelerators: they run on system nodes, or own servers without GPUs; the queue `default` refuses them."""

from collections.abc import Sequence

from rackwright.catalog.read import Catalog
from rackwright.compile.kubernetes.manifests import Body, obj
from rackwright.compile.nodes.allocatable import cpus_for_jobs, cpus_left, memory_gib_for_jobs, memory_gib_left
from rackwright.compile.operators.capacity_check import AFTER_KUEUE, API
from rackwright.compile.operators.queues import DEFAULT_QUEUE, SYSTEM, cluster_queue, local_queue
from rackwright.spec.inventory import ServerGroup
from rackwright.stackplan import ManifestPlan, PoolPlan
from rackwright.stackplan.labels import ROLE_LABEL, SYSTEM_LABEL

JOB_NODES = 1
"""System nodes whose resources jobs may use, of two: assumed, so that operators keep those of the other."""
DEFAULT_REQUESTS = {"cpu": "500m", "memory": "1Gi"}
"""Of containers without requests, which would count as nothing in a queue: assumed."""
POLICY = "accelerator-jobs"
ADMISSION = "admissionregistration.k8s.io/v1"


def system_queue(catalog: Catalog, cloud: str, system: PoolPlan, resources: tuple[str, ...], namespace: str) -> tuple[ManifestPlan, ...]:
    """Flavor and queue of the system nodes, and the policy for `default`. resources: of accelerators, such as nvidia.com/gpu."""
    machine = catalog.machine(system.machine)
    each = cpus_for_jobs(machine), memory_gib_for_jobs(machine, system, cloud)
    return _system_objects({"nodeLabels": {ROLE_LABEL: system.role}}, each, JOB_NODES, resources, namespace)


def own_system_queue(groups: Sequence[ServerGroup], cloud: str, resources: tuple[str, ...], namespace: str) -> tuple[ManifestPlan, ...]:
    """The same for own servers without GPUs, which have the label SYSTEM_LABEL; nothing where the cluster has none.

    groups: of servers without GPUs. The queue has as much of each server as the smallest has, and none of one server, for operators.
    """
    if not groups:
        return ()
    each = min(cpus_left(group.cpus) for group in groups), min(memory_gib_left(group.memory, cloud) for group in groups)
    taints = {(taint.key, taint.value, taint.effect) for group in groups for taint in group.taints}
    tolerations = [{"key": key, "operator": "Equal", "value": value, "effect": effect} for key, value, effect in sorted(taints)]
    flavor = {"nodeLabels": {SYSTEM_LABEL: "true"}} | ({"tolerations": tolerations} if tolerations else {})
    nodes = max(1, sum(len(group.nodes) for group in groups) - 1)
    return _system_objects(flavor, each, nodes, resources, namespace)


def _system_objects(
    flavor: Body, each: tuple[int, int], nodes: int, resources: tuple[str, ...], namespace: str
) -> tuple[ManifestPlan, ...]:
    """each: (CPUs, memory GiB) of a node for jobs. nodes: whose resources jobs may use."""
    cpus, memory_gib = each
    nominal: dict[str, int | str] = {"cpu": nodes * cpus, "memory": f"{nodes * memory_gib}Gi"}
    return (
        ManifestPlan(f"queue.flavor.{SYSTEM}", obj(API, "ResourceFlavor", SYSTEM, spec=flavor), AFTER_KUEUE),
        cluster_queue(nominal, namespace, SYSTEM, SYSTEM),
        local_queue(namespace, SYSTEM, SYSTEM),
        *_accelerator_jobs(resources, namespace),
    )


def default_requests(namespace: str) -> ManifestPlan:
    """Requests of containers without any, which Kueue counts too (kueue.sigs.k8s.io/docs/concepts/workload/#limit-ranges)."""
    limits = [{"type": "Container", "defaultRequest": DEFAULT_REQUESTS}]
    return ManifestPlan(f"limits.{namespace}", obj("v1", "LimitRange", "requests", namespace, {"limits": limits}))


def _accelerator_jobs(resources: tuple[str, ...], namespace: str) -> tuple[ManifestPlan, ...]:
    """Policy: jobs in `default` request accelerators, because its flavor puts them on accelerator nodes.

    Kueue adds the queue `default` to jobs without a queue; policies see the job after it. The API server evaluates it, without a webhook
    (https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/).
    """
    label, rules = "kueue.x-k8s.io/queue-name", [("batch", "jobs"), ("jobset.x-k8s.io", "jobsets")]
    queued = f"has(object.metadata.labels) && '{label}' in object.metadata.labels && object.metadata.labels['{label}'] == '{DEFAULT_QUEUE}'"
    needed = f"Queue {DEFAULT_QUEUE} starts accelerator nodes, but no container requests {' or '.join(resources)}"
    matched = [{"apiGroups": [group], "apiVersions": ["*"], "operations": ["CREATE"], "resources": [kind]} for group, kind in rules]
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "resourceRules": matched,
        },
        "matchConditions": [{"name": "default-queue", "expression": queued}],
        "validations": [{"expression": _requests_any(resources), "message": f"{needed}; label the job with {label}: {SYSTEM}"}],
    }
    policy = obj(ADMISSION, "ValidatingAdmissionPolicy", POLICY, spec=spec)
    bound = obj(ADMISSION, "ValidatingAdmissionPolicyBinding", POLICY, spec={"policyName": POLICY, "validationActions": ["Deny"]})
    return ManifestPlan("queue.policy", policy), ManifestPlan("queue.policy.binding", bound, ("queue.policy",))


def _requests_any(resources: tuple[str, ...]) -> str:
    """CEL: a container of a Job or JobSet requests one of the resources, or a claim."""
    parts = (f"has(c.resources.{part}) && ({_in_any(resources, f'c.resources.{part}')})" for part in ("requests", "limits"))
    device = f"has(c.resources) && ({' || '.join(f'({part})' for part in parts)} || has(c.resources.claims))"
    job_set = "object.spec.replicatedJobs.map(r, r.template.spec.template.spec)"
    pods = f"(has(object.spec.replicatedJobs) ? {job_set} : [object.spec.template.spec])"
    return f"{pods}.exists(p, p.containers.exists(c, {device}))"


def _in_any(resources: tuple[str, ...], amounts: str) -> str:
    return " || ".join(f"'{resource}' in {amounts}" for resource in resources)
