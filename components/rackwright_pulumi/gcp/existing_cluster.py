"""An existing GKE cluster: read by name and location, not changed."""

from typing import TypedDict

import pulumi
from pulumi import Input, InvokeOutputOptions, Output, ResourceOptions
from pulumi_gcp.container import get_cluster_output
from rackwright.stackplan import ClusterPlan

from rackwright_pulumi.args import Part, part
from rackwright_pulumi.check_args import check_args
from rackwright_pulumi.gcp.kubeconfig import kubeconfig, kubeconfig_command
from rackwright_pulumi.upstream import StackReferences


class GcpExistingClusterArgs(TypedDict):
    """cluster: ClusterPlan whose `existing` names the cluster. region: its location where the plan has none."""

    cluster: Part[ClusterPlan]
    project: Input[str]
    region: str


class GcpExistingCluster(pulumi.ComponentResource):
    """The outputs of GcpCluster for a cluster that is looked up by name. The caller of the update needs access to its API."""

    cluster_name: Output[str]
    cluster_id: Output[str]
    project: Output[str]
    endpoint: Output[str]
    workload_pool: Output[str]
    certificate_authority: Output[str] | None
    kubeconfig: Output[str]
    kubeconfig_command: Output[str]

    def __init__(self, name: str, args: GcpExistingClusterArgs, opts: ResourceOptions | None = None):
        check_args(GcpExistingClusterArgs, args)
        super().__init__("rackwright:index:GcpExistingCluster", name, None, opts)
        plan = part(ClusterPlan, args["cluster"])
        given, location = StackReferences(self, name).value(plan.existing), plan.location or args["region"]
        found = get_cluster_output(
            name=given, location=location, project=args["project"], skip_node_pool_refresh=True, opts=InvokeOutputOptions(parent=self)
        )
        self.endpoint, self.certificate_authority = found.endpoint, found.master_auths[0].cluster_ca_certificate
        if plan.api_scope == "internet":
            self.endpoint, self.certificate_authority = found.control_plane_endpoints_configs[0].dns_endpoint_configs[0].endpoint, None
        self.cluster_name, self.cluster_id, self.project = found.name, found.id, Output.from_input(args["project"])
        self.workload_pool = found.workload_identity_configs[0].workload_pool
        self.kubeconfig = kubeconfig(found.name, self.endpoint, self.certificate_authority)
        self.kubeconfig_command = kubeconfig_command(found.name, location, args["project"], plan.api_scope)
        self.register_outputs({"clusterName": self.cluster_name, "endpoint": self.endpoint, "kubeconfigCommand": self.kubeconfig_command})
