"""Conversion of rows of the time-to-train file to whole runs. Missing values come from benchmark rules or are usual for the size."""

import re
from dataclasses import replace
from typing import Any

from rackwright.estimator.config import accelerators, resolve
from rackwright.estimator.config.configuration import TrainingConfig
from rackwright.estimator.config.engines import engine_family
from rackwright.estimator.dataset.columns.cells import PrintedRow, UnsupportedRow
from rackwright.estimator.training.run_time import LATEST_YEAR, RunCase

CARD_COUNT = 1024
"""Accelerators of a pretraining run whose model card has no number."""
CARD_TOKENS = 4_000_000
"""Tokens per step when a model card has no batch; GPT-3, LLaMA and successors use 2 to 16 million."""
FOUR_BIT_RELEASE = 25.09
"""First NVIDIA container with fp4 training recipes: Transformer Engine 2.7, 25.09."""
INTERLEAVED = 8
"""Maximum virtual stages of submitted pipelines: NVIDIA's MLPerf recipes for GPT-3 and Llama 3.1 use 6 to 8."""

BENCHMARKS = {"lora": (384, 173, 3), "405b": (46_080, 5_760, 0), "175b": (24_576, 5_760, 0), "8b": (12_288, 1_024, 0)}
"""MLPerf Training: sequences trained between evaluations, sequences of an evaluation, evaluations left out at the start.

Sources: mlcommons/training llama2_70b_lora (48 steps of 8), large_language_model_pretraining (405B), large_language_model (GPT-3: 24,567
examples, packed), small_llm_pretraining (8B, training_policies#567); mlcommons/logging, compliance checks of rounds 4.0 to 5.1. Submitters
leave out the first three evaluations of LoRA: none passes. Round 5.1 evaluates 405B more often and from later on (training_policies#563;
its reference runs end at multiples of 18,432, mlcommons/logging#424); its formula was not read, so three rows keep that of 5.0.
"""


def run_case(row: PrintedRow, config: TrainingConfig) -> RunCase:
    """Return the run of a row. Raises UnsupportedRow when the tokens are unknown."""
    tokens = row.number("tokens_total") or (row.number("samples_to_target") or 0.0) * (row.number("seq_len") or 0.0)
    if not tokens:
        raise UnsupportedRow("tokens of the run are neither printed nor follow from samples")
    audited = "mlperf" in row.lower("metric_kind")
    case = resolve.training_case(_with_defaults(row, config, audited), checked=False)
    if audited:
        case = replace(case, virtual=float(max(1, min(INTERLEAVED, case.network.layers // case.pipeline))))
    trained = tokens / case.sequence
    size = row.number("params_b") or 0.0
    benchmark = "lora" if row.lower("method") == "lora" else "405b" if size > 300 else "175b" if size > 100 else "8b"
    every, sequences, skipped = BENCHMARKS[benchmark] if audited else (trained, 0, 0)
    times = max(trained / every - skipped, 1.0) if sequences else 0.0
    date = re.match(r"(\d{4})(?:-(\d\d))?", row.text("as_of"))
    year = float(date.group(1)) + float(date.group(2) or 6) / 12 if date else LATEST_YEAR
    return RunCase(case, tokens, times, float(sequences), year, float(audited))


def _with_defaults(row: PrintedRow, config: TrainingConfig, audited: bool) -> TrainingConfig:
    """Return the configuration with usual values for blank cells.

    Audited runs use the narrowest format that hardware and software support; ZeRO-3 recipes and model cards use 16 bit.
    """
    changes: dict[str, Any] = {}
    framework = row.text("framework")
    is_deepspeed = engine_family(framework, "train").family == "deepspeed"
    if not row.text("precision"):
        a = accelerators.find(row.text("hardware"))
        container = max(map(float, re.findall(r"\b2\d\.\d\d\b", framework)), default=0.0)  # year.month of the newest one
        narrowest = "fp4" if a.generation == "blackwell" and container >= FOUR_BIT_RELEASE else "fp8"
        changes["numbers"] = narrowest if audited and not is_deepspeed and a.peak("fp8") else "bf16"
    if audited and is_deepspeed:
        changes["recompute"] = "full"
    if not row.count("global_batch"):
        changes |= _card_layout(row, config)
    return config.model_copy(update=changes)


def _card_layout(row: PrintedRow, config: TrainingConfig) -> dict[str, Any]:
    """Return the usual layout for the model size: tensor 8 from 20e9 parameters, and pipeline stages until the states fit."""
    count = row.count("accel_count") or CARD_COUNT
    parameters = (row.number("params_b") or 0.0) * 1e9
    tensor = 8 if parameters > 20e9 else 1
    pipeline = 1
    while pipeline < 16 and 6 * parameters / tensor / pipeline > 0.5 * accelerators.find(row.text("hardware")).memory_bytes:
        pipeline *= 2
    tensor, pipeline = (tensor, pipeline) if count % (tensor * pipeline) == 0 else (1, 1)
    replicas = count // (tensor * pipeline)
    steps = max(round(CARD_TOKENS / config.sequence / replicas), 1)
    layout = config.layout.model_copy(update={"tensor": tensor, "pipeline": pipeline, "virtual": 1, "data": replicas})
    return {"hardware": config.hardware.model_copy(update={"count": count}), "layout": layout, "micro_batches": steps, "micro_batch": 1}
