"""Texts AWS validates: ARNs, ranges, policies, names, schedules, tags, descriptions."""

import ipaddress
import json
import re
from collections.abc import Iterator
from typing import Any

from rackwright.diagnostics.problem import Level
from rackwright.diagnostics.rule import Violation

from rackwright_pulumi.policies.graph_view import SUBNET, VPC, GraphView
from rackwright_pulumi.policies.registry import rule, violation
from rackwright_pulumi.resource_graph import Node

ARN = re.compile(r"arn:aws[a-z-]*:([a-z0-9-]+:[a-z0-9-]*:(\d{12}|aws)?:\S+|automate:[a-z0-9-]+:ec2:(stop|terminate|reboot|recover))")
"""The second form is an alarm's action on its machine (CloudWatch, PutMetricAlarm)."""
RANGES = ("cidrBlock", "cidrIpv4", "cidrIpv6", "destinationCidrBlock")
RANGE_LISTS = ("cidrBlocks", "publicAccessCidrs", "remoteNetworkCidrs")
VPC_PREFIXES = (16, 28)
"""Longest and shortest range of a VPC and of a subnet: docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html."""
POLICIES = {
    "aws:iam/policy:Policy": ("policy", 6144),
    "aws:iam/rolePolicy:RolePolicy": ("policy", 10240),
    "aws:iam/role:Role": ("assumeRolePolicy", 2048),
    "aws:s3/bucketPolicy:BucketPolicy": ("policy", 20480),
    "aws:kms/key:Key": ("policy", 32768),
    "aws:sqs/queuePolicy:QueuePolicy": ("policy", None),
    "aws:sns/topicPolicy:TopicPolicy": ("policy", 30720),
    "aws:ec2/vpcEndpoint:VpcEndpoint": ("policy", 20480),
}
"""Type to (input, most characters), blanks not counted; None: no number of its own.
Source: docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html and the services' own pages of quotas."""
DOCUMENTS = ("policy", "assumeRolePolicy", "inlinePolicies", "userData", "eventPattern")
"""Inputs that are texts of their own, with ARNs and patterns of ARNs inside."""
WITH_PRINCIPAL = ("assumeRolePolicy",)
ROLE_POLICIES = 10240
"""All inline policies of a role together (IAM quotas)."""
NAMES = {
    "aws:iam/role:Role": ("name", r"[\w+=,.@-]{1,64}"),
    "aws:iam/instanceProfile:InstanceProfile": ("name", r"[\w+=,.@-]{1,128}"),
    "aws:iam/policy:Policy": ("name", r"[\w+=,.@-]{1,128}"),
    "aws:eks/cluster:Cluster": ("name", r"[0-9A-Za-z][\w-]{0,99}"),
    "aws:eks/nodeGroup:NodeGroup": ("nodeGroupName", r"[0-9A-Za-z][\w-]{0,62}"),
    "aws:ec2/launchTemplate:LaunchTemplate": ("name", r"[\w()./-]{3,128}"),
    "aws:ec2/securityGroup:SecurityGroup": ("name", r"(?!sg-)[\w .:/()#,@\[\]+=&;{}!$*-]{1,255}"),
    "aws:s3/bucket:Bucket": ("bucket", r"(?!xn--)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]"),
    "aws:cloudwatch/logGroup:LogGroup": ("name", r"[\w./#-]{1,512}"),
    "aws:kms/alias:Alias": ("name", r"alias/(?!aws/)[\w/-]{1,250}"),
    "aws:sqs/queue:Queue": ("name", r"[\w-]{1,80}(\.fifo)?"),
    "aws:sns/topic:Topic": ("name", r"[\w-]{1,256}(\.fifo)?"),
    "aws:scheduler/schedule:Schedule": ("name", r"[\w.-]{1,64}"),
    "aws:cloudwatch/eventRule:EventRule": ("name", r"[\w.-]{1,64}"),
    "aws:budgets/budget:Budget": ("name", r"(?!.*[:\\]).{1,100}"),
}
"""Type to (input, pattern), each from the API reference of the service's create call."""
PREFIXES = {"aws:iam/role:Role": 38, "aws:s3/bucket:Bucket": 37, "aws:ec2/securityGroup:SecurityGroup": 229}
"""Most characters of a name_prefix: the provider adds 26."""
SCHEDULES = {
    "aws:scheduler/schedule:Schedule": "scheduleExpression",
    "aws:cloudwatch/eventRule:EventRule": "scheduleExpression",
}
RATE = re.compile(r"rate\((1 (minute|hour|day)|([2-9]|[1-9]\d+) (minutes|hours|days))\)")
AT = re.compile(r"at\(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\)")
CRON_FIELDS = re.compile(r"cron\(([\w*?/,#-]+ ){5}[\w*?/,#-]+\)")
UNIX_CRON = re.compile(r"([\d*/,A-Za-z-]+ ){4}[\d*/,A-Za-z-]+")
UTC_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
TAG_TEXT = re.compile(r"[\w\s.:/=+@-]*")
MOST_TAGS = 50
SHOWN = 40
"""Characters of a wrong name that are printed."""
DESCRIPTION = re.compile(r"[\w .:/()#,@\[\]+=&;{}!$*-]{0,255}", re.ASCII)


