"""Case fields of a fine-tuning row besides its configuration: kind of peak, sample lengths, behaviour of old trainer releases."""

import re

from rackwright.catalog.models.architecture import Architecture
from rackwright.estimator.case import TrainingCase
from rackwright.estimator.config.resolve import KBIT_TRAINERS, NF4_BYTES_PER_WEIGHT
from rackwright.estimator.dataset.columns.cells import PrintedRow
from rackwright.estimator.dataset.columns.sample_lengths import UNPACKED_MEAN, grouped_tokens, printed_mean_tokens
from rackwright.estimator.model.adapters import adapter_inputs
from rackwright.estimator.model.from_architecture import count_parameters

UNPACKING = {"torchtune": 1.0}
"""Trainers whose recipes take Alpaca, unpacked, by default. Their rates count the padded tensor (torchtune before 0.4)."""
CHUNKED_LOSS = {"torchtune": "2024-09"}
"""Trainer -> month from which its loss is chunked by default (torchtune 0.3)."""
KEPT_INPUTS_UNTIL = "2024-07"
"""Month of bitsandbytes 0.43.2; earlier releases keep the inputs of frozen matrices (release notes)."""
SCALING = re.compile(r"ia3|adapter-v2")
"""Methods that scale the output of a matrix and therefore keep it."""
CUMULATIVE = (("packed", {"mean_length": 0.0}), ("compile", {"compiled": 1.0}), ("chunked", {"fused_loss": 1.0}),
              ("checkpointing", {"recompute": 2.0}), ("backward", {"fused_backward": 1.0}), ("offloading", {"offload_activations": 1.0}),
              ("8-bit", {"optimizer_bytes": 2.032}), ("lora", {}))  # fmt: skip
"""Options of torchtune's cumulative table in its order; each row adds one to those before it. The first row has none of them."""
AT_MATRICES = re.compile(r"linear|all|default|q,v|_proj|self_attn|c_attn|query_key_value")
"""Targets that are matrices. Norms, tables and prompts keep no matrix inputs."""


def finetuning_fields(row: PrintedRow, case: TrainingCase, architecture: Architecture) -> dict[str, float]:
    """Return the fields of a TrainingCase that a fine-tuning row sets."""
    engine, notes, day = str(case.engine), row.notes, row.text("as_of")
    quantised = row.lower("quantization")
    by_bitsandbytes = bool(quantised) and not re.search(r"gptq|awq|aqlm", quantised)
    unpacked = UNPACKED_MEAN * UNPACKING.get(engine, 0.0) * ("packed" not in notes or "unpacked" in notes)
    found = {
        "measures_device": float(row.lower("mem_kind") in ("", "per gpu")),
        "mean_length": printed_mean_tokens(row) or unpacked,
        "counts_padding": UNPACKING.get(engine, 0.0),
        "frozen_other_bytes": 4.0 if by_bitsandbytes and engine in KBIT_TRAINERS else 2.0,
        "keeps_frozen_inputs": float(by_bitsandbytes and day < KEPT_INPUTS_UNTIL),
        "trained_modules": 2.0 * architecture.vocab * architecture.hidden if "embeddings" in row.lower("peft_targets") else 0.0,
    }
    if "max_memory_reserved/allocated" in row.lower("mem_kind"):
        found["measures_reserved"] = float(engine != "litgpt")  # LitGPT prints max_memory_allocated
    if day < CHUNKED_LOSS.get(engine, ""):
        found["fused_loss"] = 0.0
    if "pagedadamw" in notes:  # on one device torchtune runs it inside backward
        found |= {"offload_optimizer": 1.0, "fused_backward": 1.0}
    if by_bitsandbytes and case.frozen_bytes < 1:
        found["frozen_bytes"] = NF4_BYTES_PER_WEIGHT["dq" in quantised]
    method, targets = f"{row.lower('peft_type')} {row.lower('method')}", row.lower("peft_targets")
    if SCALING.search(method):
        found["adapter_inputs"] = adapter_inputs(count_parameters(architecture).layers, targets or "all-linear", scales=True)
    elif "lora" not in method and not AT_MATRICES.search(targets):
        found["adapter_inputs"] = 0.0
    if row.csv == "training_more" and (tokens := grouped_tokens(row)):
        found["sequence"] = tokens
    if "cumulative" in notes:
        found |= {"mean_length": UNPACKED_MEAN, "compiled": 0.0, "fused_loss": 0.0, "recompute": 0.0} | _cumulative_fields(notes)
    return found


def _cumulative_fields(notes: str) -> dict[str, float]:
    """Return the fields of every option up to the one that a row of a cumulative table adds."""
    added_text = notes.split(":")[-1].replace("unpacked", "")
    added = next((i for i, (word, _) in enumerate(CUMULATIVE) if word in added_text), -1)
    return {name: value for _, fields in CUMULATIVE[: added + 1] for name, value in fields.items()}
