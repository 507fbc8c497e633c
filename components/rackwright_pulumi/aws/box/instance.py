"""The EC2 instance of a box."""

import base64
from dataclasses import dataclass

from pulumi import CustomTimeouts, Input, InvokeOutputOptions
from pulumi_aws.ec2.get_ami import GetAmiFilterArgs, get_ami_output
from pulumi_aws.ec2.instance import (
    Instance,
    InstanceCapacityReservationSpecificationArgs,
    InstanceCapacityReservationSpecificationCapacityReservationTargetArgs,
    InstanceInstanceMarketOptionsArgs,
    InstanceInstanceMarketOptionsSpotOptionsArgs,
    InstanceMetadataOptionsArgs,
    InstanceRootBlockDeviceArgs,
)
from rackwright.stackplan import BoxPlan, CapacityPlan

from rackwright_pulumi.aws.pool.launch_template import RESERVED
from rackwright_pulumi.aws.tags import ChildContext
from rackwright_pulumi.unsupported import Unsupported

TIMEOUTS = CustomTimeouts(create="20m", delete="30m")
"""AWS reports missing capacity within this time."""
MODES = ("on-demand", "spot", *RESERVED)


@dataclass(frozen=True)
class InstanceSettings:
    """Subnet, security group, instance profile and key of an instance."""

    subnet_id: Input[str]
    group_id: Input[str]
    profile_name: Input[str]
    kms_key_arn: Input[str]


def instance(child: ChildContext, plan: BoxPlan, settings: InstanceSettings, image_id: Input[str] | None, teardown: bool) -> Instance:
    """Create the instance. image_id: instead of the plan's image. The metadata service requires tokens and allows 2 hops, for containers.

    Changes of image and setup script are ignored, because a replacement loses the root disk. EC2 has no termination protection for spot
    instances. Raises Unsupported for capacity modes that EC2 does not offer.
    """
    if plan.capacity.mode not in MODES:
        raise Unsupported(plan.capacity.mode, "box.capacity.mode", ", ".join(MODES))
    return Instance(
        child.name("machine"),
        ami=_image(child, plan.image) if image_id is None else image_id,
        instance_type=plan.machine,
        subnet_id=settings.subnet_id,
        vpc_security_group_ids=[settings.group_id],
        associate_public_ip_address=False,
        iam_instance_profile=settings.profile_name,
        metadata_options=InstanceMetadataOptionsArgs(http_endpoint="enabled", http_tokens="required", http_put_response_hop_limit=2),
        root_block_device=InstanceRootBlockDeviceArgs(
            volume_size=plan.root.size_gib,
            volume_type="gp3",
            iops=plan.root.iops,
            throughput=plan.root.throughput_mib_s,
            encrypted=True,
            kms_key_id=settings.kms_key_arn,
            delete_on_termination=True,
            tags=child.tagged("root"),
        ),
        user_data_base64=base64.b64encode(plan.setup_script.encode()).decode() if plan.setup_script else None,
        disable_api_termination=not teardown and plan.capacity.mode != "spot",
        force_destroy=teardown,
        monitoring=True,
        capacity_reservation_specification=_reservation(plan.capacity),
        instance_market_options=_market(plan.capacity),
        tags=child.tagged("machine"),
        opts=child.opts(ignore_changes=["ami", "userDataBase64"], delete_before_replace=True, custom_timeouts=TIMEOUTS),
    )


def _image(child: ChildContext, name: str) -> Input[str]:
    """The image id: `name` itself if it is an id, else the id of Amazon's image with this name. Names have a date and are not reused."""
    if name.startswith("ami-"):
        return name
    by_name = GetAmiFilterArgs(name="name", values=[name])
    return get_ami_output(owners=["amazon"], filters=[by_name], opts=InvokeOutputOptions(parent=child.parent)).id


def _reservation(plan: CapacityPlan) -> InstanceCapacityReservationSpecificationArgs | None:
    if plan.mode not in RESERVED:
        return None
    target = InstanceCapacityReservationSpecificationCapacityReservationTargetArgs(
        capacity_reservation_id=plan.reservation_id or None,
        capacity_reservation_resource_group_arn=plan.group_arn or None,
    )
    return InstanceCapacityReservationSpecificationArgs(capacity_reservation_target=target)


def _market(plan: CapacityPlan) -> InstanceInstanceMarketOptionsArgs | None:
    if plan.mode == "capacity-block":
        return InstanceInstanceMarketOptionsArgs(market_type="capacity-block")
    if plan.mode == "spot":
        once = InstanceInstanceMarketOptionsSpotOptionsArgs(spot_instance_type="one-time", instance_interruption_behavior="terminate")
        return InstanceInstanceMarketOptionsArgs(market_type="spot", spot_options=once)
    return None
