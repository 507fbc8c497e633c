"""Network interfaces of a node, and what a job must find, so that a silent fall to TCP is loud."""

from rackwright.catalog.rows import Fabric, Machine
from rackwright.compile.wants import FabricExpectation, NicWant

BUSBW_FLOOR_GB_S = {("efa", "H100"): 300.0, ("efa", "H200"): 300.0, ("tcpxo", "H100"): 250.0}
"""NCCL all-reduce between two nodes, GB/s of bus bandwidth: NVIDIA/aicr@bc05c6b recipes/overlays h100-eks and h100-gke (2026-03).
H200 machines have the same fabric rate as H100 ones, so their floor is the same."""


def nic_layout(machine: Machine) -> tuple[NicWant, ...]:
    """Fewest addresses: one IP interface on card 0, then one fabric-only interface per card that carries EFA.

    On card 0 the fabric interface is device 1, elsewhere device 0; p6-b300 has none on card 0.
    Source: docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html.
    """
    if machine.fabric is not Fabric.EFA:
        return ()
    return (NicWant(0, 0, "ip"), *(NicWant(card, 1 if card == 0 else 0, "fabric") for card in machine.efa_cards))


def expectation(machine: Machine) -> FabricExpectation:
    floors = [floor for (fabric, gpu), floor in BUSBW_FLOOR_GB_S.items() if fabric == machine.fabric and gpu in (machine.accelerator or "")]
    return FabricExpectation(
        fabric=str(machine.fabric),
        interfaces_per_node=machine.fabric_interfaces or 0,
        node_bytes_per_s=machine.fabric_bytes_per_s or machine.network_bytes_per_s,
        busbw_floor_gb_s=floors[0] if floors else None,
        source="NVIDIA/aicr@bc05c6b recipes/overlays" if floors else "",
    )
