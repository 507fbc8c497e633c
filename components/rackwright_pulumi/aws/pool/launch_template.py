"""Launch template of a pool: interfaces, disks, placement, capacity, user data."""

from collections.abc import Sequence

from pulumi import Input, Output
from pulumi_aws.ec2.launch_template import (
    LaunchTemplate,
    LaunchTemplateBlockDeviceMappingArgs,
    LaunchTemplateBlockDeviceMappingEbsArgs,
    LaunchTemplateCapacityReservationSpecificationArgs,
    LaunchTemplateCapacityReservationSpecificationCapacityReservationTargetArgs,
    LaunchTemplateInstanceMarketOptionsArgs,
    LaunchTemplateMetadataOptionsArgs,
    LaunchTemplateMonitoringArgs,
    LaunchTemplateNetworkInterfaceArgs,
    LaunchTemplatePlacementArgs,
    LaunchTemplateTagSpecificationArgs,
)
from pulumi_aws.ec2.placement_group import PlacementGroup
from rackwright.stackplan import DiskPlan, PoolPlan

from rackwright_pulumi.aws.pool.node_bootstrap import ClusterJoinInfo
from rackwright_pulumi.aws.pool.user_data import family_of, user_data
from rackwright_pulumi.aws.tags import ChildContext

RESERVED = ("reservation", "capacity-block")
"""Modes without a placement group: in one, EC2 does not find the reservation (https://github.com/eksctl-io/eksctl/issues/7949)."""
DATA_DEVICES = {"al2023": "/dev/xvda", "bottlerocket": "/dev/xvdb", "ubuntu": "/dev/sda1"}
"""Image family to the disk of containers: the root disk, except on Bottlerocket, whose root disk has only the system."""
SYSTEM_DISK = DiskPlan(4)
"""System disk of Bottlerocket (aws/karpenter-provider-aws@1d92708 pkg/providers/amifamily/bottlerocket.go)."""
TAGGED = ("instance", "volume", "network-interface")
"""Resource types that do not get the tags of a node group."""
INTERFACE_TYPES = {"ip": "interface", "fabric": "efa-only"}


def launch_template(
    child: ChildContext, plan: PoolPlan, group_ids: Sequence[Input[str]], kms_key_arn: Input[str], cluster: Output[ClusterJoinInfo] | None
) -> LaunchTemplate:
    """group_ids: with the cluster's, for pools with network interfaces; EKS attaches the cluster's group to others. They are set on every
    interface, not on the template (https://github.com/hashicorp/terraform-provider-aws/issues/4570). cluster: for custom images.

    Tag changes are ignored, because a new version of the template replaces every machine.
    """
    family = family_of(plan)
    system_disk = [_disk("/dev/xvda", SYSTEM_DISK, kms_key_arn)] if family == "bottlerocket" else []
    is_block = plan.capacity.mode == "capacity-block"
    return LaunchTemplate(
        child.name("template"),
        image_id=plan.image_id or None,
        instance_type=plan.machine,
        update_default_version=True,
        block_device_mappings=[*system_disk, _disk(DATA_DEVICES[family], plan.disk, kms_key_arn)],
        network_interfaces=[
            LaunchTemplateNetworkInterfaceArgs(
                network_card_index=nic.card,
                device_index=nic.device,
                interface_type=INTERFACE_TYPES[nic.kind],
                associate_public_ip_address="false" if (nic.card, nic.device) == (0, 0) else None,
                delete_on_termination="true",
                security_groups=group_ids,
            )
            for nic in plan.nics
        ]
        or None,
        metadata_options=LaunchTemplateMetadataOptionsArgs(http_endpoint="enabled", http_tokens="required", http_put_response_hop_limit=1),
        monitoring=LaunchTemplateMonitoringArgs(enabled=True),
        placement=_placement(child, plan),
        capacity_reservation_specification=_reservation(plan),
        instance_market_options=LaunchTemplateInstanceMarketOptionsArgs(market_type="capacity-block") if is_block else None,
        user_data=user_data(plan, cluster),
        tag_specifications=[LaunchTemplateTagSpecificationArgs(resource_type=kind, tags=child.tagged()) for kind in TAGGED],
        tags=child.tagged("template"),
        opts=child.opts(ignore_changes=["tagSpecifications"]),
    )


def _disk(device: str, plan: DiskPlan, kms_key_arn: Input[str]) -> LaunchTemplateBlockDeviceMappingArgs:
    disk = LaunchTemplateBlockDeviceMappingEbsArgs(
        volume_size=plan.size_gib,
        volume_type="gp3",
        iops=plan.iops,
        throughput=plan.throughput_mib_s,
        encrypted="true",
        kms_key_id=kms_key_arn,
        delete_on_termination="true",
    )
    return LaunchTemplateBlockDeviceMappingArgs(device_name=device, ebs=disk)


def _placement(child: ChildContext, plan: PoolPlan) -> LaunchTemplatePlacementArgs | None:
    if not plan.adjacent or plan.capacity.mode in RESERVED:
        return None
    group = PlacementGroup(child.name("adjacent"), strategy="cluster", tags=child.tagged("adjacent"), opts=child.opts())
    return LaunchTemplatePlacementArgs(group_name=group.name)


def _reservation(plan: PoolPlan) -> LaunchTemplateCapacityReservationSpecificationArgs | None:
    """A target without a preference: EC2 accepts both only with capacity-reservations-only (rule V-35)."""
    if plan.capacity.mode not in RESERVED:
        return None
    target = LaunchTemplateCapacityReservationSpecificationCapacityReservationTargetArgs(
        capacity_reservation_id=plan.capacity.reservation_id or None,
        capacity_reservation_resource_group_arn=plan.capacity.group_arn or None,
    )
    return LaunchTemplateCapacityReservationSpecificationArgs(capacity_reservation_target=target)