@rule("L-01", Level.ERROR, "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html")
def arns_are_arns(view: GraphView) -> Iterator[Violation]:
    """An ARN is arn:partition:service:region:account:resource, with twelve digits for an account."""
    for node in _aws(view):
        for path, text in _leaves(view.inputs(node)):
            named = str(path[-1]).endswith(("Arn", "Arns")) or any(str(step).endswith("Arns") for step in path)
            if (named or text.startswith("arn:")) and path[0] not in DOCUMENTS and not ARN.fullmatch(text):
                yield violation(node, path, "write it whole", f"got {text}")


@rule("L-02", Level.ERROR, "https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html")
def ranges_are_ranges(view: GraphView) -> Iterator[Violation]:
    """A CIDR range begins at its first address; a VPC and a subnet have /16 to /28, a subnet lies in its VPC and apart from the others."""
    for node in _aws(view):
        for path, text in _leaves(view.inputs(node)):
            if (path[-1] in RANGES or (len(path) > 1 and path[-2] in RANGE_LISTS)) and (wrong := _no_range(text)):
                yield violation(node, path, *wrong)
    placed: dict[str, list[tuple[Any, Node]]] = {}
    for node in view.of(VPC, SUBNET):
        own = _range(view, node)
        if own is None:
            continue
        if not VPC_PREFIXES[0] <= own.prefixlen <= VPC_PREFIXES[1]:
            nearest = min(max(own.prefixlen, VPC_PREFIXES[0]), VPC_PREFIXES[1])
            yield violation(node, ("cidrBlock",), f"use a /{nearest}", f"got {own}")
        if node.type == SUBNET:
            yield from _misplaced(view, node, own, placed.setdefault(str(view.inputs(node).get("vpcId")), []))


def _misplaced(view: GraphView, node: Node, own: Any, others: list[tuple[Any, Node]]) -> Iterator[Violation]:
    vpc = view.find(VPC, view.inputs(node).get("vpcId"))
    whole = _range(view, vpc) if vpc else None
    if whole is not None and not own.subnet_of(whole):
        yield violation(node, ("cidrBlock",), f"take it from {whole}", f"got {own}")
    for other, there in others:
        if own.overlaps(other):
            yield violation(node, ("cidrBlock",), f"take another than {other} of {there.name}", f"got {own}")
    others.append((own, node))


def _range(view: GraphView, node: Node) -> ipaddress.IPv4Network | None:
    text = view.inputs(node).get("cidrBlock")
    return None if not isinstance(text, str) or _no_range(text) else ipaddress.IPv4Network(text)


def _no_range(text: str) -> tuple[str, str] | None:
    try:
        ipaddress.ip_network(text)
    except ValueError:
        try:
            return f"write {ipaddress.ip_network(text, strict=False)}", f"got {text}"
        except ValueError:
            return "write it as 10.0.0.0/16", f"got {text}"
    return None


@rule("L-03", Level.ERROR, "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html")
def policies_are_policies(view: GraphView) -> Iterator[Violation]:
    """A policy is JSON of version 2012-10-17 whose statements say effect, action and resource or principal, within its length."""
    together: dict[str, int] = {}
    for token, (key, most) in POLICIES.items():
        for node in view.of(token):
            text = view.inputs(node).get(key)
            if not isinstance(text, str):
                continue
            for fix, words in _no_policy(text, key):
                yield violation(node, (key,), fix, words)
            length = len(re.sub(r"\s", "", text))
            if most and length > most:
                yield violation(node, (key,), f"keep {most:,} characters: name fewer actions, or split it", f"{length:,}")
            if token.endswith(":RolePolicy"):
                role = str(view.inputs(node).get("role"))
                together[role] = together.get(role, 0) + length
                if together[role] > ROLE_POLICIES >= length:
                    yield violation(node, (key,), f"keep {ROLE_POLICIES:,} characters in all of {role}", f"{together[role]:,}")


def _no_policy(text: str, key: str) -> Iterator[tuple[str, str]]:
    try:
        found = json.loads(text)
    except ValueError:
        yield "write JSON", "it is none"
        return
    statements = found.get("Statement") if isinstance(found, dict) else None
    if not statements or found.get("Version") != "2012-10-17":
        yield "write Version 2012-10-17 and a Statement", "one is missing"
    for statement in [statements] if isinstance(statements, dict) else statements or ():
        parts = {"Effect", "Action", "Principal" if key in WITH_PRINCIPAL else "Resource"}
        missing = sorted(part for part in parts if not {part, f"Not{part}"} & set(statement))
        if missing or statement.get("Effect") not in ("Allow", "Deny"):
            yield f"add {', '.join(missing) or 'Effect Allow or Deny'}", f"statement {statement.get('Sid', '')!r}"


