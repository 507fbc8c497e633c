"""EKS add-ons."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NotRequired, TypedDict

import pulumi
from pulumi import Input, ResourceOptions
from pulumi_aws.eks.addon import Addon, AddonPodIdentityAssociationArgs
from rackwright.stackplan import AddonPlan

from rackwright_pulumi.args import Part, part
from rackwright_pulumi.aws.identity.policy_documents import allow, pod_trust
from rackwright_pulumi.aws.identity.roles import GrantedRole, granted_role
from rackwright_pulumi.aws.tags import ChildContext
from rackwright_pulumi.check_args import check_args
from rackwright_pulumi.unsupported import Unsupported


@dataclass(frozen=True)
class Managed:
    """An EKS add-on. policy: AWS managed policy of its service account; disks: whether it creates encrypted volumes."""

    name: str
    service_account: str = ""
    policy: str = ""
    disks: bool = False


MANAGED = {
    "pod-network": Managed("vpc-cni", "aws-node", "AmazonEKS_CNI_Policy"),
    "kube-proxy": Managed("kube-proxy"),
    "pod-identity": Managed("eks-pod-identity-agent"),
    "dns": Managed("coredns"),
    "block-storage": Managed("aws-ebs-csi-driver", "ebs-csi-controller-sa", "AmazonEBSCSIDriverPolicyV2", disks=True),
    "lustre": Managed("aws-fsx-csi-driver"),
    "metrics": Managed("metrics-server"),
    "node-health": Managed("eks-node-monitoring-agent"),
    "object-store-mount": Managed("aws-mountpoint-s3-csi-driver"),
}
"""Name in the plan to add-on."""


class AwsAddonsArgs(TypedDict):
    """addons: tuple of AddonPlan."""

    addons: Part[Sequence[AddonPlan]]
    cluster_name: Input[str]
    cluster_arn: Input[str]
    account: Input[str]
    kms_key_arn: Input[str]
    tags: Mapping[str, Input[str]]
    boundary_arn: NotRequired[str | None]


class AwsAddons(pulumi.ComponentResource):
    """Add-ons before or after the first nodes; they wait for the component's `depends_on`.

    Add-ons with Deployments (dns, metrics, drivers) are degraded and then fail without nodes
    (https://github.com/pulumi/pulumi-eks/issues/1819).
    """

    def __init__(self, name: str, args: AwsAddonsArgs, opts: ResourceOptions | None = None):
        check_args(AwsAddonsArgs, args)
        super().__init__("rackwright:index:AwsAddons", name, None, opts)
        child, plans = ChildContext(self, name, args["tags"], args.get("boundary_arn")), part(tuple[AddonPlan, ...], args["addons"])
        self.addons = [_addon(child, plan, args) for plan in plans]
        self.register_outputs({"addons": [addon.addon_name for addon in self.addons]})


def _addon(child: ChildContext, plan: AddonPlan, args: AwsAddonsArgs) -> Addon:
    """Raises Unsupported for an unknown add-on."""
    if plan.name not in MANAGED:
        raise Unsupported(plan.name, f"addons[{plan.name}]", ", ".join(sorted(MANAGED)))
    managed = MANAGED[plan.name]
    role = _role(child, plan, managed, args) if managed.policy else None
    identity = AddonPodIdentityAssociationArgs(role_arn=role.arn, service_account=managed.service_account) if role else None
    return Addon(
        child.name(plan.name),
        addon_name=managed.name,
        addon_version=plan.version or None,
        cluster_name=args["cluster_name"],
        configuration_values=json.dumps(dict(plan.values), sort_keys=True) if plan.values else None,
        pod_identity_associations=[identity] if identity else None,
        resolve_conflicts_on_create="OVERWRITE",
        resolve_conflicts_on_update="OVERWRITE",
        tags=child.tagged(plan.name),
        opts=child.opts(depends_on=list(role.rights) if role else None),
    )


def _role(child: ChildContext, plan: AddonPlan, managed: Managed, args: AwsAddonsArgs) -> GrantedRole:
    """The add-on depends on its permissions, because it releases network interfaces and volumes until the end of a destroy.

    https://docs.aws.amazon.com/eks/latest/userguide/ebs-csi.html (encrypted volumes need the key and grants on it)
    """
    key = args["kms_key_arn"]
    grants = allow(["kms:CreateGrant"], key, Condition={"Bool": {"kms:GrantIsForAWSResource": "true"}})
    use = allow(["kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:DescribeKey"], key)
    trust = pod_trust(args["cluster_arn"], args["account"])
    return granted_role(child, plan.name, trust, [managed.policy], [grants, use] if managed.disks else [])
