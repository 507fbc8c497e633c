"""What controllers inside a simulated EKS cluster make in AWS, and what stays behind when what they need goes first.

Karpenter starts machines, Services of type LoadBalancer and Ingresses get load balancers, the pod network attaches interfaces. None of it
is in a stack's state, and all of it lies in subnets that the stack wants to delete (recipes F26).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from rackwright_pulumi.simulator.machines import template_of
from rackwright_pulumi.simulator.references import EKS, GROUP, NODES, ROLE, SUBNET, cluster_place
from rackwright_pulumi.simulator.scarcity import shortage
from rackwright_pulumi.simulator.store import Record, Store
from rackwright_pulumi.simulator.values import at, opened

BALANCER, INTERFACE = "aws:lb/loadBalancer:LoadBalancer", "aws:ec2/networkInterface:NetworkInterface"
INSTANCE, ADDON, ENTRY = "aws:ec2/instance:Instance", "aws:eks/addon:Addon", "aws:eks/accessEntry:AccessEntry"
ATTACHED, INLINE = "aws:iam/rolePolicyAttachment:RolePolicyAttachment", "aws:iam/rolePolicy:RolePolicy"
IDENTITY = "aws:eks/podIdentityAssociation:PodIdentityAssociation"
BY = "urn:pulumi:controllers::"
"""How the URN of everything begins that a controller made."""
CNI_POLICY = "arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy"
KARPENTER, BALANCERS = "karpenter", "aws-load-balancer-controller"


def controlled(record: Record) -> bool:
    """Whether a controller made it, and no program."""
    return record.urn.startswith(BY)


def orphaned(store: Store, record: Record) -> bool:
    """Whether a controller made it and the object or machine it was for is gone."""
    return controlled(record) and not any(r.urn == record.inputs.get("__for") for r in store.all())


@dataclass(frozen=True)
class Inside:
    """One simulated EKS cluster, seen from within."""

    store: Store
    cluster: Record

    def objects(self, *kinds: str) -> Iterator[Record]:
        inside = self.store.inside(cluster_place(self.cluster))
        return (record for record in inside if record.type.rpartition(":")[2] in kinds)

    def release(self, chart: str) -> Record | None:
        """The Helm release of a chart, by the chart's last name."""
        return next((r for r in self.objects("Release") if _chart(r) == chart), None)

    def make(self, token: str, of: Record, key: str, inputs: Mapping[str, Any]) -> None:
        """Put something of a controller into the cluster's account and region."""
        found = sha256(f"{of.urn}#{self.store.births(of.urn)}#{token}#{key}".encode()).hexdigest()[:17]
        id_ = {BALANCER: f"arn:aws:elasticloadbalancing:net/k8s-{found}", INTERFACE: f"eni-{found}"}.get(token, f"i-{found}")
        urn = f"{BY}{self.cluster.id}::{token}::{of.name}-{key}"
        full = {**inputs, "__for": of.urn}
        self.store.add(Record(token, id_, self.cluster.place, urn, of.name, full, full))


def _chart(release: Record) -> str:
    return str(opened(release.inputs).get("chart", "")).rpartition("/")[2]


def _home(store: Store, record: Record) -> Inside | None:
    """The cluster an object is in; None for what is no object of a simulated EKS cluster."""
    found = (r for r in store.all(EKS) if record.place == cluster_place(r)) if record.type.startswith("kubernetes:") else ()
    cluster = next(iter(found), None)
    return Inside(store, cluster) if cluster else None


def react(store: Store, record: Record) -> None:
    """After an object was made: what the controllers of its cluster do about it."""
    home = _home(store, record)
    if home is None:
        return
    if _balanced(home, record):
        subnets = opened(home.cluster.state).get("vpcConfig", {}).get("subnetIds", [])
        home.make(BALANCER, record, "lb", {"subnets": subnets})
        for i, subnet in enumerate(subnets):
            home.make(INTERFACE, record, f"eni-{i}", {"subnetId": subnet})
    for pool in home.objects("NodePool"):
        if home.release(KARPENTER) and not _of(store, pool):
            _start(home, pool)


def _balanced(home: Inside, record: Record) -> bool:
    """Classes of the load balancer controller need its release; a Service without one is served by the cluster itself."""
    kind, spec = record.type.rpartition(":")[2], opened(record.inputs).get("spec") or {}
    asks = (kind == "Service" and spec.get("type") == "LoadBalancer") or (kind == "Ingress" and spec.get("ingressClassName") == "alb")
    return asks and (_served_by_cluster(record) or home.release(BALANCERS) is not None)


def _served_by_cluster(record: Record) -> bool:
    """A Service without a class: EKS' own control plane makes and deletes its load balancer."""
    return record.type.endswith(":Service") and not opened(record.inputs)["spec"].get("loadBalancerClass")


def _of(store: Store, record: Record) -> list[Record]:
    """What controllers made for an object or a node group."""
    made = (r for type_ in (INSTANCE, BALANCER, INTERFACE) for r in store.all(type_))
    return [r for r in made if controlled(r) and r.inputs.get("__for") == record.urn]


