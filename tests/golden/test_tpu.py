"""Node pools and placement of one slice of several hosts per TPU generation, as recorded and reviewed.

`RACKWRIGHT_RENEW=goldens pytest tests/golden` writes them; read the difference.
"""

import json
import os
from pathlib import Path

import pytest
from rackwright.catalog.read import Catalog

from tests.graphs import recorded
from tests.matrix import tpu

FOLDER = Path(__file__).parent / "tpu"
SLICES = {
    "v4": ("ct4p-hightpu-4t", "4x4x4", 1, "on-demand"),
    "v5e": ("ct5lp-hightpu-4t", "4x8", 2, "spot"),
    "v5p": ("ct5p-hightpu-4t", "4x4x8", 2, "reservation block"),
    "v6e": ("ct6e-standard-4t", "8x8", 1, "queued"),
    "v6e-one-host": ("ct6e-standard-8t", "2x4", 1, "flex-start"),
    "7x": ("tpu7x-standard-4t", "2x2x2", 1, "on-demand"),
}
"""Name -> host type, topology, slices, mode."""
TYPES = ("gcp:container/nodePool:NodePool", "gcp:compute/resourcePolicy:ResourcePolicy")


@pytest.mark.parametrize("name", SLICES)
def test_pools_match_the_recorded_ones(name):
    machine, topology, slices, mode = SLICES[name]
    (piece,) = [row for row in Catalog.default().slices_by_machine[machine] if row.topology == topology]
    made = tpu.cell(piece, slices, mode, tpu.zones(machine)[-1])
    graph = recorded(made.plan)
    found = {
        node.name: json.loads(json.dumps(node.as_json()["inputs"]))
        for kind in TYPES
        for node in graph.by_type(kind)
        if "slice" in node.name
    }
    path = FOLDER / f"{name}.json"
    if os.environ.get("RACKWRIGHT_RENEW") == "goldens":
        path.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    assert found == json.loads(path.read_text(encoding="utf-8")), "a wanted change? RACKWRIGHT_RENEW=goldens pytest tests/golden"


def test_every_generation_with_a_host_type_has_a_golden():
    machines = {machine for machine, *_ in SLICES.values()}
    assert {row.generation for row in tpu.pieces()} == {row.generation for row in tpu.pieces() if row.gke_machine_type in machines}
