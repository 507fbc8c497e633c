"""Stack outputs that several blueprints share, in the camelCase of exported names."""

from typing import Any

from rackwright.stackplan import FabricExpectation


def fabric_output(expected: FabricExpectation) -> dict[str, Any]:
    """What a job must see of the fabric; None is not published, and there is a note only where something is to be known."""
    noted = {"note": expected.note} if expected.note else {}
    return noted | {
        "fabric": expected.fabric,
        "interfacesPerNode": expected.interfaces_per_node,
        "nodeBytesPerS": expected.node_bytes_per_s,
        "busBandwidthFloorGbPerS": expected.busbw_floor_gb_s,
        "source": expected.source,
    }
