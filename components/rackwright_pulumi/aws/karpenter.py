"""AWS resources of Karpenter: node role, controller role, and queue of interruption events."""

import json
from collections.abc import Mapping
from typing import NotRequired, TypedDict

import pulumi
from pulumi import Input, Output, Resource, ResourceOptions
from pulumi_aws.cloudwatch.event_rule import EventRule
from pulumi_aws.cloudwatch.event_target import EventTarget
from pulumi_aws.ec2.placement_group import PlacementGroup
from pulumi_aws.eks.access_entry import AccessEntry
from pulumi_aws.eks.pod_identity_association import PodIdentityAssociation
from pulumi_aws.iam.role_policy import RolePolicy
from pulumi_aws.sqs.queue import Queue
from pulumi_aws.sqs.queue_policy import QueuePolicy
from rackwright.stackplan import KarpenterPlan

from rackwright_pulumi.args import Part, part
from rackwright_pulumi.aws.identity.karpenter_policy import controller_statements
from rackwright_pulumi.aws.identity.policy_documents import allow, document, pod_trust, service_trust
from rackwright_pulumi.aws.identity.roles import NODE_ACCESS, NODE_POLICIES, GrantedRole, granted_role
from rackwright_pulumi.aws.tags import ChildContext
from rackwright_pulumi.check_args import check_args

EVENTS = {
    "spot": ("aws.ec2", "EC2 Spot Instance Interruption Warning"),
    "rebalance": ("aws.ec2", "EC2 Instance Rebalance Recommendation"),
    "state": ("aws.ec2", "EC2 Instance State-change Notification"),
    "reservation": ("aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"),
    "health": ("aws.health", "AWS Health Event"),
}
"""Events that Karpenter reads (aws/karpenter-provider-aws@1d92708, cloudformation.yaml)."""
EVENT_RETENTION_S = 300
"""A spot interruption warning is sent 2 minutes before the interruption."""


class AwsKarpenterArgs(TypedDict):
    """karpenter: KarpenterPlan. cluster_name and cluster_arn: its cluster. kms_key_arn: encrypts the disks of its machines."""

    karpenter: Part[KarpenterPlan]
    cluster_name: Input[str]
    cluster_arn: Input[str]
    account: Input[str]
    region: str
    kms_key_arn: Input[str]
    tags: Mapping[str, Input[str]]
    boundary_arn: NotRequired[str | None]


class AwsKarpenter(pulumi.ComponentResource):
    """Roles, access entry, queue and events of Karpenter. Karpenter, its NodePools and its machines are in the cluster.

    Objects in the cluster depend on `ready`: without access entry or Karpenter, a machine is not terminated and keeps costing money.

        AwsKarpenter(
            "fleet",
            {
                "karpenter": KarpenterPlan(),
                "cluster_name": "serving",
                "cluster_arn": "arn:aws:eks:us-east-1:123456789012:cluster/serving",
                "account": "123456789012",
                "region": "us-east-1",
                "kms_key_arn": "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab",
                "tags": {"owner": "serving"},
            },
        )
    """

    node_role_name: Output[str]
    node_role_arn: Output[str]
    queue_name: Output[str]
    """Empty without interruption events."""

    def __init__(self, name: str, args: AwsKarpenterArgs, opts: ResourceOptions | None = None):
        check_args(AwsKarpenterArgs, args)
        super().__init__("rackwright:index:AwsKarpenter", name, None, opts)
        plan, child = part(KarpenterPlan, args["karpenter"]), ChildContext(self, name, args["tags"], args.get("boundary_arn"))
        nodes = granted_role(child, "nodes", service_trust("ec2.amazonaws.com"), NODE_POLICIES, [NODE_ACCESS])
        queue, events = _event_queue(child) if plan.interruptions else (None, [])
        groups = [
            PlacementGroup(
                child.name("adjacent", group),
                name=group,  # Karpenter looks it up by this name
                strategy="cluster",
                tags=child.tagged("adjacent", group),
                opts=child.opts(delete_before_replace=True),
            )
            for group in plan.adjacent
        ]
        # EKS creates the access entry of node groups only. It is bound to the role's unique id, so it is deleted before its replacement is
        # created (https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3329).
        entry = AccessEntry(
            child.name("entry"),
            cluster_name=args["cluster_name"],
            principal_arn=nodes.arn,
            type="EC2_LINUX",
            tags=child.tagged("entry"),
            opts=child.opts(delete_before_replace=True),
        )
        self.ready: list[Resource] = [*nodes.rights, entry, *_controller(child, plan, nodes, queue, args), *events, *groups]
        self.node_role_name, self.node_role_arn = nodes.role.name, nodes.arn
        self.queue_name = queue.name if queue else Output.from_input("")
        self.register_outputs({"nodeRoleName": self.node_role_name, "nodeRoleArn": self.node_role_arn, "queueName": self.queue_name})


def _controller(
    child: ChildContext, plan: KarpenterPlan, nodes: GrantedRole, queue: Queue | None, args: AwsKarpenterArgs
) -> list[Resource]:
    role = granted_role(child, "controller", pod_trust(args["cluster_arn"], args["account"]))
    queue_arn = queue.arn if queue else None
    policy = Output.from_input(args["cluster_name"]).apply(
        lambda cluster: document(
            *controller_statements(cluster, args["region"], args["account"], nodes.arn, queue_arn, args["kms_key_arn"])
        )
    )
    rights = RolePolicy(child.name("controller", "policy"), role=role.role.id, policy=policy, opts=child.opts())
    pods = PodIdentityAssociation(
        child.name("pods"),
        cluster_name=args["cluster_name"],
        namespace=plan.namespace,
        service_account=plan.service_account,
        role_arn=role.arn,
        tags=child.tagged("pods"),
        opts=child.opts(),
    )
    return [rights, pods]


def _event_queue(child: ChildContext) -> tuple[Queue, list[Resource]]:
    """The queue, and the rules that send events to it."""
    queue = Queue(
        child.name("news"),
        message_retention_seconds=EVENT_RETENTION_S,
        sqs_managed_sse_enabled=True,
        tags=child.tagged("news"),
        opts=child.opts(),
    )
    tls_only = {
        "Sid": "TlsOnly",
        "Effect": "Deny",
        "Principal": "*",
        "Action": "sqs:*",
        "Resource": queue.arn,
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    rules = {
        key: EventRule(
            child.name("on", key),
            description=f"{kind}, for Karpenter",
            event_pattern=json.dumps({"source": [source], "detail-type": [kind]}),
            tags=child.tagged("on", key),
            opts=child.opts(),
        )
        for key, (source, kind) in EVENTS.items()
    }
    # Only these rules: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-use-resource-based.html
    sent = {"ArnEquals": {"aws:SourceArn": [rule.arn for rule in rules.values()]}}
    send = allow(["sqs:SendMessage"], queue.arn, Principal={"Service": "events.amazonaws.com"}, Condition=sent)
    queue_policy = QueuePolicy(child.name("news"), queue_url=queue.url, policy=document(send, tls_only), opts=child.opts())
    targets = [EventTarget(child.name("on", key), rule=rule.name, arn=queue.arn, opts=child.opts()) for key, rule in rules.items()]
    return queue, [queue_policy, *targets]