@rule("L-04", Level.ERROR, "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html")
def names_fit(view: GraphView) -> Iterator[Violation]:
    """A name has the characters and the length its service takes, with what the engine or the provider adds to it."""
    for token, (key, pattern) in NAMES.items():
        for node in view.of(token):
            name = view.inputs(node).get(key) or node.state.get(key)
            prefix = view.inputs(node).get(f"{key}Prefix") or ""
            if isinstance(name, str) and not re.fullmatch(pattern, name, re.ASCII):
                yield violation(node, (key,), f"let it match {pattern}", f"got {name[:SHOWN]!r}, {len(name)} characters")
            if len(prefix) > (most := PREFIXES.get(token, len(prefix))):
                yield violation(node, (f"{key}Prefix",), f"keep {most} characters: {prefix[:most]}", f"got {len(prefix)}")


@rule("L-05", Level.ERROR, "https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html")
def times_are_times(view: GraphView) -> Iterator[Violation]:
    """A schedule is cron() of six fields, rate() or at(); a scaling schedule's recurrence has five fields, and its times end in Z."""
    for token, key in SCHEDULES.items():
        for node in view.of(token):
            text = view.inputs(node).get(key)
            if text and not any(pattern.fullmatch(text) for pattern in (RATE, AT, CRON_FIELDS)):
                yield violation(node, (key,), "write cron(0 12 * * ? *), rate(1 hour) or at(2026-12-01T12:00:00)", f"got {text}")
    for node in view.of("aws:autoscaling/schedule:Schedule"):
        inputs = view.inputs(node)
        if inputs.get("recurrence") and not UNIX_CRON.fullmatch(inputs["recurrence"]):
            yield violation(node, ("recurrence",), "write 0 12 * * *", f"got {inputs['recurrence']}")
        for key in ("startTime", "endTime"):
            if inputs.get(key) and not UTC_TIME.fullmatch(inputs[key]):
                yield violation(node, (key,), "write 2026-12-01T12:00:00Z", f"got {inputs[key]}")


@rule("L-06", Level.ERROR, "https://docs.aws.amazon.com/tag-editor/latest/userguide/tagging.html")
def tags_fit(view: GraphView) -> Iterator[Violation]:
    """A resource has 50 tags at most, keys of 128 characters and values of 256, and none that begins with aws:."""
    for node in _aws(view):
        tags = view.inputs(node).get("tags")
        if not isinstance(tags, dict):
            continue
        if len(tags) > MOST_TAGS:
            yield violation(node, ("tags",), f"keep {MOST_TAGS}", f"there are {len(tags)}")
        for key, value in tags.items():
            fits = 0 < len(key) <= 128 and len(str(value)) <= 256 and not key.lower().startswith("aws:")
            if not fits or not TAG_TEXT.fullmatch(key) or not TAG_TEXT.fullmatch(str(value)):
                yield violation(node, ("tags", key), "shorten it, or use letters, digits, blanks and _.:/=+-@", f"got {value}")


@rule("L-07", Level.ERROR, "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateSecurityGroup.html")
def descriptions_of_groups_fit(view: GraphView) -> Iterator[Violation]:
    """Descriptions of security groups and their rules have 255 characters at most, of a set without apostrophes and quotes."""
    for node in _aws(view):
        text = view.inputs(node).get("description")
        if ":SecurityGroup" in node.type and isinstance(text, str) and not DESCRIPTION.fullmatch(text):
            yield violation(node, ("description",), "use letters, digits, blanks and ._-:/()#,@[]+=&;{}!$*", f"got {text[:SHOWN]!r}")


@rule("L-08", Level.ERROR, "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_IpPermission.html")
def rules_of_groups_are_whole(view: GraphView) -> Iterator[Violation]:
    """A rule of a security group names one peer; for all protocols it has no ports, else two, in order."""
    peers = ("cidrIpv4", "cidrIpv6", "prefixListId", "referencedSecurityGroupId")
    for node in _aws(view):
        if not node.type.endswith(("SecurityGroupIngressRule", "SecurityGroupEgressRule")):
            continue
        inputs = view.inputs(node)
        named = [key for key in peers if inputs.get(key) or key in node.unknown_inputs]
        if len(named) != 1:
            yield violation(node, (), f"name one of {', '.join(peers)}", f"it names {', '.join(named) or 'none'}")
        first, last = inputs.get("fromPort"), inputs.get("toPort")
        every = str(inputs.get("ipProtocol")) == "-1"
        if every and (first is not None or last is not None):
            yield violation(node, ("fromPort",), "leave the ports out")
        if not every and (first is None or last is None or first > last):
            yield violation(node, ("fromPort",), "name the first and the last port", f"got {first} to {last}")


def _aws(view: GraphView) -> Iterator[Node]:
    yield from (node for node in view.graph.nodes.values() if node.type.startswith("aws:"))


def _leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if isinstance(value, str):
        yield path, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from _leaves(item, (*path, key))
