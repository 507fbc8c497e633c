"""Network interfaces of a node, and the fabric bandwidth that jobs should measure."""

from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import Fabric, Machine
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import At, Problem, Stage
from rackwright.stackplan import FabricExpectation, NicPlan

FEWEST_ADDRESSES, MOST_BANDWIDTH = "fewest-addresses", "most-bandwidth"
LAYOUT_GUIDE = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html"
BUSBW_FLOORS = (("efa", 4e11, 300.0), ("tcpxo", 2e11, 250.0))
"""(fabric, minimum bytes per second of a node, GB/s of NCCL all-reduce bus bandwidth between two nodes) of GPU machines.
Source: NVIDIA/aicr@bc05c6b recipes/overlays h100-eks and h100-gke (2026-03); newer machines of the same rate should not do worse."""


def nic_layout(machine: Machine, variant: str = FEWEST_ADDRESSES, catalog: Catalog | None = None) -> tuple[NicPlan, ...]:
    """An IP interface on card 0 and one EFA-only interface per card with EFA; for most-bandwidth also further IP interfaces.

    EFA is device 1 on card 0 and device 0 elsewhere; further IP interfaces are device 1. p6-b300 and p6e-gb200 have no EFA on card 0.
    Empty without EFA, and where the layout is unpublished or sources disagree.
    Source: docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html. Raises UserError where the variant is not published;
    its message lists the machines of `catalog` with the variant.
    """
    if variant == MOST_BANDWIDTH and not machine.ip_cards:
        published = sorted(row.name for row in (catalog.machines if catalog else ()) if row.ip_cards)
        reason = f"AWS does not publish which network cards of {machine.name} support further IP interfaces"
        fix = f"use {FEWEST_ADDRESSES}" + (f", or one of {', '.join(published)}" if published else "")
        raise UserError(
            [Problem("C-interfaces", reason, At() / "blueprint" / "nodes" / "interfaces", fix, link=LAYOUT_GUIDE, stage=Stage.BUILD)]
        )
    if machine.fabric is not Fabric.EFA or not machine.efa_cards:
        return ()
    fabric = (NicPlan(card, 1 if card == 0 else 0, "fabric") for card in machine.efa_cards)
    further = machine.ip_cards if variant == MOST_BANDWIDTH else ()
    return (NicPlan(0, 0, "ip"), *fabric, *(NicPlan(card, 1, "ip") for card in further))


def fabric_expectation(machine: Machine) -> FabricExpectation:
    rate = machine.fabric_bytes_per_s or machine.sustained_network_bytes_per_s
    fast = [floor for fabric, low, floor in BUSBW_FLOORS if machine.kind == "gpu" and fabric == machine.fabric and (rate or 0) >= low]
    return FabricExpectation(
        fabric=str(machine.fabric),
        interfaces_per_node=machine.fabric_interfaces or 0,
        node_bytes_per_s=rate,
        busbw_floor_gb_s=fast[0] if fast else None,
        source="NVIDIA/aicr@bc05c6b recipes/overlays" if fast else "",
        note="" if machine.gpudirect is not False else "no GPUDirect RDMA: what is sent passes through host memory",
    )
