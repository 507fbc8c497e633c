"""An existing EKS cluster: read by name, not changed."""

from collections.abc import Mapping
from typing import NotRequired, TypedDict

import pulumi
from pulumi import Input, InvokeOutputOptions, ResourceOptions
from pulumi_aws.eks.access_policy_association import AccessPolicyAssociation
from pulumi_aws.eks.get_cluster import get_cluster_output
from rackwright.stackplan import ClusterPlan

from rackwright_pulumi.args import Part, part
from rackwright_pulumi.aws.cluster.cluster import ClusterOutputs
from rackwright_pulumi.aws.cluster.kubeconfig import kubeconfig
from rackwright_pulumi.aws.identity.roles import node_role
from rackwright_pulumi.aws.tags import ChildContext
from rackwright_pulumi.check_args import check_args
from rackwright_pulumi.upstream import StackReferences


class AwsExistingClusterArgs(TypedDict):
    """cluster: ClusterPlan whose `existing` names the cluster. builder_arn: the role that the provider assumes, used to call the API."""

    cluster: Part[ClusterPlan]
    region: str
    tags: Mapping[str, Input[str]]
    boundary_arn: NotRequired[str | None]
    builder_arn: NotRequired[str]


class AwsExistingCluster(ClusterOutputs, pulumi.ComponentResource):
    """The outputs of AwsCluster for a cluster that is looked up by name. Creates only the role of nodes that join it.

    Counts and versions never come from the look-up. The caller of the update must be an administrator of the cluster.
    """

    def __init__(self, name: str, args: AwsExistingClusterArgs, opts: ResourceOptions | None = None):
        check_args(AwsExistingClusterArgs, args)
        super().__init__("rackwright:index:AwsExistingCluster", name, None, opts)
        plan, child = part(ClusterPlan, args["cluster"]), ChildContext(self, name, args["tags"], args.get("boundary_arn"))
        stacks = StackReferences(self, name)
        nodes = node_role(child, stacks.value(plan.node_role_arn))
        found = get_cluster_output(name=stacks.value(plan.existing), opts=InvokeOutputOptions(parent=self))
        self.version: str | None = None
        self.admins: list[AccessPolicyAssociation] = []
        authority, group = found.certificate_authorities[0].data, found.vpc_config.cluster_security_group_id
        service_cidr = found.kubernetes_network_configs[0].service_ipv4_cidr
        config = kubeconfig(found.name, found.endpoint, authority, args["region"], args.get("builder_arn", ""))
        self.register_outputs(self.set_outputs(found, nodes, authority, group, service_cidr, config))
