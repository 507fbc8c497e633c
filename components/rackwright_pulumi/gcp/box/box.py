"""One machine of Compute Engine: private, encrypted, reached through Identity-Aware Proxy, stopped when idle."""

from collections.abc import Sequence
from typing import Any, NotRequired, TypedDict

import pulumi
from pulumi import Input, Output, ResourceOptions
from pulumi_gcp.compute import Disk, DiskDiskEncryptionKeyArgs, Firewall, FirewallAllowArgs
from rackwright.stackplan import BoxPlan, CostAlertsPlan, DiskPlan

from rackwright_pulumi.args import Part, part
from rackwright_pulumi.check_args import check_args
from rackwright_pulumi.gcp.box.alerts import idle_alert
from rackwright_pulumi.gcp.box.flex_start import flex_start_machine
from rackwright_pulumi.gcp.box.instance import instance
from rackwright_pulumi.gcp.box.settings import DISK_TYPES, MachineSettings
from rackwright_pulumi.gcp.labels import gcp_labels, guard
from rackwright_pulumi.naming import child
from rackwright_pulumi.unsupported import Unsupported

EVERYONE = {"anywhere": "0.0.0.0/0"}
IAP_RANGE = "35.235.240.0/20"
"""Source of forwarded TCP connections: https://docs.cloud.google.com/iap/docs/using-tcp-forwarding#create-firewall-rule"""
MODES = ("on-demand", "spot", "reservation", "calendar", "flex-start")


class GcpBoxArgs(TypedDict):
    """box: BoxPlan. guard: CostAlertsPlan with the recipients of alerts. tags: pairs. further_subnets: of the interfaces after the first.

    account_email: service account of the machine. disk_key_id: key of the disks, which Compute Engine may use. image_id: an image
    instead of the plan's.
    """

    box: Part[BoxPlan]
    guard: NotRequired[Part[CostAlertsPlan] | None]
    tags: Part[Sequence[tuple[str, str]]]
    project: Input[str]
    network_id: Input[str]
    subnet_id: Input[str]
    further_subnets: NotRequired[Sequence[Input[str]]]
    account_email: Input[str]
    disk_key_id: Input[str]
    teardown: NotRequired[bool]
    image_id: NotRequired[Input[str] | None]


class GcpBox(pulumi.ComponentResource):
    """Firewall rules, data disk, machine, and the alert on an idle machine.

    The data disk persists. A new image does not replace a running machine; use `pulumi up --replace` for that. A machine in capacity mode
    flex-start is made by a request to a managed instance group, when Google Cloud has capacity. Raises Unsupported for other modes.
    """

    connect_command: Output[str]
    machine_name: Output[str]
    """Of the instance, or of the instance group with flex-start."""

    def __init__(self, name: str, args: GcpBoxArgs, opts: ResourceOptions | None = None):
        check_args(GcpBoxArgs, args)
        super().__init__("rackwright:index:GcpBox", name, None, opts)
        plan, alerts = part(BoxPlan, args["box"]), args.get("guard")
        if plan.capacity.mode not in MODES:
            raise Unsupported(plan.capacity.mode, "box.capacity.mode", ", ".join(MODES))
        labels = gcp_labels(part(tuple[tuple[str, str], ...], args["tags"]))
        _firewall(self, name, plan, args)
        data = _data_disk(self, name, plan, plan.data, labels, args) if plan.data else None
        settings = MachineSettings(
            plan=plan,
            image=args.get("image_id") or plan.image,
            project=args["project"],
            subnets=[args["subnet_id"], *args.get("further_subnets", ())],
            account_email=args["account_email"],
            disk_key_id=args["disk_key_id"],
            labels=labels,
            data=data,
            teardown=args.get("teardown", False),
        )
        made = (flex_start_machine if plan.capacity.mode == "flex-start" else instance)(self, name, settings)
        if plan.idle_stop_minutes and alerts is not None:
            idle_alert(self, name, plan, part(CostAlertsPlan, alerts), labels, args["project"])
        self.machine_name, self.connect_command = made.name, made.connect_command
        self.register_outputs({"machineName": self.machine_name, "connectCommand": self.connect_command})


def _firewall(parent: pulumi.Resource, name: str, plan: BoxPlan, args: GcpBoxArgs) -> None:
    """SSH from Identity-Aware Proxy, and from the plan's networks, which must be connected to the machine's: it has no public address."""
    sources = {"iap": [IAP_RANGE]} | ({"ssh": [EVERYONE.get(cidr, cidr) for cidr in plan.ingress]} if plan.ingress else {})
    for key, ranges in sources.items():
        Firewall(
            child(name, key),
            project=args["project"],
            network=args["network_id"],
            source_ranges=ranges,
            target_service_accounts=[args["account_email"]],
            allows=[FirewallAllowArgs(protocol="tcp", ports=["22"])],
            opts=ResourceOptions(parent=parent),
        )


def _data_disk(parent: pulumi.Resource, name: str, plan: BoxPlan, disk: DiskPlan, labels: dict[str, str], args: GcpBoxArgs) -> Disk:
    """Raises Unsupported for kinds of disk that Compute Engine does not offer."""
    if disk.kind not in DISK_TYPES:
        raise Unsupported(f"disk kind {disk.kind}", "box.data.kind", ", ".join(DISK_TYPES))
    teardown = args.get("teardown", False)
    rates: dict[str, Any] = {"provisioned_iops": disk.iops, "provisioned_throughput": disk.throughput_mib_s}
    return Disk(
        child(name, "data"),
        project=args["project"],
        zone=plan.zone,
        size=disk.size_gib,
        type=DISK_TYPES[disk.kind],
        disk_encryption_key=DiskDiskEncryptionKeyArgs(kms_key_self_link=args["disk_key_id"]),
        labels=labels,
        deletion_policy=guard(teardown),
        **{key: value for key, value in rates.items() if value is not None},
        opts=ResourceOptions(parent=parent, protect=not teardown, retain_on_delete=not teardown),
    )
