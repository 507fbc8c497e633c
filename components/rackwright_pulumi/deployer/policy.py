"""Policy documents of the deployer: every action is limited to the ARNs of the stack."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from rackwright.diagnostics.errors import Bug

from rackwright_pulumi.deployer.tables import ResourceKind, actions, calls, kinds
from rackwright_pulumi.resource_graph import Graph, Node, unwrap_secrets

MOST_CHARACTERS = 6144
"""Of a managed policy without white space: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html"""
READING = ("Read", "List")
PASS_ROLE, ATTACH = "iam:PassRole", ("iam:AttachRolePolicy", "iam:DetachRolePolicy")
BOUNDARY_ACTIONS = ("iam:CreateRole", "iam:PutRolePolicy", "iam:DeleteRolePolicy", "iam:PutRolePermissionsBoundary", *ATTACH)
"""Actions that could grant a role more than its permissions boundary."""
ROLE_ARN = re.compile(r"arn:aws[a-z-]*:iam::(\d{12}|\*):role/\S+")
SERVICE_LINKED = {
    "aws:eks/cluster:Cluster": ("eks.amazonaws.com",),
    "aws:eks/nodeGroup:NodeGroup": ("eks-nodegroup.amazonaws.com", "autoscaling.amazonaws.com"),
    "aws:fsx/lustreFileSystem:LustreFileSystem": ("fsx.amazonaws.com",),
    "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation": ("s3.data-source.lustre.fsx.amazonaws.com",),
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
    by_arns = defaultdict(list)
    for name in names:
        if name != PASS_ROLE:
            by_arns[found.arns(name)].append(name)
    statements = [{"Effect": "Allow", "Action": grouped, "Resource": list(arns)} for arns, grouped in by_arns.items()]
    if not preview:
        statements = [*_conditional(statements, found), *_roles(found, PASS_ROLE in names), *DENIALS]
    return _documents(statements)


class _Stack:
    """AWS resources of a graph, their actions and ARNs."""

    def __init__(self, graph: Graph, account: str, region: str):
        self.graph, self.place = graph, {"account": account, "region": region}
        self.nodes = [node for node in graph.nodes.values() if node.type.startswith("aws:")]

    def actions(self) -> set[str]:
        found: set[str] = set()
        for node in self.nodes:
            found.update(*(names for field, names in _calls(node.type) if not field or node.inputs.get(field)))
        for token, _ in self.graph.invokes:
            if token.startswith("aws:"):
                found.update(*(names for _, names in _calls(token)))
        return found

    def arns(self, action: str) -> tuple[str, ...]:
        """ARNs of an action; `*` only for actions without resource-level permissions."""
        targets = [kind for name in actions()[action].kinds for kind in kinds()[name]]
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
        """ARNs of the stack's new and existing roles."""
        new = {arn for kind in kinds()["iam:role"] for arn in self._of(kind)}
        existing = {text for node in self.nodes for text in _texts(node.inputs) if ROLE_ARN.fullmatch(text)}
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
    boundaries = stack.values("aws:iam/role:Role", "permissionsBoundary")
    for statement in statements:
        unconditional = [name for name in statement["Action"] if name not in BOUNDARY_ACTIONS]
        yield from [{**statement, "Action": unconditional}] if unconditional else []
        for name in (name for name in statement["Action"] if name in BOUNDARY_ACTIONS):
            tests = {"ArnEquals": {"iam:PolicyARN": attached}} if name in ATTACH and attached else {}
            tests |= {"StringEquals": {"iam:PermissionsBoundary": boundaries}} if boundaries else {}
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
