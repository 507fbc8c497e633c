"""Serving objects: groups whose parts add up, scaling that can wake up, probes that wait, budgets that let nodes be upgraded, an entrance
that is not everybody's."""

import re
from collections.abc import Iterator
from math import ceil, prod

from rackwright.clouds import AWS
from rackwright.compile.kubernetes.aws.serving import BALANCER
from rackwright.compile.nodes.pools import RESOURCES
from rackwright.compile.operators.devices import EFA
from rackwright.compile.serving.model_server import LOAD_SECONDS, PORT
from rackwright.compile.serving.neuron import CORES
from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import StackPlan
from rackwright.validation.stack.registry import accelerators, manifests, pod_templates, rule

KEDA = "https://keda.sh/docs/latest/reference/scaledobject-spec/"
LWS = "https://lws.sigs.k8s.io/docs/concepts/"
POOLS = "https://gateway-api-inference-extension.sigs.k8s.io/api-types/inferencepool/"
BALANCERS = "https://docs.aws.amazon.com/eks/latest/userguide/network-load-balancing.html"
EVERYBODY = re.compile(r".+/0")
MOST_PODS = 2**31 - 1
MOST_PORTS = 8
PARALLEL = ("tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size")
"""Arguments of vLLM whose product is the accelerators of a replica."""


@rule("V-90", Level.ERROR, LWS, invariant=True)
def groups_add_up(plan: StackPlan) -> Iterator[Violation]:
    """A LeaderWorkerSet has pods in its groups, which its subgroups divide, the leader among them or left out."""
    for at, manifest in manifests(plan, "LeaderWorkerSet"):
        spec = manifest.body["spec"]
        template = spec["leaderWorkerTemplate"]
        size, sub = template.get("size", 1), template.get("subGroupPolicy", {})
        place = at / "spec" / "leaderWorkerTemplate"
        if size < 1 or size * spec.get("replicas", 1) > MOST_PODS:
            yield Violation(place / "size", "set it to the machines of a replica", detail=f"got {size}")
        share = sub.get("subGroupSize")
        alone = sub.get("subGroupPolicyType") == "LeaderExcluded"
        if share and not (share <= size and ((size - 1) % share == 0 or (not alone and size % share == 0))):
            yield Violation(
                place / "subGroupPolicy" / "subGroupSize", f"use a divisor of {size - 1 if alone else size}", detail=f"got {share}"
            )


@rule("V-91", Level.ERROR, "https://docs.vllm.ai/en/stable/serving/parallelism_scaling/")
def replicas_have_what_the_engine_splits(plan: StackPlan) -> Iterator[Violation]:
    """The accelerators of all pods of a replica are those the engine splits the model over."""
    for at, manifest, template in pod_templates(plan):
        size = manifest.body["spec"].get("leaderWorkerTemplate", {}).get("size", 1)
        for index, container in enumerate(template["spec"]["containers"]):
            given = [a.removeprefix("--").split("=", 1) for a in container.get("args", []) if a.startswith("--") and "=" in a]
            wanted, limits = prod(int(value) for name, value in given if name in PARALLEL), container["resources"]["limits"]
            have, cores = size * sum(int(limits.get(resource, 0)) for resource in RESOURCES.values()), _cores(plan, limits)
            enough = wanted <= have * cores if cores else wanted == have
            if any(name in PARALLEL for name, _ in given) and not enough:
                held, split = (f"{have} of {cores} cores", f"{wanted} cores") if cores else (have, wanted)
                words = f"{manifest.body['kind']} {manifest.body['metadata']['name']} has {held}, its arguments split over {split}"
                yield Violation(at / "spec" / "containers" / index / "args", f"ask for {ceil(wanted / (cores or 1))}", detail=words)


def _cores(plan: StackPlan, limits: dict[str, str]) -> int:
    """Of each Neuron device a pod asks for: an engine splits over them, and need not use them all. 0 for a pod that asks for none."""
    neuron = RESOURCES["neuron"]
    devices = [pool.accelerator for _, pool in accelerators(plan) if pool.resource == neuron]
    return min((CORES.get(name, 0) for name in devices), default=0) if neuron in limits else 0


