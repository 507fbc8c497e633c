"""What Karpenter's controller may do: to machines of its own cluster everything, to others nothing.

Its own documentation is the source, statement by statement (aws/karpenter-provider-aws@1d92708
website/content/en/preview/getting-started/getting-started-with-karpenter/cloudformation.yaml).
"""

from collections.abc import Sequence
from typing import Any

from pulumi import Input, Output

from rackwright_pulumi.aws.identity.policy_documents import Statement, allow

LAUNCH = ("ec2:RunInstances", "ec2:CreateFleet")
SHARED = ("image", "snapshot", "security-group", "subnet", "capacity-reservation", "placement-group")
"""What is used to start a machine and belongs to nobody's cluster. Images and snapshots are in no account."""
BORN = ("fleet", "instance", "volume", "network-interface", "launch-template", "spot-instances-request")
"""What a start makes."""
SEEN = (
    "CapacityReservations", "Images", "Instances", "InstanceStatus", "InstanceTypeOfferings", "InstanceTypes", "LaunchTemplates",
    "PlacementGroups", "SecurityGroups", "SpotPriceHistory", "Subnets",
)  # fmt: skip
SPOT_ROLE = "aws-service-role/spot.amazonaws.com/AWSServiceRoleForEC2Spot"


def controller_rights(
    cluster: str, region: str, account: Input[str], node_role_arn: Input[str], queue_arn: Input[str] | None, key_arn: Input[str]
) -> list[Statement]:
    """Statements for the controller of `cluster`. Tags tell what is its own: they are asked for when a thing is made, and never moved."""
    machines = _Machines(cluster, region)
    through_ec2 = {"StringEquals": {"kms:ViaService": f"ec2.{region}.amazonaws.com"}}
    use = ["kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKeyWithoutPlaintext", "kms:ReEncrypt*"]
    passed = {"StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}}
    return [
        *machines.rights(),
        *_profiles(cluster, region, account),
        allow(["iam:PassRole"], node_role_arn, Condition=passed),
        allow(use, key_arn, Condition=through_ec2),
        allow(["kms:CreateGrant"], key_arn, Condition={**through_ec2, "Bool": {"kms:GrantIsForAWSResource": "true"}}),
        allow(["eks:DescribeCluster"], Output.format("arn:aws:eks:{0}:{1}:cluster/{2}", region, account, cluster)),
        allow([f"ec2:Describe{what}" for what in SEEN], Condition={"StringEquals": {"aws:RequestedRegion": region}}),
        allow(["ssm:GetParameter"], f"arn:aws:ssm:{region}::parameter/aws/service/*"),
        allow(["pricing:GetProducts"]),
        allow(
            ["iam:CreateServiceLinkedRole"],
            Output.format("arn:aws:iam::{0}:role/" + SPOT_ROLE, account),
            Condition={"StringEquals": {"iam:AWSServiceName": "spot.amazonaws.com"}},
        ),
        *([allow(["sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"], queue_arn)] if queue_arn else []),
    ]


class _Machines:
    """Rights over machines, and over the templates they start from."""

    def __init__(self, cluster: str, region: str):
        self.cluster, self.region = cluster, region

    def rights(self) -> list[Statement]:
        named = {"StringEqualsIfExists": {"aws:RequestTag/eks:eks-cluster-name": self.cluster}}
        keys = {"ForAllValues:StringEquals": {"aws:TagKeys": ["eks:eks-cluster-name", "karpenter.sh/nodeclaim", "Name"]}}
        asked = self._asked()
        making = {"ec2:CreateAction": ["RunInstances", "CreateFleet", "CreateLaunchTemplate"]}
        tagging = {**asked, "StringEquals": asked["StringEquals"] | making}
        return [
            allow(LAUNCH, self._arns(SHARED)),
            allow(LAUNCH, self._arns(["launch-template"]), Condition=self._own()),
            allow([*LAUNCH, "ec2:CreateLaunchTemplate"], self._arns(BORN), Condition=asked),
            allow(["ec2:CreateTags"], self._arns(BORN), Condition=tagging),
            allow(["ec2:CreateTags"], self._arns(["instance"]), Condition={**self._own(), **named, **keys}),
            allow(
                ["ec2:TerminateInstances", "ec2:DeleteLaunchTemplate"], self._arns(["instance", "launch-template"]), Condition=self._own()
            ),
        ]

    def _arns(self, kinds: Sequence[str]) -> list[str]:
        return [f"arn:aws:ec2:{self.region}:{'' if kind in ('image', 'snapshot') else '*'}:{kind}/*" for kind in kinds]

    def _own(self) -> dict[str, Any]:
        """Made by this cluster's Karpenter."""
        return {
            "StringEquals": {f"aws:ResourceTag/kubernetes.io/cluster/{self.cluster}": "owned"},
            "StringLike": {"aws:ResourceTag/karpenter.sh/nodepool": "*"},
        }

    def _asked(self) -> dict[str, Any]:
        """Asked to be born with the cluster's tags."""
        tags = {
            f"aws:RequestTag/kubernetes.io/cluster/{self.cluster}": "owned",
            "aws:RequestTag/eks:eks-cluster-name": self.cluster,
        }
        return {"StringEquals": tags, "StringLike": {"aws:RequestTag/karpenter.sh/nodepool": "*"}}


def _profiles(cluster: str, region: str, account: Input[str]) -> list[Statement]:
    """Instance profiles that Karpenter makes for its machines, and takes away after them."""
    arn = Output.format("arn:aws:iam::{0}:instance-profile/*", account)
    kind = "karpenter.k8s.aws/ec2nodeclass"

    def tagged(where: str) -> dict[str, str]:
        return {f"aws:{where}/kubernetes.io/cluster/{cluster}": "owned", f"aws:{where}/topology.kubernetes.io/region": region}

    asked = tagged("RequestTag") | {"aws:RequestTag/eks:eks-cluster-name": cluster}
    own, classes = tagged("ResourceTag"), {f"aws:ResourceTag/{kind}": "*"}
    wanted = {f"aws:RequestTag/{kind}": "*"}
    return [
        allow(["iam:CreateInstanceProfile"], arn, Condition={"StringEquals": asked, "StringLike": wanted}),
        allow(["iam:TagInstanceProfile"], arn, Condition={"StringEquals": own | asked, "StringLike": classes | wanted}),
        allow(
            ["iam:AddRoleToInstanceProfile", "iam:RemoveRoleFromInstanceProfile", "iam:DeleteInstanceProfile"],
            arn,
            Condition={"StringEquals": own, "StringLike": classes},
        ),
        allow(["iam:GetInstanceProfile"], arn),
        allow(["iam:ListInstanceProfiles"]),
    ]
