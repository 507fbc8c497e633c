"""AWS resources of controllers in a simulated EKS cluster, and what remains when a controller is deleted first.

Karpenter starts machines, Services of type LoadBalancer and Ingresses have load balancers, and the pod network attaches interfaces. They
are not in the state of a stack, and they block the deletion of its subnets (rule F26).
"""

from rackwright_pulumi.simulator.clusters import karpenter
from rackwright_pulumi.simulator.clusters.cluster_view import (
    INTERFACE,
    LOAD_BALANCER,
    ClusterView,
    controlled_resources_of,
    finalizer_error,
)
from rackwright_pulumi.simulator.limits.machines import template_of
from rackwright_pulumi.simulator.provider.values import unwrap_secrets, values_at
from rackwright_pulumi.simulator.schema.references import EKS, NODES
from rackwright_pulumi.simulator.store import Record, Store

CONTROLLER_CHART = "aws-load-balancer-controller"
"""The chart that creates load balancers with a class."""
ADDON, ATTACHMENT = "aws:eks/addon:Addon", "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
CNI_POLICY = "arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy"


def after_create(store: Store, record: Record) -> None:
    """Create what the controllers of its cluster create for a new object."""
    view = ClusterView.of(store, record)
    if view is None:
        return
    if _has_load_balancer(record) and (_is_served_by_eks(record) or view.has_release(CONTROLLER_CHART)):
        subnets = unwrap_secrets(view.cluster.state).get("vpcConfig", {}).get("subnetIds", [])
        view.create(LOAD_BALANCER, record, "lb", {"subnets": subnets})
        for i, subnet in enumerate(subnets):
            view.create(INTERFACE, record, f"eni-{i}", {"subnetId": subnet})
    karpenter.start_machines(view)


def _has_load_balancer(record: Record) -> bool:
    kind, spec = record.type.rpartition(":")[2], unwrap_secrets(record.inputs).get("spec") or {}
    return (kind == "Service" and spec.get("type") == "LoadBalancer") or (kind == "Ingress" and spec.get("ingressClassName") == "alb")


def _is_served_by_eks(record: Record) -> bool:
    """Whether a Service has no class: the EKS control plane creates and deletes its load balancer."""
    return record.type.endswith(":Service") and not unwrap_secrets(record.inputs)["spec"].get("loadBalancerClass")


def delete_error(store: Store, record: Record) -> str:
    """Error for an object whose finalizer waits for a missing controller or for machines; empty without one."""
    view = ClusterView.of(store, record)
    if view is None:
        return ""
    if record.type.endswith((":EC2NodeClass", ":NodePool")):
        return karpenter.delete_error(view, record)
    needs_chart = _has_load_balancer(record) and not _is_served_by_eks(record) and controlled_resources_of(store, record)
    if needs_chart and not view.has_release(CONTROLLER_CHART):
        return finalizer_error(record, f"its load balancer needs the release {CONTROLLER_CHART}")
    return ""


def after_delete(store: Store, record: Record) -> None:
    """Delete what controllers created for a deleted object; a pod network without permissions leaves interfaces of a deleted node group."""
    if ClusterView.of(store, record):
        for controlled in controlled_resources_of(store, record):
            store.remove(controlled, (controlled.id,))
    elif record.type == NODES:
        cluster = next((r for r in store.all(EKS) if r.id == record.inputs["clusterName"]), None)
        if cluster and unwrap_secrets(record.inputs)["scalingConfig"]["desiredSize"] and _lost_pod_network(store, record):
            _leave_interfaces(ClusterView(store, cluster), record)


def _lost_pod_network(store: Store, nodes: Record) -> bool:
    """Whether the pod network's add-on or policy was deleted before the machines, so that their extra interfaces are not deleted."""
    inputs = unwrap_secrets(nodes.inputs)
    role = str(inputs.get("nodeRoleArn", "")).rpartition("/")[2]
    required = ((ADDON, f"{inputs['clusterName']}:vpc-cni"), (ATTACHMENT, f"{role}/{CNI_POLICY}"))
    return any(store.was_deleted(*each) and store.find(*each) is None for each in required)


def _leave_interfaces(view: ClusterView, nodes: Record) -> None:
    template = template_of(view.store, unwrap_secrets(nodes.inputs))
    groups = values_at(template, "networkInterfaces.securityGroups") + values_at(template, "vpcSecurityGroupIds")
    for i, subnet in enumerate(unwrap_secrets(nodes.inputs)["subnetIds"]):
        view.create(INTERFACE, nodes, f"eni-{i}", {"subnetId": subnet, "securityGroups": groups})
