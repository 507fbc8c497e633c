"""Managed Lustre file system."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pulumi import Input, Output, Resource, ResourceOptions
from pulumi_gcp.lustre import Instance, InstanceDynamicTierOptionsArgs
from rackwright.stackplan import LustrePlan

from rackwright_pulumi.gcp.labels import guard
from rackwright_pulumi.naming import child, physical

INSTANCE_ID_LENGTH = 63


@dataclass(frozen=True)
class ManagedLustre:
    """Values that a client needs to mount the file system. id: PROJECT/ZONE/INSTANCE, by which the CSI driver names it."""

    id: Output[str]
    ip_address: Output[str]
    mount_name: Output[str]

    @property
    def outputs(self) -> dict[str, Output[str]]:
        return {"id": self.id, "ipAddress": self.ip_address, "mountName": self.mount_name}


@dataclass(frozen=True)
class LustreSettings:
    """Place, key and protection of a file system. network_id: known after its private services access exists."""

    project: Input[str]
    network_id: Input[str]
    key_id: Input[str]
    labels: Mapping[str, str]
    teardown: bool


def lustre(parent: Resource, name: str, plan: LustrePlan, settings: LustreSettings) -> ManagedLustre:
    """Create the file system. Clients use port 988, as GKE does from version 1.33.2; `gke_support_enabled` is for older clusters.

    https://docs.cloud.google.com/managed-lustre/docs/lustre-csi-driver-existing-instance. Zone, network, key and tier cannot be changed;
    the name is fixed, so a replacement deletes the file system first.
    """
    instance_id = physical(child(name, "lustre"), INSTANCE_ID_LENGTH)
    instance = Instance(
        child(name, "lustre"),
        project=settings.project,
        instance_id=instance_id,
        location=plan.zone,
        network=settings.network_id,
        filesystem=plan.mount_name,
        capacity_gib=str(plan.capacity_gib),
        kms_key=settings.key_id,
        labels=settings.labels,
        deletion_policy=guard(settings.teardown),
        opts=ResourceOptions(parent=parent, protect=not settings.teardown, delete_before_replace=True),
        **_tier(plan),
    )
    handle = Output.concat(instance.project, "/", instance.location, "/", instance.instance_id)
    return ManagedLustre(handle, instance.mount_point.apply(lambda point: point.partition("@")[0]), instance.filesystem)


def _tier(plan: LustrePlan) -> dict[str, Any]:
    """The dynamic tier has no throughput."""
    if plan.kind == "dynamic":
        return {"dynamic_tier_options": InstanceDynamicTierOptionsArgs(mode="DEFAULT_CACHE")}
    return {"per_unit_storage_throughput": str(plan.throughput_mb_s_per_tib)}
