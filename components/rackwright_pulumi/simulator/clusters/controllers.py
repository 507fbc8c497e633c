"""What controllers inside a simulated EKS cluster make in AWS, and what stays behind when what they need goes first.

Karpenter starts machines, Services of type LoadBalancer and Ingresses get load balancers, the pod network attaches interfaces. None of it
is in a stack's state, and all of it lies in subnets that the stack wants to delete (recipes F26).
"""

from rackwright_pulumi.simulator.clusters import karpenter
from rackwright_pulumi.simulator.clusters.cluster_view import BALANCER, INTERFACE, Inside, made_for, stuck
from rackwright_pulumi.simulator.limits.machines import template_of
from rackwright_pulumi.simulator.provider.values import at, opened
from rackwright_pulumi.simulator.schema.references import EKS, NODES
from rackwright_pulumi.simulator.store import Record, Store

BALANCERS = "aws-load-balancer-controller"
"""The chart without which classes of load balancers are nobody's."""
ADDON, ATTACHED = "aws:eks/addon:Addon", "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
CNI_POLICY = "arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy"


def react(store: Store, record: Record) -> None:
    """After an object was made: what the controllers of its cluster do about it."""
    home = Inside.of(store, record)
    if home is None:
        return
    if _asks_balancer(record) and (_served_by_cluster(record) or home.has_release(BALANCERS)):
        subnets = opened(home.cluster.state).get("vpcConfig", {}).get("subnetIds", [])
        home.make(BALANCER, record, "lb", {"subnets": subnets})
        for i, subnet in enumerate(subnets):
            home.make(INTERFACE, record, f"eni-{i}", {"subnetId": subnet})
    karpenter.start(home)


def _asks_balancer(record: Record) -> bool:
    kind, spec = record.type.rpartition(":")[2], opened(record.inputs).get("spec") or {}
    return (kind == "Service" and spec.get("type") == "LoadBalancer") or (kind == "Ingress" and spec.get("ingressClassName") == "alb")


def _served_by_cluster(record: Record) -> bool:
    """A Service without a class: EKS' own control plane makes and deletes its load balancer."""
    return record.type.endswith(":Service") and not opened(record.inputs)["spec"].get("loadBalancerClass")


def refuse_delete(store: Store, record: Record) -> str:
    """Why an object stays: its finalizer waits for a controller that cannot act, or for machines. Empty when it goes."""
    home = Inside.of(store, record)
    if home is None:
        return ""
    if record.type.endswith((":EC2NodeClass", ":NodePool")):
        return karpenter.refuse_delete(home, record)
    if _asks_balancer(record) and not _served_by_cluster(record) and made_for(store, record) and not home.has_release(BALANCERS):
        return stuck(record, f"its load balancer needs the release of {BALANCERS}")
    return ""


def clear(store: Store, record: Record) -> None:
    """After something was deleted: controllers take away what they made for it, and a pod network without rights leaves interfaces."""
    if Inside.of(store, record):
        for made in made_for(store, record):
            store.remove(made, (made.id,))
    elif record.type == NODES:
        cluster = next((r for r in store.all(EKS) if r.id == record.inputs["clusterName"]), None)
        if cluster and opened(record.inputs)["scalingConfig"]["desiredSize"] and _network_gone(store, record):
            _abandon(Inside(store, cluster), record)


def _network_gone(store: Store, nodes: Record) -> bool:
    """The pod network's add-on or its rights went before the machines: nothing detaches and deletes their second interfaces."""
    inputs = opened(nodes.inputs)
    role = str(inputs.get("nodeRoleArn", "")).rpartition("/")[2]
    needed = ((ADDON, f"{inputs['clusterName']}:vpc-cni"), (ATTACHED, f"{role}/{CNI_POLICY}"))
    return any(store.is_gone(*need) and store.find(*need) is None for need in needed)


def _abandon(home: Inside, nodes: Record) -> None:
    template = template_of(home.store, opened(nodes.inputs))
    groups = at(template, "networkInterfaces.securityGroups") + at(template, "vpcSecurityGroupIds")
    for i, subnet in enumerate(opened(nodes.inputs)["subnetIds"]):
        home.make(INTERFACE, nodes, f"eni-{i}", {"subnetId": subnet, "securityGroups": groups})
