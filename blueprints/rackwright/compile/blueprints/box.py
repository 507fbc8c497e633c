"""Box on AWS: one machine, reached through Session Manager and, where the spec allows it, by SSH."""

from importlib.resources import files

from rackwright.catalog.rows import Machine
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.network.address_plan import box_network, existing_network
from rackwright.compile.network.place import place_plan
from rackwright.compile.nodes.capacity import capacity_plan
from rackwright.compile.storage.buckets import bucket_plans, data_disk, grants
from rackwright.spec.spec import Spec
from rackwright.stackplan import BlueprintKind, BoxPlan, DiskPlan, IdentityPlan, KeyPlan, StackPlan, VersionPins
from rackwright.stackplan.capacity import IDLE_STOP_MINUTES
from rackwright.stackplan.images import box_image

ROOT_GIB = {"gpu": 200, "neuron": 512, "cpu": 50}
"""The GPU image is about 100 GiB, the rest is for containers; Neuron's setup guide requires 512 GB (compiled programs, two frameworks)."""
IDLE_CORES, IDLE_MAX_PERCENT = 0.5, 2.0
"""A process that uses one accelerator keeps a core busy; an idle machine uses a tenth of a core."""


def box_plan(context: CompileContext) -> StackPlan:
    place = place_plan(context)
    buckets = bucket_plans(context)
    box = _box(context, place.zone)
    return StackPlan(
        name=context.spec.name,
        kind=BlueprintKind.BOX,
        place=place,
        network=existing_network(context.place.network) or box_network(place),
        key=KeyPlan(serves=("disks", "buckets", "logs")),
        tags=context.tags,
        buckets=buckets,
        identities=(IdentityPlan("box", grants(buckets)),),
        box=box,
        pins=VersionPins(images=(("box", box.image),)),
        expires_on=context.expires_on,
    )


def _box(context: CompileContext, zone: str) -> BoxPlan:
    machine = context.machine
    root = DiskPlan(ROOT_GIB[machine.kind], iops=3000, throughput_mib_s=125)
    return box_machine(context, zone, box_image(machine.kind, machine.cpu_arch), root, "box_setup.sh")


def box_machine(context: CompileContext, zone: str, image: str, root: DiskPlan, script: str) -> BoxPlan:
    """The machine of a box on any cloud. script: file of this package that sets it up."""
    machine = context.machine
    return BoxPlan(
        machine=machine.name,
        zone=zone,
        image=image,
        root=root,
        data=data_disk(context),
        capacity=capacity_plan(context),
        accelerator=machine.accelerator or "",
        accelerator_count=machine.accelerator_count,
        local_nvme=bool(machine.local_nvme_count),
        idle_stop_minutes=IDLE_STOP_MINUTES,
        idle_cpu_percent=idle_cpu_percent(machine),
        setup_script=files("rackwright.compile.blueprints").joinpath(script).read_text(),
        ingress=ssh_ranges(context.spec),
        kind=machine.kind,
        cpu_arch=machine.cpu_arch,
    )


def idle_cpu_percent(machine: Machine) -> float:
    """CPU utilization below which a minute of the machine is idle."""
    return min(IDLE_MAX_PERCENT, round(100 * IDLE_CORES / (machine.vcpus or 1), 2))


def ssh_ranges(spec: Spec) -> tuple[str, ...]:
    """Networks that SSH is open for. V-80 distinguishes `anywhere` from a range such as 0.0.0.0/0."""
    ssh_from = spec.blueprint.ssh_from
    if ssh_from == "nobody":
        return ()
    return (ssh_from,) if isinstance(ssh_from, str) else ssh_from
