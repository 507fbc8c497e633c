"""Model servers: replicas and their accelerators, autoscaling, probes, disruption budgets and load balancers."""

import re
from collections.abc import Iterator
from math import ceil, prod

from rackwright.catalog.read import Catalog
from rackwright.clouds import profile
from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import StackPlan
from rackwright.stackplan.labels import EFA_RESOURCE, LOAD_SECONDS_ANNOTATION, RESOURCES, SERVER_PORT
from rackwright.validation.stack.registry import accelerators, catalog_rule, manifests, pod_templates, rule

KEDA = "https://keda.sh/docs/latest/reference/scaledobject-spec/"
LWS = "https://lws.sigs.k8s.io/docs/concepts/"
POOLS = "https://gateway-api-inference-extension.sigs.k8s.io/api-types/inferencepool/"
BALANCERS = "https://docs.aws.amazon.com/eks/latest/userguide/network-load-balancing.html"
ANY_ADDRESS = re.compile(r".+/0")
PODS_MAX = 2**31 - 1
PORTS_MAX = 8
PARALLEL = ("tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size")
"""Arguments of vLLM whose product is the accelerators of a replica."""


@rule("V-90", Level.ERROR, LWS, invariant=True)
def leader_worker_set_size(plan: StackPlan) -> Iterator[Violation]:
    """A LeaderWorkerSet has at least one pod per group, and its subgroup size divides the group with or without the leader."""
    for at, manifest in manifests(plan, "LeaderWorkerSet"):
        spec = manifest.body["spec"]
        template = spec["leaderWorkerTemplate"]
        size, policy = template.get("size", 1), template.get("subGroupPolicy", {})
        place = at / "spec" / "leaderWorkerTemplate"
        name = manifest.body["metadata"]["name"]
        if size < 1 or size * spec.get("replicas", 1) > PODS_MAX:
            message = f"LeaderWorkerSet {name} has groups of {size} pods; the total must be 1 to {PODS_MAX:,} pods"
            yield Violation(place / "size", "set it to the machines of a replica", message)
        subgroup = policy.get("subGroupSize")
        without_leader = policy.get("subGroupPolicyType") == "LeaderExcluded"
        if subgroup and not (subgroup <= size and ((size - 1) % subgroup == 0 or (not without_leader and size % subgroup == 0))):
            pods = size - 1 if without_leader else size
            message = f"A subgroup size of {subgroup} does not divide the {pods} pods of a group of {name}"
            yield Violation(place / "subGroupPolicy" / "subGroupSize", f"use a divisor of {pods}", message)


