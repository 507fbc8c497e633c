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
from rackwright.compile.wants import DiskWant, NicWant, PoolWant

from rackwright_pulumi.aws.first_boot import family_of, user_data
from rackwright_pulumi.aws.joining import Joining
from rackwright_pulumi.aws.tags import Kin

RESERVED = ("reservation", "capacity-block")
"""A reservation has its own place in the data centre: inside a placement group it is not found (eksctl#7949, terraform-aws-eks#3730)."""
DATA_DEVICES = {"al2023": "/dev/xvda", "bottlerocket": "/dev/xvdb", "ubuntu": "/dev/sda1"}
"""Family of image to the disk that containers write to. It is the root, but for Bottlerocket, whose root holds the system alone."""
SYSTEM_DISK = DiskWant(4)
"""Of Bottlerocket (aws/karpenter-provider-aws@1d92708 pkg/providers/amifamily/bottlerocket.go)."""
TAGGED = ("instance", "volume", "network-interface")
"""Node groups hand their own tags to none of these."""
INTERFACE_TYPES = {"ip": "interface", "fabric": "efa-only"}


def launch_template(
    kin: Kin, want: PoolWant, group_ids: Sequence[Input[str]], kms_key_arn: Input[str], cluster: Output[Joining] | None
) -> LaunchTemplate:
    """group_ids: of machines with fabric interfaces; without, EKS itself attaches the cluster's. cluster: for an image of one's own.

    Machines keep the tags they were born with: a changed tag would be a new version of the template, and that replaces every machine.
    """
    return LaunchTemplate(
        kin.name("template"),
        image_id=want.image_id or None,
        instance_type=want.machine,
        update_default_version=True,
        block_device_mappings=_disks(want, kms_key_arn),
        network_interfaces=[_interface(nic, group_ids) for nic in want.nics] or None,
        metadata_options=LaunchTemplateMetadataOptionsArgs(http_endpoint="enabled", http_tokens="required", http_put_response_hop_limit=2),
        monitoring=LaunchTemplateMonitoringArgs(enabled=True),
        placement=_placement(kin, want),
        capacity_reservation_specification=_reservation(want),
        instance_market_options=_market(want),
        user_data=user_data(want, cluster),
        tag_specifications=[LaunchTemplateTagSpecificationArgs(resource_type=kind, tags=kin.tagged()) for kind in TAGGED],
        tags=kin.tagged("template"),
        opts=kin.opts(ignore_changes=["tagSpecifications"]),
    )


def _interface(nic: NicWant, group_ids: Sequence[Input[str]]) -> LaunchTemplateNetworkInterfaceArgs:
    """Groups stand on every interface, never beside them (terraform-provider-aws#4570), and replace the cluster's own: it is named too."""
    return LaunchTemplateNetworkInterfaceArgs(
        network_card_index=nic.card,
        device_index=nic.device,
        interface_type=INTERFACE_TYPES[nic.kind],
        associate_public_ip_address="false" if (nic.card, nic.device) == (0, 0) else None,
        delete_on_termination="true",
        security_groups=group_ids,
    )


def _disks(want: PoolWant, kms_key_arn: Input[str]) -> list[LaunchTemplateBlockDeviceMappingArgs]:
    family = family_of(want)
    system = [_disk("/dev/xvda", SYSTEM_DISK, kms_key_arn)] if family == "bottlerocket" else []
    return [*system, _disk(DATA_DEVICES[family], want.disk, kms_key_arn)]


def _disk(device: str, want: DiskWant, kms_key_arn: Input[str]) -> LaunchTemplateBlockDeviceMappingArgs:
    disk = LaunchTemplateBlockDeviceMappingEbsArgs(
        volume_size=want.size_gib,
        volume_type="gp3",
        iops=want.iops,
        throughput=want.throughput_mib_s,
        encrypted="true",
        kms_key_id=kms_key_arn,
        delete_on_termination="true",
    )
    return LaunchTemplateBlockDeviceMappingArgs(device_name=device, ebs=disk)


def _placement(kin: Kin, want: PoolWant) -> LaunchTemplatePlacementArgs | None:
    if not want.adjacent or want.capacity.mode in RESERVED:
        return None
    group = PlacementGroup(kin.name("adjacent"), strategy="cluster", tags=kin.tagged("adjacent"), opts=kin.opts())
    return LaunchTemplatePlacementArgs(group_name=group.name)


def _reservation(want: PoolWant) -> LaunchTemplateCapacityReservationSpecificationArgs | None:
    """A target alone, without a preference: EC2 takes them together only as capacity-reservations-only (recipes V-35)."""
    if want.capacity.mode not in RESERVED:
        return None
    target = LaunchTemplateCapacityReservationSpecificationCapacityReservationTargetArgs(
        capacity_reservation_id=want.capacity.reservation_id or None,
        capacity_reservation_resource_group_arn=want.capacity.group_arn or None,
    )
    return LaunchTemplateCapacityReservationSpecificationArgs(capacity_reservation_target=target)


def _market(want: PoolWant) -> LaunchTemplateInstanceMarketOptionsArgs | None:
    """A spot pool says so on its node group instead."""
    return LaunchTemplateInstanceMarketOptionsArgs(market_type="capacity-block") if want.capacity.mode == "capacity-block" else None
