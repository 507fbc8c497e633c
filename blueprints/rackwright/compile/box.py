"""Box on AWS: one machine, scaled up, reached through Session Manager and, where the spec opens it, by SSH."""

from importlib.resources import files

from rackwright.compile.capacity import capacity_want
from rackwright.compile.draft import Draft
from rackwright.compile.network import box_network, existing_network
from rackwright.compile.place import place_want
from rackwright.compile.storage import buckets, data_disk, grants
from rackwright.compile.versions import BOX_IMAGES
from rackwright.compile.wants import BoxWant, DiskWant, IdentityWant, KeyWant, Kind, StackPlan, VersionPins

ROOT_GIB = {"gpu": 200, "neuron": 512, "cpu": 50}
"""The GPU image is about 100 GiB, the rest is for containers; Neuron's setup guide asks for 512 GB (compiled programs, two frameworks)."""
IDLE_STOP_MINUTES = 60
IDLE_CORES, IDLE_MOST_PERCENT = 0.5, 2.0
"""A process that feeds one accelerator keeps a core busy, be it one of four or one of 192; a machine left alone uses a tenth of one."""


def box_plan(draft: Draft) -> StackPlan:
    place = place_want(draft)
    wanted = buckets(draft)
    box = _box(draft, place.zone)
    return StackPlan(
        name=draft.spec.name,
        kind=Kind.BOX,
        place=place,
        network=existing_network(draft.place.network) or box_network(place),
        key=KeyWant(serves=("disks", "buckets", "logs")),
        tags=draft.tags,
        buckets=wanted,
        identities=(IdentityWant("box", grants(wanted)),),
        box=box,
        pins=VersionPins(images=(("box", box.image),)),
        expires_on=draft.expires_on,
    )


def _box(draft: Draft, zone: str) -> BoxWant:
    machine = draft.machine
    return BoxWant(
        machine=machine.name,
        zone=zone,
        image=BOX_IMAGES[machine.kind, machine.cpu_arch],
        root=DiskWant(ROOT_GIB[machine.kind], iops=3000, throughput_mib_s=125),
        data=data_disk(draft),
        capacity=capacity_want(draft),
        accelerator=machine.accelerator or "",
        accelerator_count=machine.accelerator_count,
        local_nvme=bool(machine.local_nvme_count),
        idle_stop_minutes=IDLE_STOP_MINUTES,
        idle_cpu_percent=min(IDLE_MOST_PERCENT, round(100 * IDLE_CORES / (machine.vcpus or 1), 2)),
        setup_script=files("rackwright.compile").joinpath("box_setup.sh").read_text(),
        ingress=_ingress(draft),
        kind=machine.kind,
        cpu_arch=machine.cpu_arch,
    )


def _ingress(draft: Draft) -> tuple[str, ...]:
    """Networks SSH opens for; `anywhere` stays a word, so that a rule can tell it from a range that only happens to be everyone."""
    said = draft.spec.blueprint.ssh_from
    return () if said == "nobody" else (said,) if isinstance(said, str) else said
