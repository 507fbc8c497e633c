"""Texts that AWS validates: ARNs, CIDR ranges, policies, names, schedules, tags, descriptions.

The limits are written out here because botocore's service models lack most of them: no name limits for node groups, launch templates,
security groups, buckets, queues and topics, and 131,072 characters for any IAM policy. A test compares the names both have.
"""

import ipaddress
import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from rackwright.diagnostics.problem import Level
from rackwright.diagnostics.rule import Violation

from rackwright_pulumi.policies.graph_view import SUBNET, VPC, GraphView
from rackwright_pulumi.policies.registry import rule, violation
from rackwright_pulumi.resource_graph import Node

ARN = re.compile(r"arn:aws[a-z-]*:([a-z0-9-]+:[a-z0-9-]*:(\d{12}|aws)?:\S+|automate:[a-z0-9-]+:ec2:(stop|terminate|reboot|recover))")
"""The second form is an alarm's action on its instance: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html"""
CIDR_FIELDS = ("cidrBlock", "cidrIpv4", "cidrIpv6", "destinationCidrBlock")
CIDR_LIST_FIELDS = ("cidrBlocks", "publicAccessCidrs", "remoteNetworkCidrs")
VPC_PREFIXES = (16, 28)
"""Shortest and longest prefix of a VPC and of a subnet: https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html"""
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
"""Type to (input, maximum of characters without white space); None: no published limit.
Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html and the quota page of each service."""
DOCUMENT_FIELDS = ("policy", "assumeRolePolicy", "inlinePolicies", "userData", "eventPattern")
"""Inputs that are whole documents, with ARNs and ARN patterns in them."""
MAX_ROLE_POLICIES = 10240
"""Characters of all inline policies of a role together (IAM quotas)."""
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
"""Type to (input, pattern). Source: the API reference of the service's create call."""
MAX_PREFIX = {"aws:iam/role:Role": 38, "aws:s3/bucket:Bucket": 37, "aws:ec2/securityGroup:SecurityGroup": 229}
"""Characters of a name_prefix; the provider appends 26."""
SCHEDULES = {
    "aws:scheduler/schedule:Schedule": "scheduleExpression",
    "aws:cloudwatch/eventRule:EventRule": "scheduleExpression",
}
RATE = re.compile(r"rate\((1 (minute|hour|day)|([2-9]|[1-9]\d+) (minutes|hours|days))\)")
ONE_TIME = re.compile(r"at\(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\)")
CRON = re.compile(r"cron\(([\w*?/,#-]+ ){5}[\w*?/,#-]+\)")
UNIX_CRON = re.compile(r"([\d*/,A-Za-z-]+ ){4}[\d*/,A-Za-z-]+")
UTC_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
TAG_TEXT = re.compile(r"[\w\s.:/=+@-]*")
MAX_TAGS = 50
MAX_SHOWN = 40
"""Characters of an invalid name that are printed."""
DESCRIPTION = re.compile(r"[\w .:/()#,@\[\]+=&;{}!$*-]{0,255}", re.ASCII)


@rule("L-01", Level.ERROR, "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html")
def arns_are_valid(view: GraphView) -> Iterator[Violation]:
    """An ARN has the form arn:partition:service:region:account:resource, with 12 digits for the account."""
    for node in _aws(view):
        for path, text in _leaves(view.inputs(node)):
            is_arn_field = str(path[-1]).endswith(("Arn", "Arns")) or any(str(step).endswith("Arns") for step in path)
            if (is_arn_field or text.startswith("arn:")) and path[0] not in DOCUMENT_FIELDS and not ARN.fullmatch(text):
                yield violation(node, path, f"{text} is not an ARN", "use arn:partition:service:region:account:resource")


@rule("L-02", Level.ERROR, "https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html")
def cidr_ranges_are_valid(view: GraphView) -> Iterator[Violation]:
    """A CIDR range starts at its network address; VPCs and subnets are /16 to /28; subnets lie in their VPC and do not overlap."""
    for node in _aws(view):
        for path, text in _leaves(view.inputs(node)):
            is_cidr_field = path[-1] in CIDR_FIELDS or (len(path) > 1 and path[-2] in CIDR_LIST_FIELDS)
            if is_cidr_field and (wrong := _invalid_range(text)):
                yield violation(node, path, *wrong)
    subnets: dict[str, list[tuple[ipaddress.IPv4Network, Node]]] = {}
    for node in view.of(VPC, SUBNET):
        cidr = _range(view, node)
        if cidr is None:
            continue
        if not VPC_PREFIXES[0] <= cidr.prefixlen <= VPC_PREFIXES[1]:
            nearest = min(max(cidr.prefixlen, VPC_PREFIXES[0]), VPC_PREFIXES[1])
            yield violation(node, ("cidrBlock",), f"{cidr} is outside /16 to /28", f"use a /{nearest}")
        if node.type == SUBNET:
            yield from _misplaced(view, node, cidr, subnets.setdefault(str(view.inputs(node).get("vpcId")), []))


