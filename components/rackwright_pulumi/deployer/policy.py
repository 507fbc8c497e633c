"""Policy documents of the deployer: every action is limited to the ARNs of the stack, and to its tag where names are not known."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from rackwright.diagnostics.errors import Bug

from rackwright_pulumi.deployer.conditions import BOUNDARY_KEY, StackTag, boundary_denials
from rackwright_pulumi.deployer.tables import ResourceKind, actions, calls, kinds
from rackwright_pulumi.resource_graph import Graph, Node, unwrap_secrets

MOST_CHARACTERS = 6144
"""Of a managed policy without white space: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html"""
READING = ("Read", "List")
PASS_ROLE, ATTACH = "iam:PassRole", ("iam:AttachRolePolicy", "iam:DetachRolePolicy")
BOUNDARY_ACTIONS = (
    *("iam:CreateRole", "iam:PutRolePolicy", "iam:DeleteRolePolicy", "iam:PutRolePermissionsBoundary", "iam:UpdateAssumeRolePolicy"),
    *ATTACH,
)
"""Actions that could grant a role, or a caller through a role, more than the permissions boundary."""
WITHOUT_BOUNDARY = (
    "This deployer can become administrator: it creates roles and writes their policies, and infra sets no permissions boundary. "
    "Set infra.any_of[].permissions_boundary to the ARN of a managed policy that limits what the stack's roles may do."
)
ROLE_ARN = re.compile(r"arn:aws[a-z-]*:iam::(\d{12}|\*):role/\S+")
ACCESS = ("aws:eks/accessEntry:AccessEntry", "aws:eks/accessPolicyAssociation:AccessPolicyAssociation")
SESSION = "aws:iam/getSessionContext:getSessionContext"
LUSTRE_IMPORT = "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation"
"""FSx adds the bucket to the policy of its service-linked role in the caller's name (AmazonFSxFullAccess)."""
SERVICE_LINKED = {
    "aws:eks/cluster:Cluster": ("eks.amazonaws.com",),
    "aws:eks/nodeGroup:NodeGroup": ("eks-nodegroup.amazonaws.com", "autoscaling.amazonaws.com"),
    "aws:fsx/lustreFileSystem:LustreFileSystem": ("fsx.amazonaws.com",),
    LUSTRE_IMPORT: ("s3.data-source.lustre.fsx.amazonaws.com",),
}
"""Services that create a service-linked role on first use:
https://docs.aws.amazon.com/IAM/latest/UserGuide/using-service-linked-roles.html"""
SPOT = "spot.amazonaws.com"
ALARM_ACTIONS = "events.amazonaws.com"
"""Stops or terminates the instance of an alarm: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html"""
PASSED_TO = {
    "aws:eks/cluster:Cluster": "eks.amazonaws.com",
    "aws:eks/nodeGroup:NodeGroup": "eks.amazonaws.com",
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": "pods.eks.amazonaws.com",
}
"""Services to which a role is passed, also an existing one. The node role is passed to EKS and assumed by EC2."""
Statement = dict[str, Any]
Grant = tuple[str, tuple[str, ...], Statement]
"""(action, ARNs, condition)"""
DENIALS: tuple[Statement, ...] = (
    {"Effect": "Deny", "Action": ["iam:CreateUser", "iam:CreateAccessKey", "iam:CreateLoginProfile"], "Resource": ["*"]},
    {
        "Effect": "Deny",
        "Action": ["ec2:RunInstances"],
        "Resource": ["arn:aws:ec2:*:*:instance/*"],
        "Condition": {"StringNotEquals": {"ec2:MetadataHttpTokens": "required"}},
    },
)
"""Users, access keys, and instances whose metadata service accepts requests without a token."""


class Unknown(Bug):
    """A resource type or function of the graph is missing in data/types.csv."""


def policies(graph: Graph, *, account: str, region: str, preview: bool = False) -> list[dict[str, Any]]:
    """Policy documents of at most MOST_CHARACTERS each; attach all of them.

    account: 12 digits, or `*` if the plan sets none. preview: read actions only, for `pulumi preview` and `refresh`.
    Raises Unknown for a type without a row, because the policy would be incomplete. Access to Pulumi's state backend is not included.
    """
    found = _Stack(graph, account, region)
    names = [a for a in sorted(found.actions()) if not preview or actions()[a].access in READING]
    own_role = found.own_role()
    if preview:
        return _documents([*_grouped((name, found.arns(name), {}) for name in names), *own_role])
    statements = _grouped(grant for name in names if name != PASS_ROLE for grant in found.grants(name, names))
    boundaries = boundary_denials(found.boundaries(), account)
    return _documents([*_conditional(statements, found), *own_role, *_roles(found, PASS_ROLE in names), *DENIALS, *boundaries])