def _start(home: Inside, pool: Record) -> None:
    """Karpenter starts a machine where its class finds a subnet and the zone has one; static pools as many as they say."""
    spec = opened(pool.inputs).get("spec") or {}
    wanted = next(iter(at(spec, "template.spec.nodeClassRef.name")), None)
    node_class = next((opened(r.inputs)["spec"] for r in home.objects("EC2NodeClass") if r.id == wanted), None)
    subnets = _selected(home.store, SUBNET, (node_class or {}).get("subnetSelectorTerms"))
    if node_class is None or not subnets:
        return
    groups = _selected(home.store, GROUP, node_class.get("securityGroupSelectorTerms"))
    types = [v for r in at(spec, "template.spec.requirements") if r["key"] == "node.kubernetes.io/instance-type" for v in r["values"]]
    inputs = {"instanceType": (types or ["m7i.large"])[0], "subnetId": subnets[0], "vpcSecurityGroupIds": groups}
    for i in range(int(spec.get("replicas") or 1)):
        if not shortage(home.store, INSTANCE, "", inputs, home.cluster.place.rpartition("/")[2], ""):
            home.make(INSTANCE, pool, str(i), {**inputs, "__needs": list(_needs(home, node_class))})


def _selected(store: Store, token: str, terms: Any) -> list[str]:
    """Ids that any of Karpenter's selector terms names, by id or by tags."""
    found = []
    for term in terms or ():
        tags = term.get("tags") or {}
        if term.get("id"):
            found.append(term["id"])
        elif tags:
            for record in store.all(token):
                own = opened(record.state).get("tagsAll") or {}
                if all(key in own and value in ("*", own[key]) for key, value in tags.items()):
                    found.append(record.id)
    return found


def _needs(home: Inside, node_class: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What Karpenter can end a machine with: its own rights, and the machine's right to say that its pods are gone."""
    store, name = home.store, home.cluster.id
    roles = {opened(r.state).get("arn"): r for r in store.all(ROLE)}
    own = [r for r in store.all(IDENTITY) if r.inputs.get("clusterName") == name and KARPENTER in str(r.inputs.get("serviceAccount"))]
    acting = [roles[arn] for arn in (opened(r.inputs).get("roleArn") for r in own) if arn in roles]
    entries = [r for r in store.all(ENTRY) if r.inputs.get("clusterName") == name]
    nodes = [r for r in roles.values() if r.id == node_class.get("role")]
    for record in (*own, *acting, *nodes):
        yield record.type, record.id
    for right in (r for type_ in (ATTACHED, INLINE) for r in store.all(type_)):
        if opened(right.inputs).get("role") in {role.id for role in (*acting, *nodes)}:
            yield right.type, right.id
    for entry in entries:
        if opened(entry.inputs).get("principalArn") in {opened(role.state).get("arn") for role in nodes}:
            yield entry.type, entry.id


def refuse_delete(store: Store, record: Record) -> str:
    """Why an object stays: its finalizer waits for a controller that cannot act, or for machines. Empty when it goes."""
    home, kind = _home(store, record), record.type.rpartition(":")[2]
    if home is None:
        return ""
    if kind == "EC2NodeClass":
        pools = [p for p in home.objects("NodePool") if record.id in at(opened(p.inputs), "spec.template.spec.nodeClassRef.name")]
        busy = next((p for p in pools if _of(store, p)), None)
        return _stuck(record, f"machines of NodePool {busy.id} use it") if busy else ""
    mine = _of(store, record)
    if kind == "NodePool" and mine:
        lacking = _lacking(home, mine)
        return _stuck(record, f"Karpenter cannot end its machines without {lacking}") if lacking else ""
    if mine and home.release(BALANCERS) is None and not _served_by_cluster(record):
        return _stuck(record, f"its load balancer needs the release of {BALANCERS}")
    return ""


def _lacking(home: Inside, machines: list[Record]) -> str:
    if home.release(KARPENTER) is None:
        return "its release"
    if not any(r.inputs.get("clusterName") == home.cluster.id for r in home.store.all(NODES)):
        return "a node group to run on"
    needs = [need for machine in machines for need in machine.inputs["__needs"]]
    gone = next((need for need in needs if home.store.find(*need) is None), None)
    return f"{gone[0].rpartition(':')[2]} {gone[1]}" if gone else ""


def _stuck(record: Record, reason: str) -> str:
    return f"{record.type.rpartition(':')[2]} {record.id}: timed out waiting for its finalizers: {reason}"


def clear(store: Store, record: Record) -> None:
    """After something was deleted: controllers take away what they made for it, and a pod network without rights leaves interfaces."""
    if _home(store, record):
        for made in _of(store, record):
            store.remove(made, (made.id,))
    elif record.type == NODES and _network_gone(store, record):
        _abandon(store, record)


def _abandon(store: Store, nodes: Record) -> None:
    inputs, template = opened(nodes.inputs), template_of(store, opened(nodes.inputs))
    groups = at(template, "networkInterfaces.securityGroups") + at(template, "vpcSecurityGroupIds")
    cluster = next(r for r in store.all(EKS) if r.id == inputs["clusterName"])
    for i, subnet in enumerate(inputs["subnetIds"]):
        Inside(store, cluster).make(INTERFACE, nodes, f"eni-{i}", {"subnetId": subnet, "securityGroups": groups})


def _network_gone(store: Store, nodes: Record) -> bool:
    """The pod network's add-on or its rights went before the machines: nothing detaches and deletes their second interfaces."""
    inputs = opened(nodes.inputs)
    if not inputs["scalingConfig"]["desiredSize"] or not any(r.id == inputs["clusterName"] for r in store.all(EKS)):
        return False
    role = str(inputs.get("nodeRoleArn", "")).rpartition("/")[2]
    needed = ((ADDON, f"{inputs['clusterName']}:vpc-cni"), (ATTACHED, f"{role}/{CNI_POLICY}"))
    return any(store.is_gone(*need) and store.find(*need) is None for need in needed)
