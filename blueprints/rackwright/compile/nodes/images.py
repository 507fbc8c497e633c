"""Images of EKS nodes: which one the accelerators' machines start from, and which machines its drivers know."""

from dataclasses import replace

from rackwright.compile.compile_context import CompileContext
from rackwright.compile.nodes.machine_facts import machine_facts
from rackwright.spec.blueprint import OwnImage
from rackwright.stackplan import PoolPlan
from rackwright.stackplan.images import UBUNTU, image_variant


def as_asked(context: CompileContext, pool: PoolPlan) -> PoolPlan:
    """`pool` on EKS with the image, and the way to its fabric interfaces, that the spec asks for.

    An image of one's own is for machines like the sized one: others start from EKS's of the family. Ubuntu's set-up of a node leaves local
    disks alone, so there they are no place for what pods write.
    """
    nodes, machine = context.spec.blueprint.nodes, machine_facts(pool.machine)
    family, own = (nodes.image.family, nodes.image.ami) if isinstance(nodes.image, OwnImage) else (nodes.image, "")
    if own and (machine.kind, machine.cpu_arch) != (context.machine.kind, context.machine.cpu_arch):
        family, own = ("al2023" if family == UBUNTU else family), ""
    return replace(
        pool,
        image=image_variant(family, machine.kind),
        image_id=own,
        devices=nodes.devices if pool.nics else pool.devices,
        local_nvme=pool.local_nvme and family != UBUNTU,
    )
