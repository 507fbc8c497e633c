"""The deployer's policy documents. Least privilege: every action on the ARNs the stack's own names give it."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rackwright.diagnostics.errors import Bug

from rackwright_pulumi.deployer.tables import ResourceKind, actions, calls, kinds
from rackwright_pulumi.resource_graph import Graph, Node, unwrap_secrets

MOST_CHARACTERS = 6144
"""Of a managed policy, white space not counted: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html"""
READING = ("Read", "List")
PASS_ROLE, ATTACH = "iam:PassRole", ("iam:AttachRolePolicy", "iam:DetachRolePolicy")
BOUND = ("iam:CreateRole", "iam:PutRolePolicy", "iam:DeleteRolePolicy", "iam:PutRolePermissionsBoundary", *ATTACH)
"""Actions that could give a role more than its boundary."""
ROLE_ARN = re.compile(r"arn:aws[a-z-]*:iam::\d{12}:role/\S+")
SERVICE_LINKED = {
    "aws:eks/cluster:Cluster": ("eks.amazonaws.com",),
    "aws:eks/nodeGroup:NodeGroup": ("eks-nodegroup.amazonaws.com", "autoscaling.amazonaws.com"),
    "aws:fsx/lustreFileSystem:LustreFileSystem": ("fsx.amazonaws.com",),
    "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation": ("s3.data-source.lustre.fsx.amazonaws.com",),
}
"""Services that make a role of their own in the account the first time:
https://docs.aws.amazon.com/IAM/latest/UserGuide/using-service-linked-roles.html"""
SPOT = "spot.amazonaws.com"
STOPPING = "events.amazonaws.com"
"""Stops or ends the machine of an alarm: docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html"""
PASSED_TO = {
    "aws:eks/cluster:Cluster": "eks.amazonaws.com",
    "aws:eks/nodeGroup:NodeGroup": "eks.amazonaws.com",
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": "pods.eks.amazonaws.com",
}
"""Services that are handed a role, whoever made it; EKS is handed that of the nodes too, which EC2 assumes."""
Statement = dict[str, Any]


class Unknown(Bug):
    """A resource type or function of the graph has no row in data/types.csv."""


def policies(graph: Graph, *, account: str, region: str, preview: bool = False) -> list[dict[str, Any]]:
    """Policy documents of at most MOST_CHARACTERS each, to be attached together.

    account: twelve digits, or `*` where the plan names none. preview: only what reads, enough for `pulumi preview` and `refresh`.
    Raises Unknown for a type the table lacks, so that no document is silently short. Where Pulumi keeps its state is not part of it.
    """
    found = _Stack(graph, account, region)
    wanted = [a for a in sorted(found.actions()) if not preview or actions()[a].access in READING]
    statements = list(_merged((action, found.arns(action)) for action in wanted if action != PASS_ROLE))
    if not preview:
        statements = [*_bounded(statements, found), *_roles(found, PASS_ROLE in wanted), *_guards()]
    return _documents(statements)


class _Stack:
    """The graph as the policy reads it."""

    def __init__(self, graph: Graph, account: str, region: str):
        self.graph, self.place = graph, {"account": account, "region": region}
        self.nodes = [node for node in graph.nodes.values() if node.type.startswith("aws:")]

    def actions(self) -> set[str]:
        found: set[str] = set()
        for node in self.nodes:
            found.update(*(names for field, names in _known(node.type) if not field or node.inputs.get(field)))
        for token, _ in self.graph.invokes:
            if token.startswith("aws:"):
                found.update(*(names for _, names in _known(token)))
        return found

    def arns(self, action: str) -> tuple[str, ...]:
        """`*` only where AWS checks the action on nothing narrower."""
        about = [kind for name in actions()[action].kinds for kind in kinds()[name]]
        found = {arn for kind in about for arn in self._of(kind)} or {kind.arn.format(name="*", **self.place) for kind in about}
        return tuple(sorted(found)) or ("*",)

    def _of(self, kind: ResourceKind) -> Iterator[str]:
        makers = [node for node in self.nodes if node.type == kind.token]
        if "{name}" not in kind.arn:
            yield from [kind.arn.format(**self.place)] if makers or not kind.token else []
            return
        names = {_pattern(node, kind.field) for node in makers}
        if kind.token == "aws:eks/cluster:Cluster":
            names |= set(self.values("", "clusterName"))
        if kind.token == "aws:s3/bucket:Bucket":
            names |= {path.removeprefix("s3://").partition("/")[0] for path in self.values("", "dataRepositoryPath")}
        yield from (kind.arn.format(name=name, **self.place) for name in names)

    def role_arns(self) -> list[str]:
        """Of the roles the stack makes and of those it is given."""
        made = {arn for kind in kinds()["iam:role"] for arn in self._of(kind)}
        given = {text for node in self.nodes for text in _texts(node.inputs) if ROLE_ARN.fullmatch(text)}
        return sorted(made | {arn for arn in given if not any(_covers(pattern, arn) for pattern in made)})

    def trusted(self) -> list[str]:
        """Services the stack's roles are for, and those its resources hand a role to."""
        found = {PASSED_TO[node.type] for node in self.nodes if node.type in PASSED_TO}
        for node in self.nodes:
            if node.type == "aws:iam/role:Role":
                for statement in json.loads(unwrap_secrets(node.inputs["assumeRolePolicy"]))["Statement"]:
                    service = statement["Principal"].get("Service", [])
                    found.update([service] if isinstance(service, str) else service)
        return sorted(found)

    def values(self, token: str, field: str) -> list[str]:
        """What `field` is on resources of a type, "" for any."""
        return sorted({str(node.inputs[field]) for node in self.nodes if token in ("", node.type) and node.inputs.get(field)})


