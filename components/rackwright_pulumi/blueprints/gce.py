"""Parts of a box on Google Cloud: network, key, buckets, service account and machine."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pulumi
from pulumi import Input, InvokeOutputOptions, Output, ResourceOptions
from pulumi_gcp.organizations import get_project_output
from rackwright.stackplan import IdentityPlan, StackPlan

from rackwright_pulumi.gcp.box.box import GcpBox
from rackwright_pulumi.gcp.box.identity import GcpBoxIdentity
from rackwright_pulumi.gcp.network.accelerator_networks import GcpAcceleratorNetworks
from rackwright_pulumi.gcp.network.network import GcpNetwork
from rackwright_pulumi.gcp.storage import GcpStorage
from rackwright_pulumi.naming import child
from rackwright_pulumi.unsupported import Unsupported

NO_GRANTS = IdentityPlan("box")


class GceParts:
    """Builds the parts of a StackPlan as child components of a Box."""

    def __init__(
        self,
        parent: pulumi.Resource,
        name: str,
        plan: StackPlan,
        teardown: bool,
        secrets: Mapping[str, Input[str]],
        image_id: Input[str] | None,
    ):
        self.name, self.plan, self.teardown = name, plan, teardown or not plan.protected
        self.child_opts = ResourceOptions(parent=parent)
        self.network = self._network()
        self.storage = self._storage(get_project_output(project_id=self.network.project, opts=InvokeOutputOptions(parent=parent)).number)
        self.identity = GcpBoxIdentity(
            child(name, "identity"),
            {
                "identity": next(iter(plan.identities), NO_GRANTS),
                "project": self.network.project,
                "region": plan.place.region,
                "bucket_names": self.storage.bucket_names,
                "secrets": secrets,
            },
            self.child_opts,
        )
        self.box = self._box(image_id)

    @property
    def outputs(self) -> dict[str, Any]:
        return {
            "machineName": self.box.machine_name,
            "connectCommand": self.box.connect_command,
            "bucketNames": Output.all(**self.storage.bucket_names),
            "keyId": self.storage.key_id,
        }

    def _network(self) -> GcpNetwork:
        place = self.plan.place
        return GcpNetwork(
            child(self.name, "network"),
            {
                "network": self.plan.network,
                "services": self.plan.services,
                "project": place.account,
                "region": place.region,
                "teardown": self.teardown,
            },
            self.child_opts,
        )

    def _storage(self, number: Input[str]) -> GcpStorage:
        return GcpStorage(
            child(self.name, "storage"),
            {
                "key": self.plan.key,
                "buckets": self.plan.buckets,
                "tags": self.plan.tags,
                "project": self.network.project,
                "project_number": number,
                "region": self.plan.place.region,
                "teardown": self.teardown,
            },
            self.child_opts,
        )

    def _further_subnets(self) -> list[Output[str]]:
        """IDs of the subnets of the interfaces after the first, in their order."""
        if not self.plan.network.accelerator_networks:
            return []
        further = GcpAcceleratorNetworks(
            child(self.name, "fabric"),
            {
                "networks": self.plan.network.accelerator_networks,
                "project": self.network.project,
                "region": self.plan.place.region,
                "teardown": self.teardown,
            },
            self.child_opts,
        )
        path = "projects/{0}/regions/{1}/subnetworks/{2}"
        return [Output.format(path, self.network.project, self.plan.place.region, subnet) for subnet in further.subnets.values()]

    def _box(self, image_id: Input[str] | None) -> GcpBox:
        """The machine with its pinned image. Raises Unsupported for a plan without a box."""
        plan = self.plan.box
        if plan is None:
            raise Unsupported(f"a plan of {self.plan.kind} without a box", "box", f"use the blueprint {self.plan.kind}")
        return GcpBox(
            child(self.name, "box"),
            {
                "box": replace(plan, image=dict(self.plan.pins.images).get(plan.image, plan.image)),
                "guard": self.plan.guard,
                "tags": self.plan.tags,
                "project": self.network.project,
                "network_id": self.network.network_id,
                "subnet_id": self.network.subnet_ids[0],
                "further_subnets": self._further_subnets(),
                "account_email": self.identity.email,
                "disk_key_id": self.storage.key_for["disks"],
                "teardown": self.teardown,
                "image_id": image_id,
            },
            self.child_opts,
        )
