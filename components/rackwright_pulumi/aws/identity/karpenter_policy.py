"""IAM statements of Karpenter's controller, limited to machines of its cluster.

Source of every statement: Karpenter's documentation (aws/karpenter-provider-aws@1d92708
website/content/en/preview/getting-started/getting-started-with-karpenter/cloudformation.yaml).
"""

from collections.abc import Sequence
from typing import Any

from pulumi import Input, Output

from rackwright_pulumi.aws.identity.policy_documents import Statement, allow

LAUNCH = ("ec2:RunInstances", "ec2:CreateFleet")
SHARED = ("image", "snapshot", "security-group", "subnet", "capacity-reservation", "placement-group")
"""Resources shared by clusters that a launch uses. ARNs of images and snapshots have no account."""
CREATED = ("fleet", "instance", "volume", "network-interface", "launch-template", "spot-instances-request")
"""Resources that a launch creates."""
DESCRIBED = (
    "CapacityReservations", "Images", "Instances", "InstanceStatus", "InstanceTypeOfferings", "InstanceTypes", "LaunchTemplates",
    "PlacementGroups", "SecurityGroups", "SpotPriceHistory", "Subnets",
)  # fmt: skip
SPOT_ROLE = "aws-service-role/spot.amazonaws.com/AWSServiceRoleForEC2Spot"


def controller_statements(
    cluster: str, region: str, account: Input[str], node_role_arn: Input[str], queue_arn: Input[str] | None, key_arn: Input[str]
) -> list[Statement]:
    """Statements of the controller of `cluster`. Tags identify its resources: they are required at creation and cannot change later."""
    machines = _MachineStatements(cluster, region)
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
        allow([f"ec2:Describe{what}" for what in DESCRIBED], Condition={"StringEquals": {"aws:RequestedRegion": region}}),
        allow(["ssm:GetParameter"], f"arn:aws:ssm:{region}::parameter/aws/service/*"),
        allow(["pricing:GetProducts"]),
        allow(
            ["iam:CreateServiceLinkedRole"],
            Output.format("arn:aws:iam::{0}:role/" + SPOT_ROLE, account),
            Condition={"StringEquals": {"iam:AWSServiceName": "spot.amazonaws.com"}},
        ),
        *([allow(["sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"], queue_arn)] if queue_arn else []),
    ]


class _MachineStatements:
    """Statements for machines and launch templates."""

    def __init__(self, cluster: str, region: str):
        self.cluster, self.region = cluster, region

    def rights(self) -> list[Statement]:
        named = {"StringEqualsIfExists": {"aws:RequestTag/eks:eks-cluster-name": self.cluster}}
        keys = {"ForAllValues:StringEquals": {"aws:TagKeys": ["eks:eks-cluster-name", "karpenter.sh/nodeclaim", "Name"]}}
        tags = {
            f"aws:RequestTag/kubernetes.io/cluster/{self.cluster}": "owned",
            "aws:RequestTag/eks:eks-cluster-name": self.cluster,
        }
        requested = {"StringEquals": tags, "StringLike": {"aws:RequestTag/karpenter.sh/nodepool": "*"}}
        making = {"ec2:CreateAction": ["RunInstances", "CreateFleet", "CreateLaunchTemplate"]}
        tagging = {**requested, "StringEquals": tags | making}
        return [
            allow(LAUNCH, self._arns(SHARED)),
            allow(LAUNCH, self._arns(["launch-template"]), Condition=self._own()),
            allow([*LAUNCH, "ec2:CreateLaunchTemplate"], self._arns(CREATED), Condition=requested),
            allow(["ec2:CreateTags"], self._arns(CREATED), Condition=tagging),
            allow(["ec2:CreateTags"], self._arns(["instance"]), Condition={**self._own(), **named, **keys}),
            allow(
                ["ec2:TerminateInstances", "ec2:DeleteLaunchTemplate"], self._arns(["instance", "launch-template"]), Condition=self._own()
            ),
        ]

    def _arns(self, kinds: Sequence[str]) -> list[str]:
        return [f"arn:aws:ec2:{self.region}:{'' if kind in ('image', 'snapshot') else '*'}:{kind}/*" for kind in kinds]

    def _own(self) -> dict[str, Any]:
        """Condition: created by this cluster's Karpenter."""
        return {
            "StringEquals": {f"aws:ResourceTag/kubernetes.io/cluster/{self.cluster}": "owned"},
            "StringLike": {"aws:ResourceTag/karpenter.sh/nodepool": "*"},
        }


def _profiles(cluster: str, region: str, account: Input[str]) -> list[Statement]:
    """Statements for the instance profiles that Karpenter creates and deletes."""
    arn = Output.format("arn:aws:iam::{0}:instance-profile/*", account)
    kind = "karpenter.k8s.aws/ec2nodeclass"

    def tagged(where: str) -> dict[str, str]:
        return {f"aws:{where}/kubernetes.io/cluster/{cluster}": "owned", f"aws:{where}/topology.kubernetes.io/region": region}

    requested = tagged("RequestTag") | {"aws:RequestTag/eks:eks-cluster-name": cluster}
    own, classes = tagged("ResourceTag"), {f"aws:ResourceTag/{kind}": "*"}
    requested_class = {f"aws:RequestTag/{kind}": "*"}
    return [
        allow(["iam:CreateInstanceProfile"], arn, Condition={"StringEquals": requested, "StringLike": requested_class}),
        allow(["iam:TagInstanceProfile"], arn, Condition={"StringEquals": own | requested, "StringLike": classes | requested_class}),
        allow(
            ["iam:AddRoleToInstanceProfile", "iam:RemoveRoleFromInstanceProfile", "iam:DeleteInstanceProfile"],
            arn,
            Condition={"StringEquals": own, "StringLike": classes},
        ),
        allow(["iam:GetInstanceProfile"], arn),
        allow(["iam:ListInstanceProfiles"]),
    ]
