"""One EC2 instance: private, encrypted, accessed through Session Manager, stopped when idle."""

from collections.abc import Mapping
from typing import NotRequired, TypedDict

import pulumi
from pulumi import Input, InvokeOutputOptions, Output, ResourceOptions
from pulumi_aws.cloudwatch.metric_alarm import MetricAlarm
from pulumi_aws.ebs.volume import Volume
from pulumi_aws.ec2.get_subnet import get_subnet_output
from pulumi_aws.ec2.instance import Instance
from pulumi_aws.ec2.security_group import SecurityGroup
from pulumi_aws.ec2.volume_attachment import VolumeAttachment
from pulumi_aws.vpc.security_group_ingress_rule import SecurityGroupIngressRule
from rackwright.stackplan import BoxPlan, DiskPlan, is_zone_id

from rackwright_pulumi.args import Part, part
from rackwright_pulumi.aws.box.instance import InstanceSettings, instance
from rackwright_pulumi.aws.network.security_groups import egress_only_group
from rackwright_pulumi.aws.tags import ChildContext
from rackwright_pulumi.check_args import check_args

EVERYONE = {"anywhere": "0.0.0.0/0"}
DATA_DEVICE = "/dev/sdf"
ALARM_PERIOD_S = 60


class AwsBoxArgs(TypedDict):
    """box: BoxPlan. image_id: an AMI instead of the plan's image. zone_name: of the subnet; read from it where the plan has a zone ID."""

    box: Part[BoxPlan]
    region: str
    vpc_id: Input[str]
    subnet_id: Input[str]
    profile_name: Input[str]
    kms_key_arn: Input[str]
    tags: Mapping[str, Input[str]]
    teardown: NotRequired[bool]
    image_id: NotRequired[Input[str] | None]
    zone_name: NotRequired[Input[str] | None]


class AwsBox(pulumi.ComponentResource):
    """Security group, instance, data volume, and the alarm that stops an idle instance.

    The data volume persists. A new image or setup script does not replace a running instance; use `pulumi up --replace` for that.
    """

    instance_id: Output[str]
    connect_command: Output[str]

    def __init__(self, name: str, args: AwsBoxArgs, opts: ResourceOptions | None = None):
        check_args(AwsBoxArgs, args)
        super().__init__("rackwright:index:AwsBox", name, None, opts)
        plan, child = part(BoxPlan, args["box"]), ChildContext(self, name, args["tags"])
        settings = InstanceSettings(args["subnet_id"], _group(child, plan, args["vpc_id"]).id, args["profile_name"], args["kms_key_arn"])
        machine = instance(child, plan, settings, args.get("image_id"), args.get("teardown", False))
        if plan.data:
            _data_volume(child, plan.data, _zone_name(child, plan, args), args, machine)
        if plan.idle_stop_minutes:
            _idle_stop(child, plan, args["region"], machine)
        self.instance_id = machine.id
        self.connect_command = Output.format("aws ssm start-session --target {0} --region {1}", machine.id, args["region"])
        self.register_outputs({"instanceId": machine.id, "connectCommand": self.connect_command})


def _group(child: ChildContext, plan: BoxPlan, vpc_id: Input[str]) -> SecurityGroup:
    """SSH is open for the plan's networks only; Session Manager needs no open port. The instance has no public address, so the networks
    must be peered or connected by VPN."""
    group, _ = egress_only_group(child, "closed", "Nothing calls the machine; it calls out", vpc_id)
    for number, cidr in enumerate(plan.ingress):
        SecurityGroupIngressRule(
            child.name("ssh", number),
            security_group_id=group.id,
            cidr_ipv4=EVERYONE.get(cidr, cidr),
            ip_protocol="tcp",
            from_port=22,
            to_port=22,
            tags=child.tagged("ssh", number),
            opts=child.opts(),
        )
    return group


def _zone_name(child: ChildContext, plan: BoxPlan, args: AwsBoxArgs) -> Input[str]:
    """The subnet's zone name, because EBS accepts no zone ID in this resource."""
    if not is_zone_id(plan.zone):
        return plan.zone
    if (known := args.get("zone_name")) is not None:
        return known
    return get_subnet_output(id=args["subnet_id"], opts=InvokeOutputOptions(parent=child.parent)).availability_zone


def _data_volume(child: ChildContext, plan: DiskPlan, zone: Input[str], args: AwsBoxArgs, machine: Instance) -> None:
    volume = Volume(
        child.name("data"),
        availability_zone=zone,
        size=plan.size_gib,
        type="gp3",
        iops=plan.iops,
        throughput=plan.throughput_mib_s,
        encrypted=True,
        kms_key_id=args["kms_key_arn"],
        tags=child.tagged("data"),
        opts=child.opts(protect=not args.get("teardown"), retain_on_delete=not args.get("teardown")),
    )
    VolumeAttachment(
        child.name("data"),
        device_name=DATA_DEVICE,
        volume_id=volume.id,
        instance_id=machine.id,
        stop_instance_before_detaching=True,
        opts=child.opts(delete_before_replace=True),
    )


def _idle_stop(child: ChildContext, plan: BoxPlan, region: str, machine: Instance) -> None:
    """Alarm that stops an idle instance, or terminates a spot instance, which alarms cannot stop."""
    action = "terminate" if plan.capacity.mode == "spot" else "stop"
    MetricAlarm(
        child.name("idle"),
        alarm_description=f"No work for {plan.idle_stop_minutes} minutes: {action}",
        namespace="AWS/EC2",
        metric_name="CPUUtilization",
        dimensions={"InstanceId": machine.id},
        statistic="Maximum",
        period=ALARM_PERIOD_S,
        evaluation_periods=plan.idle_stop_minutes,
        comparison_operator="LessThanThreshold",
        threshold=plan.idle_cpu_percent,
        treat_missing_data="notBreaching",
        alarm_actions=[f"arn:aws:automate:{region}:ec2:{action}"],
        tags=child.tagged("idle"),
        opts=child.opts(),
    )
