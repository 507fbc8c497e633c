"""Karpenter: starts machines for its NodePools, and ends them while it still can."""

from collections.abc import Iterator, Mapping
from typing import Any

from rackwright_pulumi.simulator.clusters.cluster_view import INSTANCE, Inside, made_for, stuck
from rackwright_pulumi.simulator.limits.shortage import shortage
from rackwright_pulumi.simulator.provider.values import at, opened
from rackwright_pulumi.simulator.schema.references import GROUP, NODES, ROLE, SUBNET
from rackwright_pulumi.simulator.store import Record, Store

CHART, CLASS_PATH = "karpenter", "spec.template.spec.nodeClassRef.name"
ENTRY, IDENTITY = "aws:eks/accessEntry:AccessEntry", "aws:eks/podIdentityAssociation:PodIdentityAssociation"
RIGHTS = ("aws:iam/rolePolicyAttachment:RolePolicyAttachment", "aws:iam/rolePolicy:RolePolicy")


def start(home: Inside) -> None:
    """A machine for each NodePool without one, where its class finds a subnet and the zone has one; static pools get all they say."""
    if not home.has_release(CHART):
        return
    for pool in home.objects("NodePool"):
        if not made_for(home.store, pool):
            _start(home, pool)


def _start(home: Inside, pool: Record) -> None:
    body = opened(pool.inputs)
    wanted = next(iter(at(body, CLASS_PATH)), None)
    node_class = next((opened(r.inputs)["spec"] for r in home.objects("EC2NodeClass") if r.id == wanted), None)
    subnets = _selected(home.store, SUBNET, (node_class or {}).get("subnetSelectorTerms"))
    if node_class is None or not subnets:
        return
    groups = _selected(home.store, GROUP, node_class.get("securityGroupSelectorTerms"))
    asked = at(body, "spec.template.spec.requirements")
    types = [value for r in asked if r["key"] == "node.kubernetes.io/instance-type" for value in r["values"]]
    inputs = {"instanceType": (types or ["m7i.large"])[0], "subnetId": subnets[0], "vpcSecurityGroupIds": groups}
    for i in range(int(body["spec"].get("replicas") or 1)):
        if not shortage(home.store, INSTANCE, "", inputs, home.region, ""):
            home.make(INSTANCE, pool, str(i), {**inputs, "__needs": list(_needs(home, node_class))})


def _selected(store: Store, token: str, terms: Any) -> list[str]:
    """Ids that any of Karpenter's selector terms names, by id or by tags."""
    found = []
    for term in terms or ():
        tags = term.get("tags") or {}
        for record in store.all(token) if tags else ():
            own = opened(record.state).get("tagsAll") or {}
            if all(key in own and value in ("*", own[key]) for key, value in tags.items()):
                found.append(record.id)
        found += [term["id"]] if term.get("id") else []
    return found


def _needs(home: Inside, node_class: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What it ends a machine with: its own identity and rights, and the machine's right to say that its pods are gone."""
    store, roles = home.store, {opened(r.state).get("arn"): r for r in home.store.all(ROLE)}
    here = [r for type_ in (IDENTITY, ENTRY) for r in store.all(type_) if r.inputs.get("clusterName") == home.cluster.id]
    own = [r for r in here if r.type == IDENTITY and CHART in str(r.inputs.get("serviceAccount"))]
    acting = [roles[arn] for arn in (opened(r.inputs).get("roleArn") for r in own) if arn in roles]
    nodes = {arn: role for arn, role in roles.items() if role.id == node_class.get("role")}
    names = {role.id for role in (*acting, *nodes.values())}
    rights = [r for type_ in RIGHTS for r in store.all(type_) if opened(r.inputs).get("role") in names]
    entries = [r for r in here if r.type == ENTRY and opened(r.inputs).get("principalArn") in nodes]
    for record in (*own, *acting, *nodes.values(), *rights, *entries):
        yield record.type, record.id


def refuse_delete(home: Inside, record: Record) -> str:
    """Why a NodePool or a class stays; empty when it goes, with its machines."""
    if record.type.endswith(":EC2NodeClass"):
        users = (p for p in home.objects("NodePool") if record.id in at(opened(p.inputs), CLASS_PATH) and made_for(home.store, p))
        busy = next(users, None)
        return stuck(record, f"machines of NodePool {busy.id} use it") if busy else ""
    machines = made_for(home.store, record)
    lacking = _lacking(home, machines) if machines else ""
    return stuck(record, f"Karpenter cannot end its machines without {lacking}") if lacking else ""


def _lacking(home: Inside, machines: list[Record]) -> str:
    if not home.has_release(CHART):
        return "its release"
    if not any(r.inputs.get("clusterName") == home.cluster.id for r in home.store.all(NODES)):
        return "a node group to run on"
    needs = [need for machine in machines for need in machine.inputs["__needs"]]
    gone = next((need for need in needs if home.store.find(*need) is None), None)
    return f"{gone[0].rpartition(':')[2]} {gone[1]}" if gone else ""
