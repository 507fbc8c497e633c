"""Images of EKS nodes."""

from dataclasses import replace

from rackwright.compile.compile_context import CompileContext
from rackwright.spec.blueprint import OwnImage
from rackwright.stackplan import PoolPlan
from rackwright.stackplan.images import UBUNTU, image_variant


def with_node_image(context: CompileContext, pool: PoolPlan) -> PoolPlan:
    """`pool` on EKS with the image and the EFA driver of the spec.

    A custom image applies to machines of the sized pool's kind and architecture; others use the EKS image of its family. Ubuntu nodes do
    not mount local disks, so pods cannot use them.
    """
    nodes, machine = context.spec.blueprint.nodes, context.catalog.machine(pool.machine)
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