def administrator_warning(graph: Graph) -> str:
    """WITHOUT_BOUNDARY for a stack that creates roles without a permissions boundary; empty for other stacks."""
    roles = [node for node in graph.nodes.values() if node.type == "aws:iam/role:Role"]
    return WITHOUT_BOUNDARY if any(not node.inputs.get("permissionsBoundary") for node in roles) else ""


def _grouped(grants: Iterable[Grant]) -> list[Statement]:
    """One statement per ARNs and condition."""
    actions_of: dict[tuple[tuple[str, ...], str], list[str]] = defaultdict(list)
    for name, arns, condition in grants:
        actions_of[arns, json.dumps(condition)].append(name)
    return [
        {"Effect": "Allow", "Action": names, "Resource": list(arns)} | ({"Condition": json.loads(condition)} if condition != "{}" else {})
        for (arns, condition), names in actions_of.items()
    ]


class _Stack:
    """AWS resources of a graph, their actions and ARNs."""

    def __init__(self, graph: Graph, account: str, region: str):
        self.graph, self.place = graph, {"account": account, "region": region}
        self.nodes = [node for node in graph.nodes.values() if node.type.startswith("aws:")]
        self.tag = StackTag(self.nodes)

    def actions(self) -> set[str]:
        found: set[str] = set()
        for node in self.nodes:
            found.update(*(names for field, names in _calls(node.type) if not field or node.inputs.get(field)))
        for token, _ in self.graph.invokes:
            if token.startswith("aws:"):
                found.update(*(names for _, names in _calls(token)))
        return found

    def grants(self, action: str, names: Iterable[str]) -> Iterator[Grant]:
        """The action on each of its resource kinds, with the condition of the kind. names: all actions of the stack."""
        row = actions()[action]
        conditions = {kind: self.tag.on_resource(kind) if kind in row.tagged else [{}] for kind in row.kinds}
        for condition in {json.dumps(each): each for found in conditions.values() for each in found}.values() or [{}]:
            kinds_of = tuple(kind for kind in row.kinds if condition in conditions[kind])
            if condition or not self.tag.tags_only(action):
                yield action, self.arns(action, kinds_of), condition
        for kinds_of, condition in self.tag.while_creating(names, action, row.kinds):
            yield action, self.arns(action, kinds_of), condition

    def own_role(self) -> list[Statement]:
        """Reading the role of the deployer, whose name is not known, for its access entry."""
        if SESSION not in {token for token, _ in self.graph.invokes}:
            return []
        return [{"Effect": "Allow", "Action": ["iam:GetRole"], "Resource": [f"arn:aws:iam::{self.place['account']}:role/*"]}]

    def boundaries(self) -> list[str]:
        return self.values("aws:iam/role:Role", "permissionsBoundary")

    def arns(self, action: str, kinds_of: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """ARNs of an action, or of some of its kinds; `*` only for actions without resource-level permissions."""
        names = actions()[action].kinds if kinds_of is None else kinds_of
        targets = [kind for name in names for kind in kinds()[name]]
        found = {arn for kind in targets for arn in self._of(kind)} or {kind.arn.format(name="*", **self.place) for kind in targets}
        return tuple(sorted(found)) or ("*",)

    def _of(self, kind: ResourceKind) -> Iterator[str]:
        nodes = [node for node in self.nodes if node.type == kind.token]
        if "{name}" not in kind.arn:
            yield from [kind.arn.format(**self.place)] if nodes or not kind.token else []
            return
        names = {_pattern(node, kind.field) for node in nodes}
        if kind.token == "aws:eks/cluster:Cluster":
            names |= set(self.values("", "clusterName"))
        if kind.token == "aws:s3/bucket:Bucket":
            names |= {path.removeprefix("s3://").partition("/")[0] for path in self.values("", "dataRepositoryPath")}
        yield from (kind.arn.format(name=name, **self.place) for name in names)

    def role_arns(self) -> list[str]:
        """ARNs of the stack's new and existing roles, without principals that only have access to the cluster."""
        new = {arn for kind in kinds()["iam:role"] for arn in self._of(kind)}
        used = (node for node in self.nodes if node.type not in ACCESS)
        existing = {text for node in used for text in _texts(node.inputs) if ROLE_ARN.fullmatch(text)}
        return sorted(new | {arn for arn in existing if not any(fnmatchcase(arn, pattern) for pattern in new)})

    def trusted(self) -> list[str]:
        """Services that assume the stack's roles, or to which its resources pass a role."""
        found = {PASSED_TO[node.type] for node in self.nodes if node.type in PASSED_TO}
        for node in self.nodes:
            if node.type == "aws:iam/role:Role":
                for statement in json.loads(unwrap_secrets(node.inputs["assumeRolePolicy"]))["Statement"]:
                    service = statement["Principal"].get("Service", [])
                    found.update([service] if isinstance(service, str) else service)
        return sorted(found)

    def values(self, token: str, field: str) -> list[str]:
        """Values of `field` on resources of a type, or of any type for ""."""
        return sorted({str(node.inputs[field]) for node in self.nodes if token in ("", node.type) and node.inputs.get(field)})


def _calls(token: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if token not in calls():
        raise Unknown(f"{token} has no row in components/rackwright_pulumi/deployer/data/types.csv")
    return calls()[token]


def _pattern(node: Node, field: str) -> str:
    """Pattern of the physical name: the engine appends a dash and 7 characters to a name, and AWS a suffix to a prefix."""
    fixed, prefix = node.inputs.get(field), node.inputs.get(f"{field}Prefix")
    return str(fixed) if fixed else f"{prefix}*" if prefix else f"{node.name}-*"


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for item in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _texts(item)


def _conditional(statements: list[Statement], stack: _Stack) -> Iterator[Statement]:
    """Limit attachments to the policies that the stack attaches and, with a boundary, to roles that have it."""
    attached = stack.values("aws:iam/rolePolicyAttachment:RolePolicyAttachment", "policyArn")
    boundaries = stack.boundaries()
    for statement in statements:
        unconditional = [name for name in statement["Action"] if name not in BOUNDARY_ACTIONS]
        yield from [{**statement, "Action": unconditional}] if unconditional else []
        for name in (name for name in statement["Action"] if name in BOUNDARY_ACTIONS):
            tests = {"ArnEquals": {"iam:PolicyARN": attached}} if name in ATTACH and attached else {}
            tests |= {"StringEquals": {BOUNDARY_KEY: boundaries}} if boundaries else {}
            yield {**statement, "Action": [name]} | ({"Condition": tests} if tests else {})


def _roles(stack: _Stack, passes: bool) -> Iterator[Statement]:
    """Allow passing roles to their services, and creating service-linked roles."""
    if passes and stack.role_arns():
        yield {
            "Effect": "Allow",
            "Action": [PASS_ROLE],
            "Resource": stack.role_arns(),
            "Condition": {"StringEquals": {"iam:PassedToService": stack.trusted()}},
        }
    if LUSTRE_IMPORT in {node.type for node in stack.nodes}:
        role = f"arn:aws:iam::{stack.place['account']}:role/aws-service-role/{SERVICE_LINKED[LUSTRE_IMPORT][0]}/*"
        yield {"Effect": "Allow", "Action": ["iam:AttachRolePolicy", "iam:PutRolePolicy"], "Resource": [role]}
    services = {name for node in stack.nodes for name in SERVICE_LINKED.get(node.type, ())}
    services |= {
        SPOT
        for node in stack.nodes
        if node.inputs.get("capacityType") == "SPOT" or "spot" in _texts(node.inputs.get("instanceMarketOptions"))
    }
    if any(text.startswith("arn:aws:automate:") for node in stack.nodes for text in _texts(node.inputs.get("alarmActions"))):
        services.add(ALARM_ACTIONS)
    if services:
        yield {
            "Effect": "Allow",
            "Action": ["iam:CreateServiceLinkedRole"],
            "Resource": [f"arn:aws:iam::{stack.place['account']}:role/aws-service-role/*"],
            "Condition": {"StringEquals": {"iam:AWSServiceName": sorted(services)}},
        }


def _documents(statements: list[Statement]) -> list[dict[str, Any]]:
    """Pack statements into documents, first fit. Raises Bug for a statement that exceeds a document."""
    packed: list[list[Statement]] = []
    for statement in statements:
        target = next((group for group in packed if _length([*group, statement]) <= MOST_CHARACTERS), None)
        if target is None:
            packed.append(target := [])
        target.append(statement)
        if _length(target) > MOST_CHARACTERS:
            raise Bug(f"a statement has {_length([statement])} characters, which exceeds {MOST_CHARACTERS}")
    return [_document(group) for group in packed]


def _document(statements: list[Statement]) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": statements}


def _length(statements: list[Statement]) -> int:
    return len(json.dumps(_document(statements), separators=(",", ":")))