def _known(token: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if token not in calls():
        raise Unknown(f"which actions {token} takes is not in components/rackwright_pulumi/deployer/data/types.csv")
    return calls()[token]


def _pattern(node: Node, field: str) -> str:
    """The physical name, as far as it is known before there is one: the engine adds a dash and seven characters, AWS more to a prefix."""
    fixed, prefix = node.inputs.get(field), node.inputs.get(f"{field}Prefix")
    return str(fixed) if fixed else f"{prefix}*" if prefix else f"{node.name}-*"


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for item in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _texts(item)


def _covers(pattern: str, arn: str) -> bool:
    return re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), arn) is not None


def _merged(pairs: Iterable[tuple[str, tuple[str, ...]]]) -> Iterator[Statement]:
    by_arns = defaultdict(list)
    for action, arns in pairs:
        by_arns[arns].append(action)
    yield from ({"Effect": "Allow", "Action": names, "Resource": list(arns)} for arns, names in by_arns.items())


def _bounded(statements: list[Statement], stack: _Stack) -> Iterator[Statement]:
    """Policies may be attached to roles only if the stack attaches them; with a boundary, only to roles that have it."""
    attached = stack.values("aws:iam/rolePolicyAttachment:RolePolicyAttachment", "policyArn")
    boundaries = stack.values("aws:iam/role:Role", "permissionsBoundary")
    for statement in statements:
        free = [name for name in statement["Action"] if name not in BOUND]
        yield from [{**statement, "Action": free}] if free else []
        for name in (name for name in statement["Action"] if name in BOUND):
            tests = {"ArnEquals": {"iam:PolicyARN": attached}} if name in ATTACH and attached else {}
            tests |= {"StringEquals": {"iam:PermissionsBoundary": boundaries}} if boundaries else {}
            yield {**statement, "Action": [name]} | ({"Condition": tests} if tests else {})


def _roles(stack: _Stack, passes: bool) -> Iterator[Statement]:
    """Roles are passed to the services they are for, and services may make the ones of their own."""
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
        services.add(STOPPING)
    if services:
        yield {
            "Effect": "Allow",
            "Action": ["iam:CreateServiceLinkedRole"],
            "Resource": [f"arn:aws:iam::{stack.place['account']}:role/aws-service-role/*"],
            "Condition": {"StringEquals": {"iam:AWSServiceName": sorted(services)}},
        }


def _guards() -> Iterator[Statement]:
    """What no other policy of the deployer may undo: no people, no long-lived keys, no machine whose metadata answers without a token."""
    people = ["iam:CreateUser", "iam:CreateAccessKey", "iam:CreateLoginProfile"]
    yield {"Effect": "Deny", "Action": people, "Resource": ["*"]}
    tokens = {"StringNotEquals": {"ec2:MetadataHttpTokens": "required"}}
    yield {"Effect": "Deny", "Action": ["ec2:RunInstances"], "Resource": ["arn:aws:ec2:*:*:instance/*"], "Condition": tokens}


def _documents(statements: list[Statement]) -> list[dict[str, Any]]:
    """First fit: a document takes statements until one would make it too long. Raises Bug on one that fits no document."""
    packed: list[list[Statement]] = []
    for statement in statements:
        home = next((group for group in packed if _length([*group, statement]) <= MOST_CHARACTERS), None)
        if home is None:
            packed.append(home := [])
        home.append(statement)
        if _length(home) > MOST_CHARACTERS:
            raise Bug(f"a statement of {_length([statement])} characters")
    return [_document(group) for group in packed]


def _document(statements: list[Statement]) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": statements}


def _length(statements: list[Statement]) -> int:
    return len(json.dumps(_document(statements), separators=(",", ":")))
