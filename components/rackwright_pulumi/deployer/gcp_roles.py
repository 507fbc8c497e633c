"""Custom roles and bindings of the deployer on Google Cloud, and organization policies that the stack meets or needs.

data/gcp_types.csv: resource type (or function) to the permissions with which the provider creates, reads, updates and deletes it. Source:
https://docs.cloud.google.com/iam/docs/roles-permissions, by the methods that the provider calls. Budgets have permissions on the billing
account only, so their binding is there.
"""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from rackwright_pulumi.deployer.policy import Unknown
from rackwright_pulumi.resource_graph import Graph, Node

CONDITIONS = "https://docs.cloud.google.com/iam/docs/conditions-resource-attributes"
ACT_AS, SET_POLICY = "iam.serviceAccounts.actAs", "resourcemanager.projects.setIamPolicy"
UNKNOWN = re.compile(r"[*<]|^$")
"""Placeholders of values that are known after creation."""
CREATES = re.compile(r"\.create[A-Za-z]*$")
"""Permissions that a condition on the name never allows: they are checked on the parent."""
BUCKET, BUCKET_MEMBER = "gcp:storage/bucket:Bucket", "gcp:storage/bucketIAMMember:BucketIAMMember"
KEY_RING, KEY_MEMBER = "gcp:kms/keyRing:KeyRing", "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember"
NAMED = {"buckets": "storage.", "keys": "cloudkms."}
"""Role of resources with names that a condition can test -> prefix of its permissions."""
TITLES = {
    "deployer": "Resources of the stack",
    "grants": "Roles that the stack grants in the project",
    "buckets": "Buckets of the stack",
    "keys": "Keys of the stack",
}
PROJECT_MEMBER, SUBNET_MEMBER = "gcp:projects/iAMMember:IAMMember", "gcp:compute/subnetworkIAMMember:SubnetworkIAMMember"
KUBERNETES_ADMIN = "roles/container.admin"
"""Charts install roles of their own, which needs every permission in the cluster:
https://docs.cloud.google.com/kubernetes-engine/docs/how-to/role-based-access-control#iam-interaction"""
BUDGET, BUDGET_ROLE = "gcp:billing/budget:Budget", "roles/billing.costsManager"
CONNECTION = "gcp:servicenetworking/connection:Connection"


@dataclass(frozen=True)
class Permissions:
    """Of one resource type: with `changes`, also those to create, update and delete it."""

    reads: frozenset[str]
    changes: frozenset[str]


def deployer_roles(graph: Graph, *, project: str, region: str, stack: str, preview: bool = False) -> dict[str, Any]:
    """Custom roles, bindings for MEMBER, and organization policies, as one document.

    project: its ID, or PROJECT_ID if the plan sets none. preview: permissions that read only, for `pulumi preview` and `refresh`.
    Raises Unknown for a type without a row, because the role would be incomplete. Access to Pulumi's state backend is not included.
    """
    nodes = [node for node in graph.nodes.values() if node.type.startswith("gcp:")]
    permissions = _permissions(graph, nodes, preview)
    parts = dict(_parts(permissions, nodes, project, region))
    roles = {key: _role_id(stack, key) for key in parts}
    return {
        "roles": [
            {"roleId": roles[key], "title": f"{TITLES[key]} {stack}"[:100], "stage": "GA", "includedPermissions": sorted(found)}
            for key, (found, _) in parts.items()
        ],
        "bindings": [
            {"resource": f"projects/{project}", "role": f"projects/{project}/roles/{roles[key]}", "member": "MEMBER"}
            | ({"condition": {"title": key, "expression": condition}} if condition else {})
            for key, (_, condition) in parts.items()
        ]
        + ([] if preview else [*_further_bindings(graph, nodes, project)]),
        "organizationPolicies": [*_organization_policies(nodes, region)],
    }


def act_as_warning(document: dict[str, Any]) -> str:
    """What the deployer may do beyond its stack; empty where it uses no service account."""
    if not any(ACT_AS in role["includedPermissions"] for role in document["roles"]):
        return ""
    return (
        "This deployer may use every service account of the project: the account of the nodes has no name before the first update. "
        f"After it, bind roles/iam.serviceAccountUser on that account, and remove {ACT_AS} from the role."
    )


def host_project_warning(graph: Graph, project: str) -> str:
    """What the update changes in the host project of a Shared VPC, where these roles hold nothing; empty without one."""
    granted = (node.inputs.get("project") for node in graph.nodes.values() if node.type in (PROJECT_MEMBER, SUBNET_MEMBER))
    hosts = sorted({str(host) for host in granted if host and host != project})
    if not hosts:
        return ""
    return (
        f"The update also grants roles in {', '.join(hosts)}, which needs compute.subnetworks.setIamPolicy and {SET_POLICY} there. These "
        "roles do not have them: an administrator of that project grants them, or grants the roles and sets `subnet_users: exist`."
    )


