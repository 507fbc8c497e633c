"""A machine that Google Cloud starts when it has capacity: an instance group of size 0, and a request to it for one machine.

The template has the run time of the machine: https://docs.cloud.google.com/ai-hypercomputer/docs/create/create-mig
"""

import pulumi
from pulumi import Output, ResourceOptions
from pulumi_gcp.compute import (
    InstanceGroupManager,
    InstanceGroupManagerInstanceLifecyclePolicyArgs,
    InstanceGroupManagerUpdatePolicyArgs,
    InstanceGroupManagerVersionArgs,
    InstanceTemplate,
    InstanceTemplateDiskArgs,
    InstanceTemplateDiskDiskEncryptionKeyArgs,
    InstanceTemplateGuestAcceleratorArgs,
    InstanceTemplateNetworkInterfaceArgs,
    InstanceTemplateReservationAffinityArgs,
    InstanceTemplateSchedulingArgs,
    InstanceTemplateSchedulingMaxRunDurationArgs,
    InstanceTemplateServiceAccountArgs,
    InstanceTemplateShieldedInstanceConfigArgs,
    ResizeRequest,
)

from rackwright_pulumi.gcp.box.settings import DATA_DEVICE, DISK_TYPES, LOCAL_SSD_GIB, SCOPES, MachineSettings, MadeMachine
from rackwright_pulumi.gcp.labels import guard
from rackwright_pulumi.naming import child
from rackwright_pulumi.unsupported import Unsupported

BASE_NAME_LENGTH = 58
"""Characters of the base of the machine's name, to which the group adds a dash and four: within 63."""
FIND = "gcloud compute instance-groups managed list-instances {0} --project {1} --zone {2} --format 'value(NAME)'"


def flex_start_machine(parent: pulumi.Resource, name: str, settings: MachineSettings) -> MadeMachine:
    """Template, group and request. The group repairs nothing: the machine is deleted at the end of its run, and its data disk stays.

    Raises Unsupported without a maximum run time, which a flex-start machine must have.
    """
    plan = settings.plan
    group = InstanceGroupManager(
        child(name, "group"),
        project=settings.project,
        zone=plan.zone,
        base_instance_name=child(name, "machine")[:BASE_NAME_LENGTH].rstrip("-"),
        target_size=0,
        versions=[InstanceGroupManagerVersionArgs(instance_template=_template(parent, name, settings).self_link_unique)],
        instance_lifecycle_policy=InstanceGroupManagerInstanceLifecyclePolicyArgs(default_action_on_failure="DO_NOTHING"),
        update_policy=InstanceGroupManagerUpdatePolicyArgs(
            type="OPPORTUNISTIC", minimal_action="REPLACE", replacement_method="RECREATE", max_surge_fixed=0, max_unavailable_fixed=1
        ),
        deletion_policy=guard(settings.teardown),
        opts=ResourceOptions(parent=parent, delete_before_replace=True, ignore_changes=["targetSize"]),  # the request raises it
    )
    ResizeRequest(
        child(name, "request"),
        project=settings.project,
        zone=plan.zone,
        instance_group_manager=group.name,
        resize_by=1,
        opts=ResourceOptions(parent=parent),
    )
    found = Output.format(FIND, group.name, group.project, plan.zone)
    command = "gcloud compute ssh $({0}) --project {1} --zone {2} --tunnel-through-iap"
    return MadeMachine(group.name, Output.format(command, found, group.project, plan.zone))


def _template(parent: pulumi.Resource, name: str, settings: MachineSettings) -> InstanceTemplate:
    plan, run_s = settings.plan, settings.plan.capacity.max_run_s
    if run_s is None:
        raise Unsupported("flex-start without a maximum run time", "box.capacity.max_run_s", "600 to 604800 seconds")
    attached = InstanceTemplateGuestAcceleratorArgs(type=plan.attached_accelerator, count=plan.accelerator_count)
    return InstanceTemplate(
        child(name, "template"),
        project=settings.project,
        machine_type=plan.machine_type,
        guest_accelerators=[attached] if plan.attached_accelerator else None,
        disks=_disks(settings),
        network_interfaces=[
            InstanceTemplateNetworkInterfaceArgs(subnetwork=subnet, nic_type=nic_type)
            for subnet, nic_type in zip(settings.subnets, settings.nic_types, strict=True)
        ],
        scheduling=InstanceTemplateSchedulingArgs(
            provisioning_model=settings.provisioning_model,
            automatic_restart=False,
            on_host_maintenance=settings.maintenance,
            instance_termination_action="DELETE",
            max_run_duration=InstanceTemplateSchedulingMaxRunDurationArgs(seconds=run_s),
        ),
        reservation_affinity=InstanceTemplateReservationAffinityArgs(type=settings.affinity),
        service_account=InstanceTemplateServiceAccountArgs(email=settings.account_email, scopes=SCOPES),
        shielded_instance_config=InstanceTemplateShieldedInstanceConfigArgs(
            enable_secure_boot=True, enable_vtpm=True, enable_integrity_monitoring=True
        ),
        metadata=settings.metadata,
        labels=settings.labels,
        opts=ResourceOptions(parent=parent),
    )


def _disks(settings: MachineSettings) -> list[InstanceTemplateDiskArgs]:
    plan, key = settings.plan, InstanceTemplateDiskDiskEncryptionKeyArgs(kms_key_self_link=settings.disk_key_id)
    boot = InstanceTemplateDiskArgs(
        boot=True,
        auto_delete=True,
        source_image=settings.image,
        disk_size_gb=plan.root.size_gib,
        disk_type=DISK_TYPES[plan.root.kind],
        disk_encryption_key=key,
        labels=settings.labels,
    )
    local = [
        InstanceTemplateDiskArgs(type="SCRATCH", disk_type="local-ssd", interface="NVME", disk_size_gb=LOCAL_SSD_GIB)
        for _ in range(plan.local_ssd_count)
    ]
    data = settings.data
    kept = [InstanceTemplateDiskArgs(source=data.name, device_name=DATA_DEVICE, boot=False, auto_delete=False)] if data else []
    return [boot, *local, *kept]
