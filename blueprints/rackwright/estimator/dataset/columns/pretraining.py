"""Case fields of a training-memory row besides its configuration, mostly from the names and notes of Megatron's tests."""

import re
from dataclasses import replace
from typing import Any

from rackwright.estimator.case import TrainingCase
from rackwright.estimator.dataset.columns.cells import PrintedRow
from rackwright.estimator.model.dimensions import ModelDimensions

NODES = 8.0
"""Nodes of a run without an accelerator count, unless its layout needs more: release tests run on eight nodes."""
FINE_GRAINED = 16
"""Number of experts above which experts are not split by tensor parallelism (Megatron-Core's MoE guide)."""
CHUNK = re.compile(r"virtual stage layers (\d+)")
ONE_PART_LAYERS = re.compile(r"nemotron[-_]?(3|h\b)")
"""Hybrid models that count mixer and feed-forward network as separate layers (arXiv 2504.03624)."""
PROXY = re.compile(r"deepseekv3_proxy")
PROXY_VOCAB = 256000
"""Megatron's shortened DeepSeek-V3: one prediction module as the model has, Nemotron's tokenizer (model_config.yaml beside its rows)."""


def pretraining_fields(row: PrintedRow, case: TrainingCase) -> dict[str, Any]:
    """Return the fields of a TrainingCase. A peak not labelled "reserved" is allocated memory, as trainers print it."""
    notes, name = row.notes, row.lower("model")
    n = _network(case.network, row)
    found: dict[str, Any] = {"network": n, "measures_reserved": float("reserved" in row.lower("mem_kind"))}
    if name.startswith("megatron test"):
        found["sequence_parallel"] = float("sequence parallel" in notes)
        found["dropout"] = float(not re.search(r"swiglu|relu", notes))  # GPT-3's recipe, and Megatron's default of 0.1
    chunk = CHUNK.search(notes)
    if chunk:
        found["virtual"] = n.layers / case.pipeline / int(chunk.group(1))
    if case.expert > 1 and n.experts <= FINE_GRAINED and "etp1" not in name:
        found["expert_tensor"] = case.tensor
    return found | _size(row, case, found.get("expert_tensor", case.expert_tensor))


def _network(n: ModelDimensions, row: PrintedRow) -> ModelDimensions:
    name = row.lower("model")
    if ONE_PART_LAYERS.search(name):
        return replace(n, layers=n.layers // 2, moe_layers=min(n.moe_layers, n.layers // 2))
    if not PROXY.search(name):
        return n
    table = PROXY_VOCAB * n.hidden if not row.count("vocab") else n.embedding
    parts = {"embedding": table, "head": table, "trunk": n.trunk + 2 * table - n.embedding - n.head}
    return replace(n, vocab=table // n.hidden, mtp=n.mtp or n.largest_block + 2.0 * n.hidden**2, **parts)


def _size(row: PrintedRow, case: TrainingCase, expert_tensor: float) -> dict[str, float]:
    """Return accelerators and replicas of a row that prints neither."""
    if row.count("accel_count") or row.count("dp"):
        return {}
    split = case.tensor * case.pipeline * case.context
    accelerators = max(NODES * float(case.links.per_node), split, case.expert * expert_tensor * case.pipeline)
    replicas = accelerators / split
    batch = row.count("global_batch")
    steps = max(batch / replicas / case.micro_batch, 1.0) if batch else case.micro_batches
    return {"accelerators": accelerators, "replicas": replicas, "shards": replicas * case.context, "micro_batches": steps}
