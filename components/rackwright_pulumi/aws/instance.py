"""The machine of a box."""

import base64
from collections.abc import Mapping
from typing import Any

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
from pulumi_aws.ec2.security_group import SecurityGroup
from rackwright.compile.wants import BoxWant, CapacityWant

from rackwright_pulumi.aws.tags import Kin
from rackwright_pulumi.unsupported import Unsupported

WAIT = CustomTimeouts(create="20m", delete="30m")
"""Where capacity is missing AWS says so within this time."""
RESERVED = ("reservation", "capacity-block")
MODES = ("on-demand", "spot", *RESERVED)


def instance(kin: Kin, want: BoxWant, args: Mapping[str, Any], group: SecurityGroup) -> Instance:
    """`args`: AwsBoxArgs. Its metadata answers containers too (two hops), with tokens only.

    A newer image or first-boot script is for the next machine: neither an edit nor a release of ours replaces a running one, whose root
    disk is somebody's home. EC2 has no termination protection for spot machines. Raises Unsupported for capacity EC2 does not have.
    """
    if want.capacity.mode not in MODES:
        raise Unsupported(want.capacity.mode, "box.capacity.mode", ", ".join(MODES))
    return Instance(
        kin.name("machine"),
        ami=args.get("image_id") or _image(kin, want.image),
        instance_type=want.machine,
        subnet_id=args["subnet_id"],
        vpc_security_group_ids=[group.id],
        associate_public_ip_address=False,
        iam_instance_profile=args["profile_name"],
        metadata_options=InstanceMetadataOptionsArgs(http_endpoint="enabled", http_tokens="required", http_put_response_hop_limit=2),
        root_block_device=_root(kin, want, args),
        user_data_base64=base64.b64encode(want.setup_script.encode()).decode() if want.setup_script else None,
        disable_api_termination=not args.get("teardown") and want.capacity.mode != "spot",
        force_destroy=args.get("teardown", False),
        monitoring=True,
        capacity_reservation_specification=_reservation(want.capacity),
        instance_market_options=_market(want.capacity),
        tags=kin.tagged("machine"),
        opts=kin.opts(ignore_changes=["ami", "userDataBase64"], delete_before_replace=True, custom_timeouts=WAIT),
    )


def _image(kin: Kin, name: str) -> Input[str]:
    """An id as it is, else the id of Amazon's image of exactly this name, in the region of the provider: names are dated, never reused."""
    if name.startswith("ami-"):
        return name
    named = GetAmiFilterArgs(name="name", values=[name])
    return get_ami_output(owners=["amazon"], filters=[named], opts=InvokeOutputOptions(parent=kin.parent)).id


def _root(kin: Kin, want: BoxWant, args: Mapping[str, Any]) -> InstanceRootBlockDeviceArgs:
    return InstanceRootBlockDeviceArgs(
        volume_size=want.root.size_gib,
        volume_type="gp3",
        iops=want.root.iops,
        throughput=want.root.throughput_mib_s,
        encrypted=True,
        kms_key_id=args["kms_key_arn"],
        delete_on_termination=True,
        tags=kin.tagged("root"),
    )


def _reservation(want: CapacityWant) -> InstanceCapacityReservationSpecificationArgs | None:
    if want.mode not in RESERVED:
        return None
    target = InstanceCapacityReservationSpecificationCapacityReservationTargetArgs(
        capacity_reservation_id=want.reservation_id or None,
        capacity_reservation_resource_group_arn=want.group_arn or None,
    )
    return InstanceCapacityReservationSpecificationArgs(capacity_reservation_target=target)


def _market(want: CapacityWant) -> InstanceInstanceMarketOptionsArgs | None:
    if want.mode == "capacity-block":
        return InstanceInstanceMarketOptionsArgs(market_type="capacity-block")
    if want.mode == "spot":
        once = InstanceInstanceMarketOptionsSpotOptionsArgs(spot_instance_type="one-time", instance_interruption_behavior="terminate")
        return InstanceInstanceMarketOptionsArgs(market_type="spot", spot_options=once)
    return None
