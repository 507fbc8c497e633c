"""Machines of the catalog as a search sees them: rows turned into numbers once."""

from dataclasses import replace

from rackwright.catalog.rows import Accelerator, Fabric, Machine
from rackwright.diagnostics.errors import Bug
from rackwright.estimator.case import Wires
from rackwright.estimator.config import accelerators
from rackwright.sizing.search.target import Target

NEURON_FORMATS = ("bf16", "fp16", "tf32", "fp32")
"""What the SDK computes in without the model being converted for it: its fp8 is cFP8 on Trainium1 and Inferentia2, MXFP8 on Trainium3
(Neuron documentation 2.32, data types)."""


def target(machine: Machine, accelerator: Accelerator, nodes: int, slice_chips: int = 0, slices: int = 0) -> Target:
    """slice_chips: of one TPU slice, 0 for GPUs. One machine alone leaves its network out, so that those which differ only there share
    one search."""
    found = accelerators.of(accelerator)
    if found is None:
        raise Bug(f"{accelerator.name} has gaps and was not refused")
    linked = found.scale_up_bytes_per_s if machine.scale_up_domain else None
    inside = linked or found.host_bytes_per_s
    network = None if nodes == 1 or machine.fabric is Fabric.ICI else machine.fabric_bytes_per_s or machine.network_bytes_per_s
    count = machine.accelerator_count
    wires = Wires(
        scale_up_bytes_per_s=inside,
        scale_out_bytes_per_s=network / count if network else inside,
        domain=float(slice_chips or machine.scale_up_domain or count),
        per_node=float(slice_chips or count),
        is_linked=float(linked is not None),
    )
    chip = replace(accelerators.chip(found), memory_bytes=float(machine.accelerator_memory_bytes or found.memory_bytes))
    flops = tuple(f for f in found.flops if machine.kind != "neuron" or f[0] in NEURON_FORMATS)
    return Target(accelerator.name, accelerator.vendor, chip, wires, nodes, count, flops, slices)
