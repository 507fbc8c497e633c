"""The template of a pool's machines: interfaces, disk, placement, purchase, first boot."""

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
from rackwright.stackplan import DiskPlan, NicPlan, PoolPlan

from rackwright_pulumi.aws.pool.node_bootstrap import Joining
from rackwright_pulumi.aws.pool.user_data import family_of, user_data
from rackwright_pulumi.aws.tags import ChildContext

RESERVED = ("reservation", "capacity-block")
"""A reservation has its own place in the data centre: inside a placement group it is not found (eksctl#7949, terraform-aws-eks#3730)."""
DATA_DEVICES = {"al2023": "/dev/xvda", "bottlerocket": "/dev/xvdb", "ubuntu": "/dev/sda1"}
"""Family of image to the disk that containers write to. It is the root, but for Bottlerocket, whose root holds the system alone."""
SYSTEM_DISK = DiskPlan(4)
"""Of Bottlerocket (aws/karpenter-provider-aws@1d92708 pkg/providers/amifamily/bottlerocket.go)."""
TAGGED = ("instance", "volume", "network-interface")
"""Node groups hand their own tags to none of these."""
INTERFACE_TYPES = {"ip": "interface", "fabric": "efa-only"}


def launch_template(
    child: ChildContext, plan: PoolPlan, group_ids: Sequence[Input[str]], kms_key_arn: Input[str], cluster: Output[Joining] | None
) -> LaunchTemplate:
    """group_ids: of machines with fabric interfaces; without, EKS itself attaches the cluster's. cluster: for an image of one's own.

    Machines keep the tags they were born with: a changed tag would be a new version of the template, and that replaces every machine.
    """
    return LaunchTemplate(
        child.name("template"),
        image_id=plan.image_id or None,
        instance_type=plan.machine,
        update_default_version=True,
        block_device_mappings=_disks(plan, kms_key_arn),
        network_interfaces=[_interface(nic, group_ids) for nic in plan.nics] or None,
        metadata_options=LaunchTemplateMetadataOptionsArgs(http_endpoint="enabled", http_tokens="required", http_put_response_hop_limit=2),
        monitoring=LaunchTemplateMonitoringArgs(enabled=True),
        placement=_placement(child, plan),
        capacity_reservation_specification=_reservation(plan),
        instance_market_options=_market(plan),
        user_data=user_data(plan, cluster),
        tag_specifications=[LaunchTemplateTagSpecificationArgs(resource_type=kind, tags=child.tagged()) for kind in TAGGED],
        tags=child.tagged("template"),
        opts=child.opts(ignore_changes=["tagSpecifications"]),
    )


def _interface(nic: NicPlan, group_ids: Sequence[Input[str]]) -> LaunchTemplateNetworkInterfaceArgs:
    """Groups stand on every interface, never beside them (terraform-provider-aws#4570), and replace the cluster's own: it is named too."""
    return LaunchTemplateNetworkInterfaceArgs(
        network_card_index=nic.card,
        device_index=nic.device,
        interface_type=INTERFACE_TYPES[nic.kind],
        associate_public_ip_address="false" if (nic.card, nic.device) == (0, 0) else None,
        delete_on_termination="true",
        security_groups=group_ids,
    )


def _disks(plan: PoolPlan, kms_key_arn: Input[str]) -> list[LaunchTemplateBlockDeviceMappingArgs]:
    family = family_of(plan)
    system = [_disk("/dev/xvda", SYSTEM_DISK, kms_key_arn)] if family == "bottlerocket" else []
    return [*system, _disk(DATA_DEVICES[family], plan.disk, kms_key_arn)]


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
    """A target alone, without a preference: EC2 takes them together only as capacity-reservations-only (recipes V-35)."""
    if plan.capacity.mode not in RESERVED:
        return None
    target = LaunchTemplateCapacityReservationSpecificationCapacityReservationTargetArgs(
        capacity_reservation_id=plan.capacity.reservation_id or None,
        capacity_reservation_resource_group_arn=plan.capacity.group_arn or None,
    )
    return LaunchTemplateCapacityReservationSpecificationArgs(capacity_reservation_target=target)


def _market(plan: PoolPlan) -> LaunchTemplateInstanceMarketOptionsArgs | None:
    """A spot pool says so on its node group instead."""
    return LaunchTemplateInstanceMarketOptionsArgs(market_type="capacity-block") if plan.capacity.mode == "capacity-block" else None