@rule("V-92", Level.ERROR, KEDA)
def scaling_can_wake_up(plan: StackPlan) -> Iterator[Violation]:
    """A scaler's least is not above its most; one that may go to zero is woken by a metric the scaled pods do not emit themselves."""
    for at, manifest in manifests(plan, "ScaledObject"):
        spec = manifest.body["spec"]
        least, most, idle = spec.get("minReplicaCount", 0), spec["maxReplicaCount"], spec.get("idleReplicaCount")
        if least > most:
            yield Violation(at / "spec" / "minReplicaCount", f"set it to {most}", detail=f"least {least}, most {most}")
        if idle is not None and idle >= least:
            yield Violation(at / "spec" / "idleReplicaCount", "leave it out", detail=f"idle {idle}, least {least}")
        own = all("vllm:" in str(t.get("metadata", {}).get("query", "")) for t in spec["triggers"])
        if (least == 0 or idle == 0) and own:
            words = "every trigger reads the server's own metrics, which vanish with its pods"
            yield Violation(at / "spec" / "minReplicaCount", "keep 1 replica, or add a trigger on the gateway", detail=words)


@rule("V-93", Level.ERROR, KEDA, invariant=True)
def one_scaler_per_target(plan: StackPlan) -> Iterator[Violation]:
    """Two scalers of one target undo each other's work."""
    seen: dict[tuple[str, str, str], str] = {}
    for at, manifest in manifests(plan, "ScaledObject", "HorizontalPodAutoscaler"):
        target = manifest.body["spec"]["scaleTargetRef"]
        key = (manifest.body["metadata"].get("namespace", ""), target.get("kind", "Deployment"), target["name"])
        if key in seen:
            yield Violation(at / "spec" / "scaleTargetRef", "keep one", detail=f"{key[1]} {key[2]} is also scaled by {seen[key]}")
        seen.setdefault(key, manifest.key)


@rule("V-94", Level.ERROR, POOLS, invariant=True)
def inference_pools_find_their_pods(plan: StackPlan) -> Iterator[Violation]:
    """An InferencePool has one to eight ports, each once, says what happens when nobody picks an endpoint, and selects pods there are."""
    labels = [template["metadata"]["labels"] for _, _, template in pod_templates(plan)]
    for at, manifest in manifests(plan, "InferencePool"):
        spec = manifest.body["spec"]
        ports = [port["number"] for port in spec.get("targetPorts", [])]
        if not 1 <= len(ports) <= MOST_PORTS or len({*ports}) < len(ports):
            yield Violation(at / "spec" / "targetPorts", f"name {PORT}", detail=f"got {ports}")
        picker = spec.get("endpointPickerRef", {})
        if not picker.get("port"):
            yield Violation(at / "spec" / "endpointPickerRef" / "port", "name the picker's port", detail="there is none")
        if not picker.get("failureMode"):
            yield Violation(
                at / "spec" / "endpointPickerRef" / "failureMode", "say FailOpen or FailClose", detail="chart and API differ in theirs"
            )
        selector = spec.get("selector", {}).get("matchLabels", {})
        if not any(selector.items() <= found.items() for found in labels):
            yield Violation(at / "spec" / "selector", "select the server's pods", detail=f"no pods have {selector}")


@rule("V-95", Level.WARNING, "https://kubernetes.io/docs/tasks/run-application/configure-pdb/", invariant=True)
def budgets_let_nodes_go(plan: StackPlan) -> Iterator[Violation]:
    """A disruption budget that allows no disruption keeps nodes from being upgraded."""
    least = min((m.body["spec"].get("minReplicaCount", 0) for _, m in manifests(plan, "ScaledObject")), default=None)
    for at, manifest in manifests(plan, "PodDisruptionBudget"):
        spec = manifest.body["spec"]
        kept = spec.get("minAvailable")
        if spec.get("maxUnavailable") == 0 or kept == "100%" or (least is not None and isinstance(kept, int) and kept >= least):
            yield Violation(at / "spec", "set maxUnavailable to 1", detail="it allows none")


