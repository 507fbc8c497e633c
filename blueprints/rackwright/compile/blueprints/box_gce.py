"""Box on Google Cloud: one machine of Compute Engine without a public address, reached through Identity-Aware Proxy."""

from dataclasses import replace

from rackwright.catalog.rows import CapacityMode
from rackwright.clouds import profile
from rackwright.compile.blueprints.box import ROOT_GIB, box_machine
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.network.address_plan import gce_box_network
from rackwright.compile.network.place import place_plan
from rackwright.compile.storage.buckets import bucket_plans, grants
from rackwright.stackplan import BlueprintKind, BoxPlan, DiskPlan, IdentityPlan, KeyPlan, NetworkPlan, NicPlan, StackPlan, VersionPins
from rackwright.stackplan.images import box_image

SERVICES = ("projects", "compute", "identity", "keys", "object-store", "registry", "logs", "metrics", "machine-access", "secrets")


def gce_box_plan(context: CompileContext) -> StackPlan:
    place, layout = place_plan(context), context.catalog.layout_by_machine.get(context.machine.name)
    network = gce_box_network(place, layout)
    buckets = bucket_plans(context)
    box = _box(context, place.zone, network)
    return StackPlan(
        name=context.spec.name,
        kind=BlueprintKind.BOX,
        place=place,
        network=network,
        key=KeyPlan(serves=("disks", "buckets")),
        tags=context.tags,
        buckets=buckets,
        identities=(IdentityPlan("box", grants(buckets)),),
        box=box,
        services=SERVICES,
        pins=VersionPins(images=(("box", box.image),)),
        expires_on=context.expires_on,
    )


def _box(context: CompileContext, zone: str, network: NetworkPlan) -> BoxPlan:
    machine = context.machine
    image = box_image(machine.kind, machine.cpu_arch, profile(machine.cloud).box_images)
    root = DiskPlan(ROOT_GIB[machine.kind], kind=machine.boot_disk)
    return replace(
        box_machine(context, zone, image, root, "box_gce_setup.sh"),
        attached_accelerator=machine.gke_accelerator_label if "+" in machine.name else "",
        nics=_nics(network),
        is_reservation_bound=CapacityMode.ON_DEMAND not in machine.capacity_modes,
    )


def _nics(network: NetworkPlan) -> tuple[NicPlan, ...]:
    """An interface in the first network, and one in each subnet of the accelerators' networks; empty where there is only the first."""
    kinds = ["fabric" if further.profile else "ip" for further in network.accelerator_networks for _ in further.subnet_cidrs]
    return tuple(NicPlan(card, 0, kind) for card, kind in enumerate(("ip", *kinds))) if kinds else ()
