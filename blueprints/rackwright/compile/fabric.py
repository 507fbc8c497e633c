"""Network interfaces of a node, and what a job must find, so that a silent fall to TCP is loud."""

from rackwright.catalog.rows import Fabric, Machine
from rackwright.compile.wants import FabricExpectation, NicWant

BUSBW_FLOORS = (("efa", 4e11, 300.0), ("tcpxo", 2e11, 250.0))
"""(fabric, least bytes per second of a node, GB/s of NCCL all-reduce bus bandwidth between two nodes) of GPU machines.
Source: NVIDIA/aicr@bc05c6b recipes/overlays h100-eks and h100-gke (2026-03); newer machines of the same rate should not do worse."""


def nic_layout(machine: Machine) -> tuple[NicWant, ...]:
    """Fewest addresses: one IP interface on card 0, then one fabric-only interface per card that carries EFA.

    On card 0 the fabric interface is device 1, elsewhere device 0; p6-b300 has none on card 0.
    Source: docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html.
    """
    if machine.fabric is not Fabric.EFA:
        return ()
    return (NicWant(0, 0, "ip"), *(NicWant(card, 1 if card == 0 else 0, "fabric") for card in machine.efa_cards))


def expectation(machine: Machine) -> FabricExpectation:
    rate = machine.fabric_bytes_per_s or machine.network_bytes_per_s
    fast = [floor for fabric, least, floor in BUSBW_FLOORS if machine.kind == "gpu" and fabric == machine.fabric and (rate or 0) >= least]
    return FabricExpectation(
        fabric=str(machine.fabric),
        interfaces_per_node=machine.fabric_interfaces or 0,
        node_bytes_per_s=rate,
        busbw_floor_gb_s=fast[0] if fast else None,
        source="NVIDIA/aicr@bc05c6b recipes/overlays" if fast else "",
    )
