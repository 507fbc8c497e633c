"""Box on AWS: one machine, scaled up, reached through Session Manager and, where the spec opens it, by SSH."""

from importlib.resources import files

from rackwright.compile.compile_context import CompileContext
from rackwright.compile.network.address_plan import box_network, existing_network
from rackwright.compile.network.place import place_plan
from rackwright.compile.nodes.capacity import capacity_plan
from rackwright.compile.storage.buckets import buckets, data_disk, grants
from rackwright.stackplan import BlueprintKind, BoxPlan, DiskPlan, IdentityPlan, KeyPlan, StackPlan, VersionPins
from rackwright.stackplan.capacity import IDLE_STOP_MINUTES
from rackwright.stackplan.images import BOX_IMAGES

ROOT_GIB = {"gpu": 200, "neuron": 512, "cpu": 50}
"""The GPU image is about 100 GiB, the rest is for containers; Neuron's setup guide asks for 512 GB (compiled programs, two frameworks)."""
IDLE_CORES, IDLE_MOST_PERCENT = 0.5, 2.0
"""A process that feeds one accelerator keeps a core busy, be it one of four or one of 192; a machine left alone uses a tenth of one."""


def box_plan(context: CompileContext) -> StackPlan:
    place = place_plan(context)
    wanted = buckets(context)
    box = _box(context, place.zone)
    return StackPlan(
        name=context.spec.name,
        kind=BlueprintKind.BOX,
        place=place,
        network=existing_network(context.place.network) or box_network(place),
        key=KeyPlan(serves=("disks", "buckets", "logs")),
        tags=context.tags,
        buckets=wanted,
        identities=(IdentityPlan("box", grants(wanted)),),
        box=box,
        pins=VersionPins(images=(("box", box.image),)),
        expires_on=context.expires_on,
    )


def _box(context: CompileContext, zone: str) -> BoxPlan:
    machine = context.machine
    return BoxPlan(
        machine=machine.name,
        zone=zone,
        image=BOX_IMAGES[machine.kind, machine.cpu_arch],
        root=DiskPlan(ROOT_GIB[machine.kind], iops=3000, throughput_mib_s=125),
        data=data_disk(context),
        capacity=capacity_plan(context),
        accelerator=machine.accelerator or "",
        accelerator_count=machine.accelerator_count,
        local_nvme=bool(machine.local_nvme_count),
        idle_stop_minutes=IDLE_STOP_MINUTES,
        idle_cpu_percent=min(IDLE_MOST_PERCENT, round(100 * IDLE_CORES / (machine.vcpus or 1), 2)),
        setup_script=files("rackwright.compile.blueprints").joinpath("box_setup.sh").read_text(),
        ingress=_ingress(context),
        kind=machine.kind,
        cpu_arch=machine.cpu_arch,
    )


def _ingress(context: CompileContext) -> tuple[str, ...]:
    """Networks SSH opens for; `anywhere` stays a word, so that a rule can tell it from a range that only happens to be everyone."""
    said = context.spec.blueprint.ssh_from
    return () if said == "nobody" else (said,) if isinstance(said, str) else said
