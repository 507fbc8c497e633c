"""EKS control plane with a private endpoint, its administrators, and the role of its nodes."""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import pulumi
from pulumi import Input, Output, ResourceOptions
from pulumi_aws.cloudwatch.log_group import LogGroup
from pulumi_aws.eks.cluster import (
    Cluster,
    ClusterAccessConfigArgs,
    ClusterEncryptionConfigArgs,
    ClusterEncryptionConfigProviderArgs,
    ClusterUpgradePolicyArgs,
    ClusterVpcConfigArgs,
)
from rackwright.stackplan import ClusterPlan

from rackwright_pulumi.args import Part, part
from rackwright_pulumi.aws.cluster.admins import Principal, access_entry, check_deployer, principals
from rackwright_pulumi.aws.cluster.kubeconfig import kubeconfig
from rackwright_pulumi.aws.identity.deployer import find_deployer
from rackwright_pulumi.aws.identity.policy_documents import account_service_trust, service_trust
from rackwright_pulumi.aws.identity.roles import ServiceRole, node_role, service_role
from rackwright_pulumi.aws.network.vpc import ANYWHERE
from rackwright_pulumi.aws.tags import ChildContext
from rackwright_pulumi.check_args import check_args
from rackwright_pulumi.upstream import StackReferences

EKS = "eks.amazonaws.com"
CONTROL_POLICIES = ("AmazonEKSClusterPolicy",)
LOGS = ("api", "audit", "authenticator", "controllerManager", "scheduler")


class AwsClusterArgs(TypedDict):
    """cluster: ClusterPlan. subnet_ids: in 2 or more zones. admin_arns: further administrators, known only at deployment.

    builder_arn: the role that the provider assumes, used to call the API. account: the only account for which EKS uses the control plane's
    role; default: any.
    """

    cluster: Part[ClusterPlan]
    region: str
    account: NotRequired[Input[str]]
    subnet_ids: Sequence[Input[str]]
    kms_key_arn: Input[str]
    tags: Mapping[str, Input[str]]
    teardown: NotRequired[bool]
    admin_arns: NotRequired[Sequence[Input[str]]]
    boundary_arn: NotRequired[str | None]
    builder_arn: NotRequired[str]


class ClusterOutputs:
    """Outputs of a new cluster and of an existing one."""

    cluster_name: Output[str]
    cluster_id: Output[str]
    cluster_arn: Output[str]
    endpoint: Output[str]
    certificate_authority: Output[str]
    oidc_issuer: Output[str]
    security_group_id: Output[str]
    node_role_arn: Output[str]
    kubeconfig: Output[str]

    def set_outputs(
        self, found: Any, nodes: ServiceRole, authority: Output[str], group_id: Output[str], service_cidr: Output[str], config: Output[str]
    ) -> dict[str, Any]:
        """Set the attributes and return them by output name. found: the cluster resource, or the result of its look-up."""
        self.node_rights, self.service_cidr = nodes.rights, service_cidr
        self.cluster_name, self.cluster_id, self.cluster_arn, self.endpoint = found.name, found.id, found.arn, found.endpoint
        self.certificate_authority, self.security_group_id = authority, group_id
        self.oidc_issuer = found.identities[0].oidcs[0].issuer
        self.node_role_arn = Output.from_input(nodes.arn)
        self.kubeconfig = config
        return {
            "clusterName": self.cluster_name,
            "clusterId": self.cluster_id,
            "clusterArn": self.cluster_arn,
            "endpoint": self.endpoint,
            "certificateAuthority": self.certificate_authority,
            "oidcIssuer": self.oidc_issuer,
            "securityGroupId": self.security_group_id,
            "nodeRoleArn": self.node_role_arn,
            "kubeconfig": self.kubeconfig,
        }


