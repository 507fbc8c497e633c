"""Settings that an instance and an instance template share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pulumi import Input, Output
from pulumi_gcp.compute import Disk
from rackwright.stackplan import BoxPlan, NicPlan

NIC_TYPES = {"ip": "GVNIC", "fabric": "MRDMA"}
"""https://docs.cloud.google.com/ai-hypercomputer/docs/create/create-vm"""
DISK_TYPES = {"balanced": "pd-balanced", "hyperdisk-balanced": "hyperdisk-balanced"}
DATA_DEVICE = "data"
"""Name of the disk on the machine: /dev/disk/by-id/google-data."""
LOCAL_SSD_GIB = 375
SCOPES = ["cloud-platform"]
"""Access is limited by the roles of the machine's service account: https://docs.cloud.google.com/compute/docs/access/service-accounts"""
PROVISIONING = {
    "on-demand": "STANDARD",
    "spot": "SPOT",
    "reservation": "STANDARD",
    "flex-start": "FLEX_START",
    "calendar": "RESERVATION_BOUND",
}
RESERVED = ("reservation", "calendar")
RESERVATION_KEY = "compute.googleapis.com/reservation-name"


@dataclass(frozen=True)
class MachineSettings:
    """subnets: of the interfaces, in their order. data: the disk that outlives the machine."""

    plan: BoxPlan
    image: Input[str]
    project: Input[str]
    subnets: Sequence[Input[str]]
    account_email: Input[str]
    disk_key_id: Input[str]
    labels: Mapping[str, str]
    data: Disk | None
    teardown: bool

    @property
    def nic_types(self) -> list[str]:
        return [NIC_TYPES[nic.kind] for nic in self.plan.nics or (NicPlan(0, 0, "ip"),)]

    @property
    def metadata(self) -> dict[str, Input[str]]:
        """The startup script reads the limits of the idle stop at run time, so that a change of them needs no restart."""
        values: dict[str, Input[str]] = {
            "enable-oslogin": "TRUE",
            "block-project-ssh-keys": "TRUE",
            "idle-stop-minutes": str(self.plan.idle_stop_minutes or 0),
            "idle-cpu-percent": str(self.plan.idle_cpu_percent),
        }
        if self.plan.setup_script:
            values["startup-script"] = self.plan.setup_script
        return values

    @property
    def provisioning_model(self) -> str:
        """A reservation of machines that are not sold on demand ends with its machines."""
        return "RESERVATION_BOUND" if self.plan.is_reservation_bound and self.is_reserved else PROVISIONING[self.plan.capacity.mode]

    @property
    def is_reserved(self) -> bool:
        return self.plan.capacity.mode in RESERVED

    @property
    def termination_action(self) -> str | None:
        """What Compute Engine does with a machine that it takes back: stopped, it keeps its disks and starts again by hand."""
        return "STOP" if self.provisioning_model in ("SPOT", "RESERVATION_BOUND") else None

    @property
    def maintenance(self) -> str:
        """Machines with accelerators and spot machines cannot be moved to another host."""
        return "TERMINATE" if self.plan.accelerator_count or self.plan.capacity.mode == "spot" else "MIGRATE"

    @property
    def affinity(self) -> str:
        """A machine uses the reservation of its plan and no other."""
        return "SPECIFIC_RESERVATION" if self.is_reserved else "NO_RESERVATION"


@dataclass(frozen=True)
class MadeMachine:
    """name: of the instance, or of its group."""

    name: Output[str]
    connect_command: Output[str]
