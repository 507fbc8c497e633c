"""Use of a Shared VPC: permissions of GKE's service agents in the host project."""

from collections.abc import Sequence
from typing import TypedDict

import pulumi
from pulumi import Input, Output, ResourceOptions
from pulumi_gcp.compute import SubnetworkIAMMember
from pulumi_gcp.projects import IAMMember

from rackwright_pulumi.check_args import check_args
from rackwright_pulumi.naming import child

USE_SUBNET, USE_HOST = "roles/compute.networkUser", "roles/container.hostServiceAgentUser"
GKE_AGENT = "serviceAccount:service-{0}@container-engine-robot.iam.gserviceaccount.com"
MACHINES_AGENT = "serviceAccount:{0}@cloudservices.gserviceaccount.com"
"""Service agents of a project by its number: of GKE, and the one that creates the machines of node pools."""


class GcpSharedVpcArgs(TypedDict):
    """host_project: of the network. project_number: of the stack's project. subnet_ids: of its nodes, in `region`."""

    host_project: str
    project_number: Input[str]
    region: str
    subnet_ids: Sequence[Input[str]]


class GcpSharedVpc(pulumi.ComponentResource):
    """GKE's service agents may use the subnets of the nodes, and manage the cluster's part of the host project.

    https://cloud.google.com/kubernetes-engine/docs/how-to/cluster-shared-vpc#enabling_and_granting_roles
    """

    subnet_ids: Output[Sequence[str]]
    """Known after every permission exists."""

    def __init__(self, name: str, args: GcpSharedVpcArgs, opts: ResourceOptions | None = None):
        check_args(GcpSharedVpcArgs, args)
        super().__init__("rackwright:index:GcpSharedVpc", name, None, opts)
        number, opts_of_child = args["project_number"], ResourceOptions(parent=self)
        agents = {"gke": Output.format(GKE_AGENT, number), "machines": Output.format(MACHINES_AGENT, number)}
        grants = [
            SubnetworkIAMMember(
                child(name, "subnet", index, key),
                project=args["host_project"],
                region=args["region"],
                subnetwork=subnet_id,
                role=USE_SUBNET,
                member=member,
                opts=opts_of_child,
            ).id
            for index, subnet_id in enumerate(args["subnet_ids"])
            for key, member in agents.items()
        ]
        host = IAMMember(child(name, "host"), project=args["host_project"], role=USE_HOST, member=agents["gke"], opts=opts_of_child)
        count = len(args["subnet_ids"])
        self.subnet_ids = Output.all(*args["subnet_ids"], host.id, *grants).apply(lambda values: values[:count])
        self.register_outputs({"subnetIds": self.subnet_ids})