def _misplaced(
    view: GraphView, node: Node, cidr: ipaddress.IPv4Network, others: list[tuple[ipaddress.IPv4Network, Node]]
) -> Iterator[Violation]:
    """Violations of one subnet; adds it to `others`, the subnets of its VPC."""
    vpc = view.find(VPC, view.inputs(node).get("vpcId"))
    vpc_cidr = _range(view, vpc) if vpc else None
    if vpc_cidr is not None and not cidr.subnet_of(vpc_cidr):
        yield violation(node, ("cidrBlock",), f"{cidr} is not in {vpc_cidr}, the range of its VPC", f"use a range in {vpc_cidr}")
    for other, subnet in others:
        if cidr.overlaps(other):
            yield violation(node, ("cidrBlock",), f"{cidr} overlaps {other} of {subnet.name}", "use another range")
    others.append((cidr, node))


def _range(view: GraphView, node: Node) -> ipaddress.IPv4Network | None:
    text = view.inputs(node).get("cidrBlock")
    return None if not isinstance(text, str) or _invalid_range(text) else ipaddress.IPv4Network(text)


def _invalid_range(text: str) -> tuple[str, str] | None:
    """Message and fix of a text that is not a CIDR range."""
    try:
        ipaddress.ip_network(text)
    except ValueError:
        try:
            return f"{text} does not start at its network address", f"use {ipaddress.ip_network(text, strict=False)}"
        except ValueError:
            return f"{text} is not a CIDR range", "use a range such as 10.0.0.0/16"
    return None


@rule("L-03", Level.ERROR, "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html")
def policies_are_valid(view: GraphView) -> Iterator[Violation]:
    """A policy is JSON of version 2012-10-17 within its length, and each statement has an effect, an action and a resource or principal."""
    role_lengths: Counter[str] = Counter()
    for token, (key, maximum) in POLICIES.items():
        for node in view.of(token):
            text = view.inputs(node).get(key)
            if not isinstance(text, str):
                continue
            for message, fix in _invalid_policy(text, key):
                yield violation(node, (key,), message, fix)
            length = len(re.sub(r"\s", "", text))
            if maximum and length > maximum:
                message = f"The policy has {length:,} characters, which exceeds {maximum:,}"
                yield violation(node, (key,), message, "allow fewer actions, or split it")
            if token.endswith(":RolePolicy"):
                role = str(view.inputs(node).get("role"))
                role_lengths[role] += length
                if role_lengths[role] > MAX_ROLE_POLICIES >= length:
                    message = f"The inline policies of {role} have {role_lengths[role]:,} characters, which exceeds {MAX_ROLE_POLICIES:,}"
                    yield violation(node, (key,), message, "use a managed policy for some of them")


def _invalid_policy(text: str, key: str) -> Iterator[tuple[str, str]]:
    """Messages and fixes. key: the input that holds the policy."""
    try:
        found = json.loads(text)
    except ValueError:
        yield "The policy is not JSON", "write it as JSON"
        return
    statements = found.get("Statement") if isinstance(found, dict) else None
    if not statements:
        yield "The policy has no Statement", "add one"
    if not isinstance(found, dict) or found.get("Version") != "2012-10-17":
        yield "The policy's Version is not 2012-10-17", "set Version to 2012-10-17"
    for index, statement in enumerate([statements] if isinstance(statements, dict) else statements or ()):
        name = repr(statement["Sid"]) if statement.get("Sid") else index
        required = ("Action", "Effect", "Principal" if key == "assumeRolePolicy" else "Resource")
        missing = [part for part in required if not {part, f"Not{part}"} & set(statement)]
        if missing:
            yield f"Statement {name} has no {' and no '.join(missing)}", f"add {', '.join(missing)}"
        elif statement["Effect"] not in ("Allow", "Deny"):
            yield f"Statement {name} has effect {statement['Effect']}", "set Effect to Allow or Deny"


@rule("L-04", Level.ERROR, "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html")
def names_are_valid(view: GraphView) -> Iterator[Violation]:
    """A name has the characters and the length that its service accepts, with the suffix that the engine or the provider appends."""
    for token, (key, pattern) in NAMES.items():
        for node in view.of(token):
            name = view.inputs(node).get(key) or node.state.get(key)
            prefix = view.inputs(node).get(f"{key}Prefix") or ""
            if isinstance(name, str) and not re.fullmatch(pattern, name, re.ASCII):
                message = f"{name[:MAX_SHOWN]!r} with {len(name)} characters is not a valid name"
                yield violation(node, (key,), message, f"use a name that matches {pattern}")
            maximum = MAX_PREFIX.get(token, len(prefix))
            if len(prefix) > maximum:
                message = f"The prefix has {len(prefix)} characters, which exceeds {maximum}, because 26 are appended"
                yield violation(node, (f"{key}Prefix",), message, f"shorten it, for example to {prefix[:maximum]}")


