"""Cost of the accelerators that a team uses, in USD per hour, from the price in the bill."""

from rackwright.compile.compile_context import CompileContext
from rackwright.compile.observability.alert import Rule, recorded
from rackwright.stackplan import StackPlan

COST = "team:accelerator_cost_usd_per_hour"
PRICE = "team:accelerator_price_usd_per_hour"
DEPLOYMENT_POD = "[a-z0-9]+-[a-z0-9]{5}"
"""Rest of a pod's name after its Deployment: hash of the ReplicaSet, and five random characters."""
GROUP_POD = "[0-9]+(-[1-9][0-9]*)?"
"""Rest of a pod's name after its LeaderWorkerSet: group, and of workers their index from 1
(https://lws.sigs.k8s.io/docs/reference/labels-annotations-and-environment-variables/)."""


def cost_rules(context: CompileContext, plan: StackPlan, namespace: str) -> list[Rule]:
    """Quota in use by admitted jobs, or accelerators that running pods of a fleet request, times the price. None without a price.

    On shared accelerators pods request parts, and the price is that of a part. Machines that no team uses, storage and network are on the
    bill only. Metrics: Kueue, kube-state-metrics.
    """
    chosen, workload = context.candidate, context.spec.workload
    pools = [pool for pool in plan.pools if pool.does_the_work and (not pool.serves or workload.name in pool.serves)]
    resource = next((pool.pod_resource for pool in pools if pool.resource), "")
    if chosen.price_usd_per_hour is None or not resource:
        return []
    price = f"{chosen.price_usd_per_hour / chosen.devices_per_node:.6g}"
    labels = {"team": workload.team, "namespace": namespace, "workload": workload.name}
    used = _quota_in_use(plan, resource) or _requested(plan, workload.name, resource, namespace)
    return [recorded(PRICE, f"vector({price})", **labels), recorded(COST, f"{used} * {price}", **labels)]


def _quota_in_use(plan: StackPlan, resource: str) -> str:
    """Of the queue of the sized pools, which has one flavor; empty for a stack without queues. Every replica of Kueue reports it."""
    names = [manifest.body["metadata"]["name"] for manifest in plan.manifests if manifest.key == "queue.cluster-queue"]
    return f'max(kueue_cluster_queue_resource_usage{{cluster_queue="{names[0]}",resource="{resource}"}})' if names else ""


def _requested(plan: StackPlan, name: str, resource: str, namespace: str) -> str:
    """kube-state-metrics writes `nvidia.com/gpu` as `nvidia_com_gpu`."""
    label = "".join(letter if letter.isalnum() else "_" for letter in resource)
    groups = {manifest.body["metadata"]["name"] for manifest in plan.manifests if manifest.body["kind"] == "LeaderWorkerSet"}
    pods = f'pod=~"{name}-{GROUP_POD if name in groups else DEPLOYMENT_POD}"'
    requests = f'kube_pod_container_resource_requests{{namespace="{namespace}",{pods},resource="{label}"}}'
    running = f'kube_pod_status_phase{{namespace="{namespace}",phase="Running"}} == 1'
    return f"sum({requests} and on (namespace, pod) ({running}))"