class AwsCluster(ClusterOutputs, pulumi.ComponentResource):
    """Control plane, log group, access entries of administrators, and node role.

    The endpoint is private. It is public for the plan's CIDRs only, or for all addresses if the plan sets public_api.
    """

    def __init__(self, name: str, args: AwsClusterArgs, opts: ResourceOptions | None = None):
        check_args(AwsClusterArgs, args)
        super().__init__("rackwright:index:AwsCluster", name, None, opts)
        plan, child = part(ClusterPlan, args["cluster"]), ChildContext(self, name, args["tags"], args.get("boundary_arn"))
        stacks = StackReferences(self, name)
        trust = account_service_trust(EKS, args["account"]) if "account" in args else service_trust(EKS)
        control = service_role(child, "control", trust, stacks.value(plan.control_role_arn), CONTROL_POLICIES)
        cluster = _control_plane(child, plan, args, control)
        self.admins = [access_entry(child, cluster.name, principal) for principal in self._principals(plan, args)]
        nodes = node_role(child, stacks.value(plan.node_role_arn))
        self.version = plan.version
        # In a preview the group's parent object is known and the group is not, so the value depends on the endpoint.
        group = Output.all(cluster.endpoint, cluster.vpc_config.cluster_security_group_id).apply(lambda values: values[1])
        service_cidr = cluster.kubernetes_network_config.service_ipv4_cidr
        authority = cluster.certificate_authority.data
        config = kubeconfig(cluster.name, cluster.endpoint, authority, args["region"], args.get("builder_arn", ""))
        self.register_outputs(self.set_outputs(cluster, nodes, authority, group, service_cidr, config))

    def _principals(self, plan: ClusterPlan, args: AwsClusterArgs) -> list[Principal]:
        """Principals with an access entry of the stack. Raises UserError for a deployer that is refused."""
        live, builder = args.get("admin_arns", ()), args.get("builder_arn", "")
        if plan.creator_access != "entry":
            return [*principals(plan, live, "", builder if plan.creator_access == "eks" else "")]
        deployer = find_deployer(self, builder, required=not plan.admins)
        if deployer.arn and not deployer.is_simulated:
            check_deployer(plan, live, deployer.arn)
        return [*principals(plan, live, deployer.arn, "")]


def _control_plane(child: ChildContext, plan: ClusterPlan, args: AwsClusterArgs, role: ServiceRole) -> Cluster:
    """Create the log group first, because EKS would create one without encryption and retention.

    EKS makes an access entry of the creator where the plan sets it, and in a plan that has no other administrator. An entry of the stack
    conflicts with that one. EKS makes it at creation only, so later changes are ignored:
    https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateAccessConfigRequest.html
    """
    logs = LogGroup(
        child.name("logs"),
        name=f"/aws/eks/{plan.name}/cluster",
        kms_key_id=args["kms_key_arn"],
        retention_in_days=plan.log_retention_days,
        tags=child.tagged("logs"),
        opts=child.opts(delete_before_replace=True),
    )
    encryption = ClusterEncryptionConfigArgs(
        provider=ClusterEncryptionConfigProviderArgs(key_arn=args["kms_key_arn"]),
        resources=["secrets"],
    )
    creator = plan.creator_access == "eks" or not (plan.creator_access == "entry" or plan.admins or args.get("admin_arns"))
    return Cluster(
        child.name("eks"),
        name=plan.name,
        role_arn=role.arn,
        version=plan.version,
        bootstrap_self_managed_addons=False,
        deletion_protection=not args.get("teardown"),
        access_config=ClusterAccessConfigArgs(authentication_mode="API", bootstrap_cluster_creator_admin_permissions=creator),
        vpc_config=_endpoints(plan, args["subnet_ids"]),
        encryption_config=encryption,
        enabled_cluster_log_types=list(LOGS) if plan.audit_logs else [],
        upgrade_policy=ClusterUpgradePolicyArgs(support_type="STANDARD"),
        tags=child.tagged("eks"),
        opts=child.opts(
            protect=not args.get("teardown"),
            delete_before_replace=True,
            depends_on=[logs, *role.rights],
            ignore_changes=["accessConfig.bootstrapClusterCreatorAdminPermissions"],
        ),
    )


def _endpoints(plan: ClusterPlan, subnet_ids: Sequence[Input[str]]) -> ClusterVpcConfigArgs:
    return ClusterVpcConfigArgs(
        subnet_ids=subnet_ids,
        endpoint_private_access=True,
        endpoint_public_access=plan.api_scope != "network",
        public_access_cidrs={"network": None, "ranges": list(plan.api_cidrs), "internet": [ANYWHERE]}[plan.api_scope],
    )
