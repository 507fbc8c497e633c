"""A handful of measured runs; skipped, visibly, where the collection is not beside the repository."""

import csv
import os
from pathlib import Path

import pytest
from rackwright.sizing.assumptions import DEFAULT
from rackwright.sizing.demand import network_of
from rackwright.sizing.memory import Recipe, Split, training_terms
from rackwright.sizing.network import Network

from tests.sizing.helpers import network

MEASURED = Path(os.environ.get("RACKWRIGHT_MEASURED", Path(__file__).parents[2].parent / "shared" / "measured"))
GB, GIB = 1e9, 2**30
"""Lightning AI prints 10^9, the others 2^30."""
LLAMA_2_7B_LORA = 8 * 32 * 2 * (4096 + 4096)
"""Rank 8 on queries and values."""

pytestmark = pytest.mark.skipif(not MEASURED.is_dir(), reason=f"no measured runs at {MEASURED.name}; set RACKWRIGHT_MEASURED")


def printed(row_id: str) -> float:
    with (MEASURED / "finetune_memory.csv").open() as file:
        return float(next(r for r in csv.DictReader(file) if r["row_id"] == row_id)["mem_printed"])


def expected_bytes(n: Network, nf4: bool, tokens: int, recompute: int) -> float:
    recipe = Recipe(trainable=LLAMA_2_7B_LORA, linear_bytes=DEFAULT.nf4_bytes if nf4 else 2.0)
    terms = training_terms(n, recipe, Split(tokens=tokens, recompute=recompute), DEFAULT)
    return float(terms.allocated) * DEFAULT.reserved_per_allocated


@pytest.mark.parametrize(
    ("row", "unit", "nf4", "tokens", "recompute"),
    [
        ("FM0011", GB, False, 1304, 0),  # litgpt LoRA r8 on q, v
        ("FM0012", GB, True, 1304, 0),  # the same on nf4
        ("FM0013", GB, True, 1304, 0),  # with double quantisation
        ("FM0014", GB, False, 2 * 1304, 0),
        ("FM0095", GIB, True, 4 * 2048, 1),  # torchtune QLoRA
        ("FM0096", GIB, False, 4 * 2048, 1),  # torchtune LoRA
        ("FM0433", GIB, False, 4 * 1024, 1),  # LLaMA-Factory LoRA
        ("FM0436", GIB, True, 4 * 1024, 1),
    ],
)
def test_adapter_memory_of_llama_2_7b_within_a_quarter(row, unit, nf4, tokens, recompute):
    assert expected_bytes(network("llama-2-7b"), nf4, tokens, recompute) == pytest.approx(printed(row) * unit, rel=0.25)


def test_the_network_of_a_row_is_the_catalogs():
    from rackwright.catalog import models

    assert network_of(models.find("llama-2-7b").architecture).total == pytest.approx(6.74e9, rel=0.001)
