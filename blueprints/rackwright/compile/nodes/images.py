"""Images of EKS nodes: which one the accelerators' machines start from, and which machines its drivers know."""

from dataclasses import replace

from rackwright.compile.compile_context import CompileContext
from rackwright.compile.nodes.machine_facts import machine_facts
from rackwright.spec.blueprint import OwnImage
from rackwright.stackplan import PoolPlan

DRIVERS = {"gpu": "nvidia", "neuron": "neuron"}
"""Kind of machine to the variant of an image that has its drivers."""
UBUNTU = "ubuntu"
"""Has no variants: the GPU operator installs what is missing."""
NVIDIA_X86 = ("g4dn", "g5.", "g6.", "g6e", "g6f", "gr6.", "gr6f", "g7e", "p3", "p4d", "p5", "p6-b200", "p6-b300")
NEURON = ("inf1", "inf2", "trn1", "trn2")
DRIVEN = {
    ("al2023-nvidia", "x86_64"): NVIDIA_X86,
    ("al2023-nvidia", "arm64"): ("g5g", "p6e-gb200", "p6e-gb300", "u-p6e-gb200"),
    ("al2023-neuron", "x86_64"): NEURON,
    ("bottlerocket-nvidia", "x86_64"): NVIDIA_X86,
    ("bottlerocket-nvidia", "arm64"): ("g5g",),
    ("bottlerocket-neuron", "x86_64"): NEURON,
}
"""Image and processor to the prefixes of machines it has drivers for (docs.aws.amazon.com/eks/latest/userguide/ml-eks-optimized-ami, a copy
of 2026-08; an older page of it, launch-node-bottlerocket, has no Bottlerocket on Inferentia yet). G7 is none of
them: it wants NVIDIA's 595 (bottlerocket-custom-variant, the same guide)."""


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
        image=variant(family, machine.kind),
        image_id=own,
        devices=nodes.devices if pool.nics else pool.devices,
        local_nvme=pool.local_nvme and family != UBUNTU,
    )


def variant(family: str, kind: str) -> str:
    """The image of a family for a kind of machine: al2023, al2023-nvidia, ubuntu."""
    drivers = DRIVERS.get(kind, "")
    return f"{family}-{drivers}" if drivers and family != UBUNTU else family


def family_of(image: str) -> str:
    """The family of an image's neutral name."""
    return image.partition("-")[0]
