"""A machine as the search sees it: the catalog's rows turned into numbers once."""

from dataclasses import dataclass

from rackwright.catalog.rows import Accelerator, Fabric, Machine
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.traffic import Links


@dataclass(frozen=True)
class Hardware:
    """One node, and of what its accelerators can do what the formulas ask. None: not published. Equal values share one search.

    slice_chips: chips of one TPU slice, 0 for GPUs; fabric_bytes_per_s: between nodes, one direction, all interfaces.
    """

    accelerator: str
    vendor: str
    kind: str
    per_node: int
    memory_bytes: float | None
    bandwidth_bytes_per_s: float | None
    peaks: tuple[tuple[str, float | None], ...]
    scale_up_bytes_per_s: float | None
    domain: int | None
    fabric_bytes_per_s: float | None
    slice_chips: int = 0

    def peak(self, precision: str) -> float | None:
        return dict(self.peaks).get(precision)

    @property
    def base_peak(self) -> float | None:
        """What utilisations refer to: bf16, or fp16 on accelerators without it."""
        return self.peak("bf16") or self.peak("fp16")

    def links(self, a: Assumptions) -> Links:
        """PCIe where there is no scale-up link. Inside a TPU slice every chip reaches every other."""
        linked = self.scale_up_bytes_per_s or a.pcie_bytes_per_s
        domain = self.slice_chips or self.domain or self.per_node
        return Links(linked, self.fabric_bytes_per_s or 0.0, self.per_node, domain)


PRECISIONS = ("bf16", "fp16", "fp8", "int8", "fp4", "tf32", "fp32")


def hardware(machine: Machine, accelerator: Accelerator, slice_chips: int = 0, nodes: int = 2) -> Hardware:
    """nodes 1 leaves the network out, so that machines which differ only there share one search."""
    network = machine.fabric_bytes_per_s or machine.network_bytes_per_s
    return Hardware(
        accelerator=accelerator.name,
        vendor=accelerator.vendor,
        kind=machine.kind,
        per_node=machine.accelerator_count,
        memory_bytes=machine.accelerator_memory_bytes or accelerator.memory_bytes,
        bandwidth_bytes_per_s=accelerator.memory_bandwidth_bytes_per_s,
        peaks=tuple((p, accelerator.peak(p)) for p in PRECISIONS),
        scale_up_bytes_per_s=accelerator.scale_up_bytes_per_s if machine.scale_up_domain else None,
        domain=machine.scale_up_domain,
        fabric_bytes_per_s=network if nodes > 1 and machine.fabric is not Fabric.ICI else None,
        slice_chips=slice_chips,
    )