def _permissions(graph: Graph, nodes: list[Node], preview: bool) -> set[str]:
    found: set[str] = set()
    tokens = {node.type for node in nodes} | {token for token, _ in graph.invokes if token.startswith("gcp:")}
    for token in sorted(tokens):
        if token not in types():
            raise Unknown(f"{token} has no row in components/rackwright_pulumi/deployer/data/gcp_types.csv")
        row = types()[token]
        found |= row.reads if preview else row.reads | row.changes
    return found


def _parts(permissions: set[str], nodes: list[Node], project: str, region: str) -> Iterator[tuple[str, tuple[set[str], str]]]:
    """Role -> (permissions, condition). Permissions without a condition are in `deployer`."""
    rest = set(permissions)
    for key, prefix in NAMED.items():
        names = sorted(_names(key, nodes, project, region))
        found = {name for name in rest if name.startswith(prefix) and not CREATES.search(name)} if names else set()
        if found:
            yield key, (found, " || ".join(f'resource.name.startsWith("{name}")' for name in names))
        rest -= found
    granted = sorted(
        {str(node.inputs["role"]) for node in nodes if node.type == PROJECT_MEMBER and node.inputs.get("project", project) == project}
    )
    if SET_POLICY in rest:
        named = ", ".join(f"'{role}'" for role in granted)
        yield "grants", ({SET_POLICY}, f"api.getAttribute('iam.googleapis.com/modifiedGrantsByRole', []).hasOnly([{named}])")
        rest -= {SET_POLICY}
    yield "deployer", (rest, "")


def _names(key: str, nodes: list[Node], project: str, region: str) -> set[str]:
    """Starts of the full names of buckets or keys: of the stack's, to whose names the engine appends a suffix, and of existing ones."""
    new, member, form, field = {
        "buckets": (BUCKET, BUCKET_MEMBER, "projects/_/buckets/{}", "bucket"),
        "keys": (KEY_RING, KEY_MEMBER, f"projects/{project}/locations/{region}/keyRings/{{}}", "cryptoKeyId"),
    }[key]
    found = {form.format(f"{node.name}-") for node in nodes if node.type == new}
    used = {str(node.inputs.get(field, "")) for node in nodes if node.type == member}
    existing = {name if "/" in name else form.format(name) for name in used if not UNKNOWN.search(name)}
    return found | {name for name in existing if not any(name.startswith(start) for start in found)}


def _further_bindings(graph: Graph, nodes: list[Node], project: str) -> Iterator[dict[str, str]]:
    if any(node.type.startswith("kubernetes:") for node in graph.nodes.values()):
        yield {"resource": f"projects/{project}", "role": KUBERNETES_ADMIN, "member": "MEMBER"}
    for account in sorted({str(node.inputs["billingAccount"]) for node in nodes if node.type == BUDGET}):
        yield {"resource": f"billingAccounts/{account}", "role": BUDGET_ROLE, "member": "MEMBER"}


def _organization_policies(nodes: list[Node], region: str) -> Iterator[dict[str, str]]:
    """Constraints that organizations often set: what the stack does under each.

    https://docs.cloud.google.com/resource-manager/docs/organization-policy/org-policy-constraints
    """
    tokens = {node.type for node in nodes}
    met = {
        "compute.requireShieldedVm": "met: nodes are shielded VMs",
        "compute.vmExternalIpAccess": "met: machines have no external address",
        "compute.disableSerialPortAccess": "met: the serial port is off",
        "iam.disableServiceAccountKeyCreation": "met: the stack creates no keys of service accounts",
        "storage.uniformBucketLevelAccess": "met: buckets have uniform access",
        "storage.publicAccessPrevention": "met: buckets have public access prevention",
        "gcp.restrictNonCmekServices": "met: buckets, disks, cluster secrets and file system use the key of the stack",
        "gcp.resourceLocations": f"must allow in:{region}-locations, and global for networks",
    }
    if CONNECTION in tokens:
        met["compute.restrictVpcPeering"] = "must allow servicenetworking.googleapis.com, which peers with the network for the file system"
    yield from ({"constraint": f"constraints/{name}", "effect": text} for name, text in met.items())


def _role_id(stack: str, part: str) -> str:
    """ID of a custom role: letters, digits, periods and underscores, 64 at most."""
    return f"rackwright_{re.sub(r'[^A-Za-z0-9_.]', '_', stack)}"[: 63 - len(part)] + f"_{part}"


@cache
def types() -> dict[str, Permissions]:
    """Resource type or function -> its permissions."""
    text = files("rackwright_pulumi.deployer").joinpath("data/gcp_types.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return {
        row["token"]: Permissions(
            frozenset(row["read"].split()), frozenset(" ".join((row["create"], row["update"], row["delete"])).split())
        )
        for row in rows
    }
