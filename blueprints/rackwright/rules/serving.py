"""Serving objects: scaling that can wake up, probes that wait, budgets that let nodes be upgraded."""

from collections.abc import Iterator

from rackwright.compile.serving import LOAD_SECONDS
from rackwright.compile.wants import StackPlan
from rackwright.problems import Level
from rackwright.rules.registry import Broken, manifests, rule

KEDA = "https://keda.sh/docs/latest/reference/scaledobject-spec/"


@rule("V-92", Level.ERROR, KEDA)
def scaling_can_wake_up(plan: StackPlan) -> Iterator[Broken]:
    """A scaler's least is not above its most; one that may go to zero is woken by a metric the scaled pods do not emit themselves."""
    for at, manifest in manifests(plan, "ScaledObject"):
        spec = manifest.body["spec"]
        least, most, idle = spec.get("minReplicaCount", 0), spec["maxReplicaCount"], spec.get("idleReplicaCount")
        if least > most:
            yield Broken(at / "spec" / "minReplicaCount", "lower it", f"least {least}, most {most}")
        if idle is not None and idle >= least:
            yield Broken(at / "spec" / "idleReplicaCount", "set it below minReplicaCount", f"idle {idle}, least {least}")
        own = all("vllm:" in str(t.get("metadata", {}).get("query", "")) for t in spec["triggers"])
        if (least == 0 or idle == 0) and own:
            words = "every trigger reads the server's own metrics, which vanish with its pods"
            yield Broken(at / "spec" / "minReplicaCount", "keep 1 replica, or add a trigger on the gateway", words)


@rule("V-93", Level.ERROR, KEDA)
def one_scaler_per_target(plan: StackPlan) -> Iterator[Broken]:
    """Two scalers of one target undo each other's work."""
    seen: dict[tuple[str, str, str], str] = {}
    for at, manifest in manifests(plan, "ScaledObject", "HorizontalPodAutoscaler"):
        target = manifest.body["spec"]["scaleTargetRef"]
        key = (manifest.body["metadata"].get("namespace", ""), target.get("kind", "Deployment"), target["name"])
        if key in seen:
            yield Broken(at / "spec" / "scaleTargetRef", "keep one", f"{key[1]} {key[2]} is also scaled by {seen[key]}")
        seen.setdefault(key, manifest.key)


@rule("V-95", Level.WARNING, "https://kubernetes.io/docs/tasks/run-application/configure-pdb/")
def budgets_let_nodes_go(plan: StackPlan) -> Iterator[Broken]:
    """A disruption budget that allows no disruption keeps nodes from being upgraded."""
    least = min((m.body["spec"].get("minReplicaCount", 0) for _, m in manifests(plan, "ScaledObject")), default=None)
    for at, manifest in manifests(plan, "PodDisruptionBudget"):
        spec = manifest.body["spec"]
        kept = spec.get("minAvailable")
        if spec.get("maxUnavailable") == 0 or kept == "100%" or (least is not None and isinstance(kept, int) and kept >= least):
            yield Broken(at / "spec", "set maxUnavailable to 1", "it allows none")


@rule("V-96", Level.ERROR, "https://kubernetes.io/docs/concepts/configuration/liveness-readiness-startup-probes/")
def startup_waits_for_the_weights(plan: StackPlan) -> Iterator[Broken]:
    """The start-up probe waits at least as long as loading is expected to take, or the server is killed for ever."""
    for at, manifest in manifests(plan, "Deployment"):
        template = manifest.body["spec"]["template"]
        load_s = float(template["metadata"].get("annotations", {}).get(LOAD_SECONDS, 0))
        for index, container in enumerate(template["spec"]["containers"]):
            probe = container.get("startupProbe")
            waits_s = probe.get("failureThreshold", 3) * probe.get("periodSeconds", 10) if probe else 0
            if waits_s < load_s:
                place = at / "spec" / "template" / "spec" / "containers" / index / "startupProbe"
                yield Broken(place, "raise failureThreshold", f"it waits {waits_s} s, loading takes {load_s:.0f} s")
