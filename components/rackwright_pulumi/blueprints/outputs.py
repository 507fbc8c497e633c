"""Stack outputs that several blueprints share, in camelCase."""

from typing import Any

from rackwright.stackplan import FabricExpectation


def fabric_output(expected: FabricExpectation) -> dict[str, Any]:
    """The fabric that a job must find. None means not published; the note is present only if it has a text."""
    note = {"note": expected.note} if expected.note else {}
    return note | {
        "fabric": expected.fabric,
        "interfacesPerNode": expected.interfaces_per_node,
        "nodeBytesPerS": expected.node_bytes_per_s,
        "busBandwidthFloorGbPerS": expected.busbw_floor_gb_s,
        "source": expected.source,
    }