@rule("L-05", Level.ERROR, "https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html")
def schedules_are_valid(view: GraphView) -> Iterator[Violation]:
    """A schedule is cron() with six fields, rate() or at(); a scaling schedule has a recurrence of five fields and times that end in Z."""
    for token, key in SCHEDULES.items():
        for node in view.of(token):
            text = view.inputs(node).get(key)
            if text and not any(pattern.fullmatch(text) for pattern in (RATE, ONE_TIME, CRON)):
                fix = "use an expression such as cron(0 12 * * ? *), rate(1 hour) or at(2026-12-01T12:00:00)"
                yield violation(node, (key,), f"{text} is not a schedule expression", fix)
    for node in view.of("aws:autoscaling/schedule:Schedule"):
        inputs = view.inputs(node)
        if inputs.get("recurrence") and not UNIX_CRON.fullmatch(inputs["recurrence"]):
            message = f"{inputs['recurrence']} is not a cron expression of five fields"
            yield violation(node, ("recurrence",), message, "use an expression such as 0 12 * * *")
        for key in ("startTime", "endTime"):
            if inputs.get(key) and not UTC_TIME.fullmatch(inputs[key]):
                yield violation(node, (key,), f"{inputs[key]} is not a UTC time", "use a time such as 2026-12-01T12:00:00Z")


@rule("L-06", Level.ERROR, "https://docs.aws.amazon.com/tag-editor/latest/userguide/tagging.html")
def tags_are_valid(view: GraphView) -> Iterator[Violation]:
    """A resource has at most 50 tags, with keys of 1 to 128 characters that do not begin with aws:, and values of at most 256."""
    for node in _aws(view):
        tags = view.inputs(node).get("tags")
        if not isinstance(tags, dict):
            continue
        if len(tags) > MAX_TAGS:
            yield violation(node, ("tags",), f"{len(tags)} tags exceed {MAX_TAGS}, the limit of a resource", f"keep {MAX_TAGS}")
        for key, value in tags.items():
            if wrong := _invalid_tag(key, str(value)):
                yield violation(node, ("tags", key), *wrong)


def _invalid_tag(key: str, value: str) -> tuple[str, str] | None:
    if key.lower().startswith("aws:"):
        return "Keys that begin with aws: are reserved", "rename it"
    if not 0 < len(key) <= 128:
        return f"The key has {len(key)} characters, outside 1 to 128", "use a key of 1 to 128 characters"
    if len(value) > 256:
        return f"The value has {len(value)} characters, which exceeds 256", "shorten it"
    if not TAG_TEXT.fullmatch(key) or not TAG_TEXT.fullmatch(value):
        return "The tag has a character that AWS does not accept", "use letters, digits, spaces and _.:/=+-@"
    return None


@rule("L-07", Level.ERROR, "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateSecurityGroup.html")
def security_group_descriptions_are_valid(view: GraphView) -> Iterator[Violation]:
    """The description of a security group or of its rule has at most 255 characters, without apostrophes and quotes."""
    for node in _aws(view):
        text = view.inputs(node).get("description")
        if ":SecurityGroup" in node.type and isinstance(text, str) and not DESCRIPTION.fullmatch(text):
            message = f"{text[:MAX_SHOWN]!r} with {len(text)} characters is not a valid description"
            yield violation(node, ("description",), message, "use at most 255 letters, digits, spaces and ._-:/()#,@[]+=&;{}!$*")


@rule("L-08", Level.ERROR, "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_IpPermission.html")
def security_group_rules_are_complete(view: GraphView) -> Iterator[Violation]:
    """A security group rule has exactly one peer; a rule for all protocols has no ports, and any other has fromPort <= toPort."""
    peers = ("cidrIpv4", "cidrIpv6", "prefixListId", "referencedSecurityGroupId")
    for node in _aws(view):
        if not node.type.endswith(("SecurityGroupIngressRule", "SecurityGroupEgressRule")):
            continue
        inputs = view.inputs(node)
        found = [key for key in peers if inputs.get(key) or key in node.unknown_inputs]
        if len(found) != 1:
            yield violation(node, (), f"The rule sets {' and '.join(found) or 'no peer'}", f"set exactly one of {', '.join(peers)}")
        first, last = inputs.get("fromPort"), inputs.get("toPort")
        is_all = str(inputs.get("ipProtocol")) == "-1"
        if is_all and (first is not None or last is not None):
            yield violation(node, ("fromPort",), "The rule is for all protocols and sets ports", "remove fromPort and toPort")
        if not is_all and (first is None or last is None):
            message = f"The rule for {inputs.get('ipProtocol')} does not set both ports"
            yield violation(node, ("fromPort",), message, "set fromPort and toPort")
        elif not is_all and int(first or 0) > int(last or 0):
            yield violation(node, ("fromPort",), f"fromPort {first} exceeds toPort {last}", "set fromPort to the lower port")


def _aws(view: GraphView) -> Iterator[Node]:
    yield from (node for node in view.graph.nodes.values() if node.type.startswith("aws:"))


def _leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Every text in an input, with its path."""
    if isinstance(value, str):
        yield path, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from _leaves(item, (*path, key))
