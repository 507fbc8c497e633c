"""Karpenter: starts machines for its NodePools, and terminates them while it has a release, permissions and a node group."""

from collections.abc import Iterator, Mapping
from typing import Any

from rackwright_pulumi.simulator.clusters.cluster_view import INSTANCE, ClusterView, controlled_resources_of, finalizer_error
from rackwright_pulumi.simulator.limits.shortage import shortage_error
from rackwright_pulumi.simulator.provider.values import unwrap_secrets, values_at
from rackwright_pulumi.simulator.schema.references import GROUP, NODES, ROLE, SUBNET
from rackwright_pulumi.simulator.store import Record, Store

CHART, CLASS_PATH = "karpenter", "spec.template.spec.nodeClassRef.name"
ENTRY, IDENTITY = "aws:eks/accessEntry:AccessEntry", "aws:eks/podIdentityAssociation:PodIdentityAssociation"
PERMISSIONS = ("aws:iam/rolePolicyAttachment:RolePolicyAttachment", "aws:iam/rolePolicy:RolePolicy")


def start_machines(view: ClusterView) -> None:
    """Start one machine for each NodePool without one if its class has a subnet and capacity, or `replicas` machines of a static pool."""
    if not view.has_release(CHART):
        return
    for pool in view.objects("NodePool"):
        if not controlled_resources_of(view.store, pool):
            _start_machines_of(view, pool)


def _start_machines_of(view: ClusterView, pool: Record) -> None:
    body = unwrap_secrets(pool.inputs)
    class_name = next(iter(values_at(body, CLASS_PATH)), None)
    node_class = next((unwrap_secrets(r.inputs)["spec"] for r in view.objects("EC2NodeClass") if r.id == class_name), None)
    subnets = _selected(view.store, SUBNET, (node_class or {}).get("subnetSelectorTerms"))
    if node_class is None or not subnets:
        return
    groups = _selected(view.store, GROUP, node_class.get("securityGroupSelectorTerms"))
    requirements = values_at(body, "spec.template.spec.requirements")
    types = [value for r in requirements if r["key"] == "node.kubernetes.io/instance-type" for value in r["values"]]
    inputs = {"instanceType": (types or ["m7i.large"])[0], "subnetId": subnets[0], "vpcSecurityGroupIds": groups}
    for i in range(int(body["spec"].get("replicas") or 1)):
        if not shortage_error(view.store, INSTANCE, "", inputs, view.region, ""):
            view.create(INSTANCE, pool, str(i), {**inputs, "__needs": list(_deletion_requirements(view, node_class))})


def _selected(store: Store, token: str, terms: Any) -> list[str]:
    """Ids that match any of Karpenter's selector terms, by id or by tags."""
    found = []
    for term in terms or ():
        tags = term.get("tags") or {}
        for record in store.all(token) if tags else ():
            own = unwrap_secrets(record.state).get("tagsAll") or {}
            if all(key in own and value in ("*", own[key]) for key, value in tags.items()):
                found.append(record.id)
        found += [term["id"]] if term.get("id") else []
    return found


def _deletion_requirements(view: ClusterView, node_class: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Resources required to terminate a machine: Karpenter's identity and permissions, and the node's access to the cluster."""
    store, roles = view.store, {unwrap_secrets(r.state).get("arn"): r for r in view.store.all(ROLE)}
    here = [r for type_ in (IDENTITY, ENTRY) for r in store.all(type_) if r.inputs.get("clusterName") == view.cluster.id]
    own = [r for r in here if r.type == IDENTITY and CHART in str(r.inputs.get("serviceAccount"))]
    acting = [roles[arn] for arn in (unwrap_secrets(r.inputs).get("roleArn") for r in own) if arn in roles]
    nodes = {arn: role for arn, role in roles.items() if role.id == node_class.get("role")}
    names = {role.id for role in (*acting, *nodes.values())}
    permissions = [r for type_ in PERMISSIONS for r in store.all(type_) if unwrap_secrets(r.inputs).get("role") in names]
    entries = [r for r in here if r.type == ENTRY and unwrap_secrets(r.inputs).get("principalArn") in nodes]
    for record in (*own, *acting, *nodes.values(), *permissions, *entries):
        yield record.type, record.id


def delete_error(view: ClusterView, record: Record) -> str:
    """Error for a NodePool or class that cannot be deleted; empty if it can, together with its machines."""
    if record.type.endswith(":EC2NodeClass"):
        users = (p for p in view.objects("NodePool") if record.id in values_at(unwrap_secrets(p.inputs), CLASS_PATH))
        user = next((p for p in users if controlled_resources_of(view.store, p)), None)
        return finalizer_error(record, f"machines of NodePool {user.id} use it") if user else ""
    machines = controlled_resources_of(view.store, record)
    missing = _missing_requirement(view, machines) if machines else ""
    return finalizer_error(record, f"Karpenter cannot terminate its machines without {missing}") if missing else ""


def _missing_requirement(view: ClusterView, machines: list[Record]) -> str:
    if not view.has_release(CHART):
        return "its release"
    if not any(r.inputs.get("clusterName") == view.cluster.id for r in view.store.all(NODES)):
        return "a node group to run on"
    required = [each for machine in machines for each in machine.inputs["__needs"]]
    missing = next((each for each in required if view.store.find(*each) is None), None)
    return f"{missing[0].rpartition(':')[2]} {missing[1]}" if missing else ""