@rule("V-96", Level.ERROR, "https://kubernetes.io/docs/concepts/configuration/liveness-readiness-startup-probes/", invariant=True)
def startup_waits_for_the_weights(plan: StackPlan) -> Iterator[Violation]:
    """The start-up probe waits at least as long as loading is expected to take, or the server is killed for ever."""
    for at, _, template in pod_templates(plan):
        load_s = float(template["metadata"].get("annotations", {}).get(LOAD_SECONDS, 0))
        for index, container in enumerate(template["spec"]["containers"]):
            probe = container.get("startupProbe")
            waits_s = probe.get("failureThreshold", 3) * probe.get("periodSeconds", 10) if probe else 0
            if container.get("ports") and waits_s < load_s:
                place, enough = at / "spec" / "containers" / index / "startupProbe", ceil(load_s / (probe or {}).get("periodSeconds", 10))
                yield Violation(place, f"set failureThreshold to {enough}", detail=f"it waits {waits_s} s, loading takes {load_s:.0f} s")


@rule("R-52", Level.ERROR, "https://docs.aws.amazon.com/eks/latest/userguide/node-efa.html", invariant=True)
def parts_of_a_replica_are_on_the_fabric(plan: StackPlan) -> Iterator[Violation]:
    """Pods of a replica that spans EFA machines ask for EFA and may lock memory, which only a privileged namespace allows; else they talk
    over TCP, and nobody says so."""
    if not any(pool.nics for _, pool in accelerators(plan)):
        return
    spaces = {manifest.body["metadata"]["namespace"] for _, manifest, _ in pod_templates(plan)}
    for index, (name, level) in enumerate(plan.namespaces):
        if name in spaces and level != "privileged":
            yield Violation(At() / "namespaces" / index, "set it to privileged", detail=f"{name} is {level}")
    for at, manifest, template in pod_templates(plan):
        for index, container in enumerate(template["spec"]["containers"]):
            place = at / "spec" / "containers" / index
            if not (container["resources"]["limits"].get(EFA) or container["resources"].get("claims")):
                yield Violation(
                    place / "resources", f"ask for {EFA}", detail=f"{manifest.body['kind']} {manifest.body['metadata']['name']} does not"
                )
            if "IPC_LOCK" not in container["securityContext"]["capabilities"].get("add", []):
                yield Violation(place / "securityContext" / "capabilities", "add IPC_LOCK", detail="memory cannot be pinned")


@rule("R-53", Level.ERROR, BALANCERS)
def the_entrance_is_inside(plan: StackPlan) -> Iterator[Violation]:
    """A load balancer of a fleet is internal, in subnets that are named, and answers ranges of addresses, never everybody."""
    for at, manifest in manifests(plan, "Service"):
        spec, notes = manifest.body["spec"], manifest.body["metadata"].get("annotations", {})
        if spec.get("type") != "LoadBalancer":
            continue
        ranges = spec.get("loadBalancerSourceRanges", [])
        if not ranges or any(EVERYBODY.fullmatch(cidr) for cidr in ranges):
            fix = f"name {plan.network.cidr or 'the addresses of the network'}"
            yield Violation(at / "spec" / "loadBalancerSourceRanges", fix, detail=f"it answers {', '.join(ranges) or 'everybody'}")
        if plan.place.cloud == AWS.name and notes.get(f"{BALANCER}-internal") != "true":
            yield Violation(at / "metadata" / "annotations", f'set {BALANCER}-internal to "true"', detail="it is on the internet")
        if plan.place.cloud == AWS.name and not notes.get(f"{BALANCER}-subnets"):
            yield Violation(at / "metadata" / "annotations", f"set {BALANCER}-subnets", detail="EKS would look for subnets by tags")
