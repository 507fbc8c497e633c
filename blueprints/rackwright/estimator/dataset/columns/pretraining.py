"""What a row of training memory says beyond its configuration: layouts that Megatron's tests name in words, and what they leave blank."""

import re
from dataclasses import replace
from typing import Any

from rackwright.estimator.case import TrainingCase
from rackwright.estimator.dataset.columns.cells import PrintedRow
from rackwright.estimator.model.dimensions import ModelDimensions

NODES = 8.0
"""Of a run whose size is blank, or as many as its layout needs: release tests run on eight nodes."""
FINE_GRAINED = 16
"""More experts than these are narrow, and stay whole (Megatron-Core's guide to experts); fewer are split like the rest, its default."""
CHUNK = re.compile(r"virtual stage layers (\d+)")
ONE_PART_LAYERS = re.compile(r"nemotron[-_]?(3|h\b)")
"""Hybrid stacks that count an attention or state-space part and a feed-forward part as a layer each (arXiv 2504.03624)."""
PROXY = re.compile(r"deepseekv3_proxy")
PROXY_VOCAB = 256000
"""Megatron's shortened DeepSeek-V3: one prediction module as the model has, Nemotron's tokenizer (model_config.yaml beside its rows)."""


def pretraining_fields(row: PrintedRow, case: TrainingCase) -> dict[str, Any]:
    """Fields of a TrainingCase. A peak that does not say it was reserved is what tensors took, as trainers print it."""
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
    """Of a run that prints neither its accelerators nor its replicas."""
    if row.count("accel_count") or row.count("dp"):
        return {}
    split = case.tensor * case.pipeline * case.context
    accelerators = max(NODES * float(case.wires.per_node), split, case.expert * expert_tensor * case.pipeline)
    replicas = accelerators / split
    batch = row.count("global_batch")
    steps = max(batch / replicas / case.micro_batch, 1.0) if batch else case.micro_batches
    return {"accelerators": accelerators, "replicas": replicas, "shards": replicas * case.context, "micro_batches": steps}