@catalog_rule("V-91", Level.ERROR, "https://docs.vllm.ai/en/stable/serving/parallelism_scaling/")
def replica_has_accelerators(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """The pods of a replica request as many accelerators as its engine splits the model over."""
    devices = {*RESOURCES.values(), *(pool.pod_resource for _, pool in accelerators(plan))}
    for at, manifest, template in pod_templates(plan):
        size = manifest.body["spec"].get("leaderWorkerTemplate", {}).get("size", 1)
        for index, container in enumerate(template["spec"]["containers"]):
            given = [a.removeprefix("--").split("=", 1) for a in container.get("args", []) if a.startswith("--") and "=" in a]
            split, limits = prod(int(value) for name, value in given if name in PARALLEL), container["resources"]["limits"]
            requested, cores = size * sum(int(limits.get(resource, 0)) for resource in devices), _cores(plan, catalog, limits)
            enough = split <= requested * cores if cores else split == requested
            if any(name in PARALLEL for name, _ in given) and not enough:
                unit, available = ("cores", f"{requested} devices of {cores} cores") if cores else ("accelerators", f"{requested}")
                name = f"{manifest.body['kind']} {manifest.body['metadata']['name']}"
                message = f"The arguments of {name} split the model over {split} {unit}, but its pods request {available}"
                yield Violation(at / "spec" / "containers" / index / "args", f"request {ceil(split / (cores or 1))}", message)


def _cores(plan: StackPlan, catalog: Catalog, limits: dict[str, str]) -> int:
    """Cores per Neuron device that a pod requests; an engine may use fewer. 0 for pods without Neuron devices."""
    neuron = RESOURCES["neuron"]
    devices = [pool.accelerator for _, pool in accelerators(plan) if pool.resource == neuron]
    rows = [catalog.accelerator_by_name.get(name.lower()) for name in devices]
    return min(((row.neuron_cores if row else None) or 0 for row in rows), default=0) if neuron in limits else 0


@rule("V-92", Level.ERROR, KEDA)
def scaler_bounds(plan: StackPlan) -> Iterator[Violation]:
    """A scaler's minimum is at most its maximum; scaling to zero requires a metric that does not come from the scaled pods."""
    for at, manifest in manifests(plan, "ScaledObject"):
        spec = manifest.body["spec"]
        low, high, idle = spec.get("minReplicaCount", 0), spec["maxReplicaCount"], spec.get("idleReplicaCount")
        if low > high:
            message = f"`min_replicas` ({low}) exceeds `max_replicas` ({high})"
            yield Violation(at / "spec" / "minReplicaCount", f"set it to {high} or less", message)
        if idle is not None and idle >= low:
            message = f"idleReplicaCount ({idle}) must be less than minReplicaCount ({low})"
            yield Violation(at / "spec" / "idleReplicaCount", "remove it", message)
        own = f'service="{spec["scaleTargetRef"]["name"]}'
        own_metrics = all(own in str(t.get("metadata", {}).get("query", "")) for t in spec["triggers"])
        if (low == 0 or idle == 0) and own_metrics:
            message = "Scaling from 0 never starts: every trigger reads metrics of the server, which has no pods then"
            yield Violation(at / "spec" / "minReplicaCount", "set it to 1, or add a trigger on the gateway", message)


@rule("V-93", Level.ERROR, KEDA, invariant=True)
def one_scaler_per_target(plan: StackPlan) -> Iterator[Violation]:
    """A target has one scaler, because two would set different numbers of replicas."""
    seen: dict[tuple[str, str, str], str] = {}
    for at, manifest in manifests(plan, "ScaledObject", "HorizontalPodAutoscaler"):
        target = manifest.body["spec"]["scaleTargetRef"]
        key = (manifest.body["metadata"].get("namespace", ""), target.get("kind", "Deployment"), target["name"])
        if key in seen:
            message = f"{key[1]} {key[2]} has two scalers: {seen[key]} and {manifest.key}"
            yield Violation(at / "spec" / "scaleTargetRef", "keep one", message)
        seen.setdefault(key, manifest.key)


@rule("V-94", Level.ERROR, POOLS, invariant=True)
def inference_pool_is_complete(plan: StackPlan) -> Iterator[Violation]:
    """An InferencePool has one to eight different ports, an endpoint picker with port and failure mode, and selects existing pods."""
    labels = [template["metadata"]["labels"] for _, _, template in pod_templates(plan)]
    for at, manifest in manifests(plan, "InferencePool"):
        spec, name = manifest.body["spec"], manifest.body["metadata"]["name"]
        ports = [port["number"] for port in spec.get("targetPorts", [])]
        if not 1 <= len(ports) <= PORTS_MAX or len({*ports}) < len(ports):
            message = f"InferencePool {name} has target ports {ports}; 1 to {PORTS_MAX} different ones are required"
            yield Violation(at / "spec" / "targetPorts", f"set it to {SERVER_PORT}", message)
        picker = spec.get("endpointPickerRef", {})
        if not picker.get("port"):
            message = f"InferencePool {name} has an endpoint picker without a port"
            yield Violation(at / "spec" / "endpointPickerRef" / "port", "set it", message)
        if not picker.get("failureMode"):
            message = f"InferencePool {name} sets no failureMode, and the defaults of chart and API differ"
            yield Violation(at / "spec" / "endpointPickerRef" / "failureMode", "set FailOpen or FailClose", message)
        selector = spec.get("selector", {}).get("matchLabels", {})
        if not any(selector.items() <= found.items() for found in labels):
            message = f"InferencePool {name} selects {selector}, which no pod has"
            yield Violation(at / "spec" / "selector", "select the labels of the server's pods", message)


@rule("V-95", Level.WARNING, "https://kubernetes.io/docs/tasks/run-application/configure-pdb/", invariant=True)
def disruption_budget_allows_upgrades(plan: StackPlan) -> Iterator[Violation]:
    """A disruption budget allows at least one disruption, so that nodes can be upgraded."""
    low = min((m.body["spec"].get("minReplicaCount", 0) for _, m in manifests(plan, "ScaledObject")), default=None)
    for at, manifest in manifests(plan, "PodDisruptionBudget"):
        spec = manifest.body["spec"]
        available = spec.get("minAvailable")
        if spec.get("maxUnavailable") == 0 or available == "100%" or (low is not None and isinstance(available, int) and available >= low):
            message = f"Disruption budget {manifest.body['metadata']['name']} allows no disruption, which blocks node upgrades"
            yield Violation(at / "spec", "set maxUnavailable to 1", message)


@rule("V-96", Level.ERROR, "https://kubernetes.io/docs/concepts/configuration/liveness-readiness-startup-probes/", invariant=True)
def startup_probe_allows_loading(plan: StackPlan) -> Iterator[Violation]:
    """The start-up probe waits at least as long as the model needs to load; otherwise Kubernetes restarts the server again and again."""
    for at, _, template in pod_templates(plan):
        load_s = float(template["metadata"].get("annotations", {}).get(LOAD_SECONDS_ANNOTATION, 0))
        for index, container in enumerate(template["spec"]["containers"]):
            probe = container.get("startupProbe")
            waits_s = probe.get("failureThreshold", 3) * probe.get("periodSeconds", 10) if probe else 0
            if container.get("ports") and waits_s < load_s:
                failures = ceil(load_s / (probe or {}).get("periodSeconds", 10))
                message = f"The start-up probe waits {waits_s} s, but the model needs {load_s:.0f} s to load"
                yield Violation(at / "spec" / "containers" / index / "startupProbe", f"set failureThreshold to {failures}", message)


@rule("R-52", Level.ERROR, "https://docs.aws.amazon.com/eks/latest/userguide/node-efa.html", invariant=True)
def multi_node_replicas_use_efa(plan: StackPlan) -> Iterator[Violation]:
    """Pods of a replica that spans EFA machines request EFA and the capability IPC_LOCK in a privileged namespace; otherwise they use TCP
    without an error."""
    if not any(pool.nics for _, pool in accelerators(plan)):
        return
    namespaces = {manifest.body["metadata"]["namespace"] for _, manifest, _ in pod_templates(plan)}
    for index, (name, level) in enumerate(plan.namespaces):
        if name in namespaces and level != "privileged":
            message = f"Namespace {name} has pod security level {level}; pods that use EFA require privileged"
            yield Violation(At() / "namespaces" / index, "set it to privileged", message)
    for at, manifest, template in pod_templates(plan):
        name = f"{manifest.body['kind']} {manifest.body['metadata']['name']}"
        for index, container in enumerate(template["spec"]["containers"]):
            place = at / "spec" / "containers" / index
            if not (container["resources"]["limits"].get(EFA_RESOURCE) or container["resources"].get("claims")):
                message = f"{name} requests no EFA interfaces, so its pods communicate over TCP"
                yield Violation(place / "resources", f"request {EFA_RESOURCE}", message)
            if "IPC_LOCK" not in container["securityContext"]["capabilities"].get("add", []):
                message = f"{name} lacks the capability IPC_LOCK, which EFA needs to lock memory"
                yield Violation(place / "securityContext" / "capabilities", "add IPC_LOCK", message)


@rule("R-53", Level.ERROR, BALANCERS)
def load_balancer_is_internal(plan: StackPlan) -> Iterator[Violation]:
    """The load balancer of a fleet is internal, in named subnets, and accepts listed address ranges only."""
    prefix = profile(plan.place.cloud).load_balancer_annotation
    for at, manifest in manifests(plan, "Service"):
        spec, annotations = manifest.body["spec"], manifest.body["metadata"].get("annotations", {})
        if spec.get("type") != "LoadBalancer":
            continue
        name = manifest.body["metadata"]["name"]
        ranges = spec.get("loadBalancerSourceRanges", [])
        if not ranges or any(ANY_ADDRESS.fullmatch(cidr) for cidr in ranges):
            fix = f"set {plan.network.cidr or 'the address ranges of the network'}"
            message = f"Load balancer {name} accepts {', '.join(ranges) or 'every address'}"
            yield Violation(at / "spec" / "loadBalancerSourceRanges", fix, message)
        if prefix and annotations.get(f"{prefix}-internal") != "true":
            fix = f'set {prefix}-internal to "true"'
            yield Violation(at / "metadata" / "annotations", fix, f"Load balancer {name} is reachable from the internet")
        if prefix and not annotations.get(f"{prefix}-subnets"):
            message = f"Load balancer {name} names no subnets, so EKS selects them by tags"
            yield Violation(at / "metadata" / "annotations", f"set {prefix}-subnets", message)
