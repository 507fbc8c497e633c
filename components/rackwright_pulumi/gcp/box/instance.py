"""The instance of a box, in every capacity mode except flex-start."""

import pulumi
from pulumi import CustomTimeouts, Output, ResourceOptions
from pulumi_gcp.compute import (
    AttachedDisk,
    Disk,
    Instance,
    InstanceBootDiskArgs,
    InstanceBootDiskInitializeParamsArgs,
    InstanceGuestAcceleratorArgs,
    InstanceNetworkInterfaceArgs,
    InstanceReservationAffinityArgs,
    InstanceReservationAffinitySpecificReservationArgs,
    InstanceSchedulingArgs,
    InstanceScratchDiskArgs,
    InstanceServiceAccountArgs,
    InstanceShieldedInstanceConfigArgs,
)

from rackwright_pulumi.gcp.box.settings import (
    DATA_DEVICE,
    DISK_TYPES,
    LOCAL_SSD_GIB,
    RESERVATION_KEY,
    SCOPES,
    MachineSettings,
    MadeMachine,
)
from rackwright_pulumi.gcp.labels import guard
from rackwright_pulumi.naming import child

TIMEOUTS = CustomTimeouts(create="20m", delete="20m")
"""Google Cloud reports missing capacity within this time."""
SHIELDED = InstanceShieldedInstanceConfigArgs(enable_secure_boot=True, enable_vtpm=True, enable_integrity_monitoring=True)
"""Canonical signs the driver of its images."""


def instance(parent: pulumi.Resource, name: str, settings: MachineSettings) -> MadeMachine:
    """Create the instance with its data disk. A change of the image is ignored, because a replacement loses the boot disk."""
    plan = settings.plan
    machine = Instance(
        child(name, "machine"),
        project=settings.project,
        zone=plan.zone,
        machine_type=plan.machine_type,
        guest_accelerators=_attached(settings),
        boot_disk=_boot_disk(settings),
        scratch_disks=[InstanceScratchDiskArgs(interface="NVME", size=LOCAL_SSD_GIB) for _ in range(plan.local_ssd_count)] or None,
        network_interfaces=_interfaces(settings),
        scheduling=_scheduling(settings),
        reservation_affinity=_reservation(settings),
        service_account=InstanceServiceAccountArgs(email=settings.account_email, scopes=SCOPES),
        shielded_instance_config=SHIELDED,
        metadata=settings.metadata,
        labels=settings.labels,
        allow_stopping_for_update=True,
        deletion_protection=not settings.teardown,
        deletion_policy=guard(settings.teardown),
        opts=ResourceOptions(
            parent=parent,
            delete_before_replace=True,  # the data disk is attached to one machine
            # Machines with bundled local SSDs report them: https://github.com/hashicorp/terraform-provider-google/issues/19648
            ignore_changes=["bootDisk.initializeParams.image", "attachedDisks", *([] if plan.local_ssd_count else ["scratchDisks"])],
            custom_timeouts=TIMEOUTS,
        ),
    )
    if settings.data:
        _attach(parent, name, machine, settings.data)
    command = "gcloud compute ssh {0} --project {1} --zone {2} --tunnel-through-iap"
    return MadeMachine(machine.name, Output.format(command, machine.name, machine.project, plan.zone))


def _attach(parent: pulumi.Resource, name: str, machine: Instance, data: Disk) -> None:
    AttachedDisk(
        child(name, "data"),
        disk=data.id,
        instance=machine.id,
        device_name=DATA_DEVICE,
        opts=ResourceOptions(parent=parent, delete_before_replace=True),
    )


def _interfaces(settings: MachineSettings) -> list[InstanceNetworkInterfaceArgs]:
    """One per subnet, without a public address."""
    pairs = zip(settings.subnets, settings.nic_types, strict=True)
    return [InstanceNetworkInterfaceArgs(subnetwork=subnet, nic_type=nic_type) for subnet, nic_type in pairs]


def _boot_disk(settings: MachineSettings) -> InstanceBootDiskArgs:
    root = settings.plan.root
    image = InstanceBootDiskInitializeParamsArgs(
        image=settings.image, size=root.size_gib, type=DISK_TYPES[root.kind], labels=settings.labels
    )
    return InstanceBootDiskArgs(kms_key_self_link=settings.disk_key_id, auto_delete=True, initialize_params=image)


def _scheduling(settings: MachineSettings) -> InstanceSchedulingArgs:
    is_spot = settings.plan.capacity.mode == "spot"
    return InstanceSchedulingArgs(
        provisioning_model=settings.provisioning_model,
        preemptible=is_spot,
        automatic_restart=not is_spot,
        on_host_maintenance=settings.maintenance,
        instance_termination_action=settings.termination_action,
    )


def _attached(settings: MachineSettings) -> list[InstanceGuestAcceleratorArgs] | None:
    """Accelerators that the machine type does not have: https://docs.cloud.google.com/compute/docs/gpus/create-gpu-vm-general-purpose"""
    plan = settings.plan
    if not plan.attached_accelerator:
        return None
    return [InstanceGuestAcceleratorArgs(type=plan.attached_accelerator, count=plan.accelerator_count)]


def _reservation(settings: MachineSettings) -> InstanceReservationAffinityArgs:
    if not settings.is_reserved:
        return InstanceReservationAffinityArgs(type=settings.affinity)
    named = InstanceReservationAffinitySpecificReservationArgs(key=RESERVATION_KEY, values=[settings.plan.capacity.reservation_id])
    return InstanceReservationAffinityArgs(type=settings.affinity, specific_reservation=named)
