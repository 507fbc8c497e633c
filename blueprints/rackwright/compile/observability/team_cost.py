"""Cost of the accelerators that a team uses, in USD per hour, from the price in the bill."""

from rackwright.compile.compile_context import CompileContext
from rackwright.compile.observability.alert import Rule, recorded
from rackwright.stackplan import StackPlan

COST = "team:accelerator_cost_usd_per_hour"
PRICE = "team:accelerator_price_usd_per_hour"


def cost_rules(context: CompileContext, plan: StackPlan, namespace: str) -> list[Rule]:
    """Quota in use by admitted jobs, or accelerators that running pods of a fleet request, times the price. None without a price.

    Machines that no team uses, storage and network are on the bill only. Metrics: Kueue, kube-state-metrics.
    """
    chosen = context.candidate
    resource = next((pool.resource for pool in plan.pools if pool.does_the_work and pool.resource), "")
    if chosen.price_usd_per_hour is None or not resource:
        return []
    price = f"{chosen.price_usd_per_hour / chosen.accelerators_per_node:.6g}"
    labels = {"team": context.spec.workload.team, "namespace": namespace}
    used = _quota_in_use(plan, resource) or _requested(context, resource, namespace)
    return [recorded(PRICE, f"vector({price})", **labels), recorded(COST, f"{used} * {price}", **labels)]


def _quota_in_use(plan: StackPlan, resource: str) -> str:
    """Of the queue of the sized pools, which has one flavor; empty for a stack without queues. Every replica of Kueue reports it."""
    names = [manifest.body["metadata"]["name"] for manifest in plan.manifests if manifest.key == "queue.cluster-queue"]
    return f'max(kueue_cluster_queue_resource_usage{{cluster_queue="{names[0]}",resource="{resource}"}})' if names else ""


def _requested(context: CompileContext, resource: str, namespace: str) -> str:
    """kube-state-metrics writes `nvidia.com/gpu` as `nvidia_com_gpu`."""
    label = "".join(letter if letter.isalnum() else "_" for letter in resource)
    pods = f'pod=~"{context.spec.workload.name}-.*"'
    requests = f'kube_pod_container_resource_requests{{namespace="{namespace}",{pods},resource="{label}"}}'
    running = f'kube_pod_status_phase{{namespace="{namespace}",phase="Running"}} == 1'
    return f"sum({requests} and on (namespace, pod) ({running}))"
