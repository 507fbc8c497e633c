"""The base layer of a plan on GKE: networks, the key, buckets and the file system, built or read from the stack below."""

from collections.abc import Mapping

import pulumi
from pulumi import Input, InvokeOutputOptions, Output, ResourceOptions
from pulumi_gcp.organizations import get_project_output
from rackwright.stackplan import StackPlan

from rackwright_pulumi.blueprints.gke_layers import GkeLayers
from rackwright_pulumi.gcp.exports import (
    AcceleratorNetworks,
    ExportedAcceleratorNetworks,
    ExportedNetwork,
    ExportedStorage,
    Network,
    Storage,
)
from rackwright_pulumi.gcp.network.accelerator_networks import GcpAcceleratorNetworks
from rackwright_pulumi.gcp.network.network import GcpNetwork
from rackwright_pulumi.gcp.network.shared_vpc import GcpSharedVpc, GcpSharedVpcArgs
from rackwright_pulumi.gcp.private_services import GcpPrivateServices
from rackwright_pulumi.gcp.storage import GcpStorage
from rackwright_pulumi.naming import child


class GkeBase(GkeLayers):
    """Networks and storage of a StackPlan. project_number: in digits; looked up where it is None."""

    def __init__(self, parent: pulumi.Resource, name: str, plan: StackPlan, teardown: bool, project_number: Input[str] | None):
        super().__init__(parent, name, plan)
        self.teardown, self.draining = teardown or not plan.protected, teardown
        self.child_opts = ResourceOptions(parent=parent)
        self.network: Network = self.build_network() if self.builds("base") else ExportedNetwork.from_upstream(self.required_upstream)
        self.further = self.build_accelerator_networks()
        self.services = self.build_private_services()
        self._number = project_number
        self.storage = self.build_storage()
        self.bucket_names: Output[Mapping[str, str]] = Output.all(**self.storage.bucket_names)

    @property
    def number(self) -> Input[str]:
        """Number of the project, looked up where it is not given."""
        if self._number is None:
            options = InvokeOutputOptions(parent=self.parent)
            self._number = get_project_output(project_id=self.network.project, opts=options).number
        return self._number

    def build_network(self) -> GcpNetwork:
        return GcpNetwork(
            child(self.name, "network"),
            {
                "network": self.plan.network,
                "services": self.plan.services,
                "project": self.plan.place.account,
                "region": self.plan.place.region,
                "teardown": self.teardown,
            },
            self.child_opts,
        )

    def build_accelerator_networks(self) -> AcceleratorNetworks | None:
        """Networks of the accelerators' further interfaces; None for a plan without them."""
        if not self.builds("base"):
            return ExportedAcceleratorNetworks.from_upstream(self.required_upstream, self.plan.network)
        if not self.plan.network.accelerator_networks:
            return None
        return GcpAcceleratorNetworks(
            child(self.name, "fabric"),
            {
                "networks": self.plan.network.accelerator_networks,
                "project": self.network.project,
                "region": self.plan.place.region,
                "teardown": self.teardown,
            },
            self.child_opts,
        )

    def build_private_services(self) -> GcpPrivateServices | None:
        """Access to managed services in the network; None for a plan without a range for them."""
        if not self.builds("base") or not self.plan.network.private_services_cidr:
            return None
        return GcpPrivateServices(
            child(self.name, "services"),
            {
                "cidr": self.plan.network.private_services_cidr,
                "project": self.network.project,
                "network_id": self.network.network_id,
            },
            self.child_opts,
        )

    def build_subnet_use(self, number: Input[str]) -> Output[str]:
        """Subnet of the nodes, known after GKE may use it in the host project of a Shared VPC."""
        subnet_id = self.network.subnet_ids[0]
        if not self.plan.network.host_project:
            return subnet_id
        args: GcpSharedVpcArgs = {
            "host_project": self.plan.network.host_project,
            "project_number": number,
            "region": self.plan.place.region,
            "subnet_ids": [subnet_id],
        }
        return GcpSharedVpc(child(self.name, "shared-vpc"), args, self.child_opts).subnet_ids[0]

    def build_storage(self) -> Storage:
        if not self.builds("base"):
            return ExportedStorage.from_upstream(self.required_upstream, self.plan.key.serves, self.plan.buckets, bool(self.plan.lustre))
        return GcpStorage(
            child(self.name, "storage"),
            {
                "key": self.plan.key,
                "buckets": self.plan.buckets,
                "tags": self.plan.tags,
                "project": self.network.project,
                "project_number": self.number,
                "region": self.plan.place.region,
                "teardown": self.teardown,
                "lustre": self.plan.lustre,
                "network_id": (self.services or self.network).network_id,
            },
            self.child_opts,
        )
