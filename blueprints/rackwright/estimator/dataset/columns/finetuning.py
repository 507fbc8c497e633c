"""Case fields of a fine-tuning row besides its configuration: kind of peak, sample lengths, behaviour of old trainer releases."""

import re

from rackwright.catalog.models.architecture import Architecture
from rackwright.estimator.case import TrainingCase
from rackwright.estimator.config.resolve import KBIT_TRAINERS, NF4_BYTES_PER_WEIGHT
from rackwright.estimator.dataset.columns.cells import PrintedRow
from rackwright.estimator.model.adapters import adapter_inputs
from rackwright.estimator.model.from_architecture import count_parameters

MEAN = re.compile(r"\(mean (\d+), max \d+ tokens\)")
"""Mean tokens of a data set whose samples are truncated to the printed length."""
UNPACKED_MEAN = {"torchtune": 220.0}
"""Mean tokens per sample when a row does not print them. torchtune's recipes take Alpaca, unpacked, by default: 1,304 tokens at most with
Llama's tokenizer (LitGPT's own tables), and the longest sample is about six times the mean."""
CHUNKED_LOSS = {"torchtune": "2024-09"}
"""Trainer -> month from which its loss is chunked by default (torchtune 0.3)."""
KEPT_INPUTS_UNTIL = "2024-07"
"""Month of bitsandbytes 0.43.2; earlier releases keep the inputs of frozen matrices (release notes)."""
SCALING = re.compile(r"ia3|adapter-v2")
"""Methods that scale the output of a matrix and therefore keep it."""
AT_MATRICES = re.compile(r"linear|all|default|q,v|_proj|self_attn|c_attn|query_key_value")
"""Targets that are matrices. Norms, tables and prompts keep no matrix inputs."""


def finetuning_fields(row: PrintedRow, case: TrainingCase, architecture: Architecture) -> dict[str, float]:
    """Return the fields of a TrainingCase that a fine-tuning row sets."""
    engine, notes, day = str(case.engine), row.notes, row.text("as_of")
    quantised = row.lower("quantization")
    by_bitsandbytes = bool(quantised) and not re.search(r"gptq|awq|aqlm", quantised)
    mean = MEAN.search(notes)
    found = {
        "measures_device": float(row.lower("mem_kind") in ("", "per gpu")),
        "mean_length": float(mean.group(1)) if mean else UNPACKED_MEAN.get(engine, 0.0) * ("packed" not in notes),
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
    return found
