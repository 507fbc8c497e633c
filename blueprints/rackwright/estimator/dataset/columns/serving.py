"""Conversion of rows of the inference files to serving configurations."""

import math
import re
from dataclasses import replace
from typing import Any

from rackwright.catalog.read import Catalog
from rackwright.estimator.config.configuration import ServingConfig
from rackwright.estimator.config.engines import engine_family, release_number
from rackwright.estimator.dataset.columns.architecture import RowArchitecture, row_architecture
from rackwright.estimator.dataset.columns.cells import PrintedRow, UnsupportedRow
from rackwright.estimator.dataset.columns.hardware import hardware_fields
from rackwright.estimator.dataset.columns.training import row_number_format
from rackwright.estimator.serving.case import ServingCase

DEFAULT_INPUT_TOKENS, DEFAULT_OUTPUT_TOKENS = 300.0, 300.0
"""Tokens when a row has no lengths; close to the means of MLPerf's OpenOrca set (MLPerf Inference v4.1, Llama 2 70B)."""
HABANA_INPUT_TOKENS, HABANA_OUTPUT_TOKENS = 16.0, 100.0
"""Built-in prompts and default max_new_tokens of Optimum Habana's text generation example (examples/text-generation/run_generation.py)."""
SHORT_PROMPT_TOKENS = 8.0
"""Tokens of "a very short prompt"."""
QUANTISED = (("nf4", ("nf4", "bnb-4bit")), ("fp4", ("fp4",)), ("int8", ("int8", "w8a8", "w8a16", "8bit")),
             ("int4", ("int4", "w4a", "4bit", "awq", "gptq", "q4_")))  # fmt: skip
WITHOUT_DECODER = re.compile(
    r"bert|electra|minilm|mpnet|distiluse|\bbge\b|\bt5\b|flan|rnn-?t|dlrm|whisper|transformer-base"
    r"|vision|[-.]vl\b|vlm\b|llava|idefics|glm-4v|paligemma|mllama|mamba",
    re.IGNORECASE,
)
"""Encoders, encoder-decoders, speech, recommender, image-input and state-space models, which the serving formulas do not cover."""
NEURON_CORES_PER_CHIP = {"inferentia2": 2, "trainium1": 2, "trainium2": 8}
"""NeuronCores per chip. Neuron's tensor parallelism counts cores (AWS Neuron documentation, NeuronCore-v2 and v3 architecture)."""
LAYER_SPLIT_ENGINES = ("llama.cpp", "exllama")
"""Engines that place whole layers on each device by default: a pipeline, not tensor parallelism."""
RELEASES_BY_DATE = {"vllm": (("2024-02", "0.2"), ("2025-02", "0.7")), "tgi": (("2024-04", "1.4"),)}
"""Engine -> (month, release before it). vLLM 0.2.7 of January 2024 has CUDA graphs, 0.8 of March 2025 the V1 scheduler; TGI 2.0 of April
2024 has CUDA graphs (release notes)."""
LENGTHS = {"input": re.compile(r"input p50 (\d{1,5}),"), "output": re.compile(r"output p50 (\d{1,5}),")}
"""Request lengths of a data set that the notes describe instead of the columns."""
SIDE = re.compile(r"tp(\d+) pp(\d+) adp(\d+)(?: ep(\d+))?")


def serving_config(row: PrintedRow, catalog: Catalog | None = None) -> tuple[ServingConfig, RowArchitecture]:
    """Return the serving configuration of a row. Raises UnsupportedRow, BrokenCell, or pydantic's ValidationError."""
    if WITHOUT_DECODER.search(row.text("model")):
        raise UnsupportedRow(f"model {row.text('model')!r}: not a decoder of text with attention, which the serving formulas assume")
    found = row_architecture(row)
    layout, box = _layout(row, found.architecture.is_moe), hardware_fields(row, catalog)
    each = layout["tensor"] * layout["pipeline"] * layout["attention_data"]
    box["count"] = each if _is_squared(row) else max(row.count("accel_count") or each, each)
    eager = re.search(r"\beager\b", f"{row.notes} {row.lower('framework')}")
    has_rate = not row.lower("request_rate_per_s").startswith("inf")
    share = row.number("gpu_memory_utilization")
    pools = {side: _pool(row, side) for side in ("prefill", "decode")} if row.lower("disaggregated") == "true" else {}
    config = ServingConfig.model_validate(
        {
            "id": row.id,
            "model": found.model,
            "hardware": box,
            "engine": {"name": row.text("framework") or "not said", "compiled": False if eager else None, "release": _release(row)},
            "layout": layout,
            "input_tokens": _input_tokens(row),
            "output_tokens": row.number("osl") or _output_tokens(row),
            "concurrency": _concurrency(row),
            "requests_per_s": (row.number("request_rate_per_s") or None) if has_rate else None,
            "requests": row.count("num_requests"),
            "varied_lengths": "sharegpt" in row.notes,
            "weight_numbers": _weight_format(row),
            "kv_numbers": next((n for n in ("fp8", "int8", "fp4", "bf16", "fp16") if n in row.lower("kv_cache_precision")), None),
            "memory_share": share / 100 if share and share > 1 else share,  # a fraction or percent
            "max_context": row.count("max_model_len"),
            "max_batched_tokens": row.count("max_num_batched_tokens") or _number_in_notes(row, r"max-num-batched-tokens (\d+)"),
            "max_sequences": _number_in_notes(row, r"(?:max-num-seqs|engine cap) (\d+)"),
            **(pools if all(pools.values()) else {}),
        }
    )
    return config, found


def _input_tokens(row: PrintedRow) -> float:
    usual = HABANA_INPUT_TOKENS if _engine(row) == "habana" else DEFAULT_INPUT_TOKENS
    described = LENGTHS["input"].search(row.notes)
    return row.number("isl") or (SHORT_PROMPT_TOKENS if "short prompt" in row.notes else float(described.group(1)) if described else usual)


def _output_tokens(row: PrintedRow) -> float:
    usual = HABANA_OUTPUT_TOKENS if _engine(row) == "habana" else DEFAULT_OUTPUT_TOKENS
    described = LENGTHS["output"].search(row.notes)
    return float(described.group(1) if described else _number_in_notes(row, r"(\d+) new tokens") or usual)


def _release(row: PrintedRow) -> str:
    """Return a release from before the engine's last change of design when a dated run names none; "" otherwise. A year without a month
    counts as its end."""
    dated = row.text("as_of") if not release_number(row.text("framework")) else ""
    dated = f"{dated}-12" if len(dated) == len("2024") else dated
    return next((release for before, release in RELEASES_BY_DATE.get(_engine(row), ()) if dated and dated < before), "")


def _engine(row: PrintedRow) -> str:
    return engine_family(row.text("framework"), "serve").family


def _layout(row: PrintedRow, moe: bool) -> dict[str, int]:
    """Return the layout. Attention data parallelism replaces tensor parallelism: tp 8 with adp 8 on eight accelerators is tensor 1."""
    printed, pipeline, copies = row.count("tp"), row.count("pp") or 1, row.count("attention_dp") or 1
    accelerators = row.count("accel_count")
    if accelerators and _engine(row) in LAYER_SPLIT_ENGINES:
        return {"tensor": 1, "pipeline": accelerators, "attention_data": 1, "expert": 1}
    if printed and (cores := NEURON_CORES_PER_CHIP.get(row.lower("hardware"))):
        printed = max(printed // cores, 1)
    tensor = printed or (accelerators if accelerators and accelerators <= 8 else 1) or 1
    if moe and copies == 1 and "attention data parallel" in row.notes:
        tensor, copies = 1, tensor
    elif accelerators and tensor * pipeline * copies > accelerators:
        tensor = max(tensor // copies, 1)
    if _is_squared(row):
        root = math.isqrt(tensor * copies)
        tensor, copies = (1, root) if tensor == 1 else (root, 1)
    expert = row.count("ep") or (copies if copies > 1 else 1)
    return {"tensor": tensor, "pipeline": pipeline, "attention_data": copies, "expert": expert if moe else 1}


def _is_squared(row: PrintedRow) -> bool:
    """Return whether the printed width is the square of the real one, an error of one data source.

    It prints four accelerators with tp 4 and ep 4 as tp 16, or as tp 4 with attention_dp 4. Runs printed both ways agree (MiniMax-M2.5 on
    H100: 10.09 and 10.12 ms; Kimi-K2.5 on B200: 23.186 and 23.190 ms). A square above 8 with expert parallelism and no nodes is corrected.
    """
    width = (row.count("tp") or 1) * (row.count("attention_dp") or 1)
    one_node = not row.count("nodes") and row.lower("disaggregated") != "true" and not row.lower("hardware").startswith("gb")
    return one_node and width > 8 and math.isqrt(width) ** 2 == width and (row.count("ep") or 1) > 1


def _concurrency(row: PrintedRow) -> float | None:
    """Return the requests in flight over all attention replicas; None for open loops and offline runs."""
    batch = row.number("batch_size")
    printed = row.number("concurrency") or (batch * max(row.number("attention_dp") or 1, 1) if batch else None)
    return printed or (1.0 if "latency" in row.lower("scenario") and "mlperf" not in row.lower("scenario") else None)


def _weight_format(row: PrintedRow) -> str:
    """Return the weight format: printed, else from name or notes. MLPerf submitters quantize to fp8."""
    printed = next((n for n, words in QUANTISED if any(w in row.lower("quantization") for w in words)), None)
    named = next((n for n, words in (*QUANTISED, ("fp8", ("fp8",))) if any(w in row.lower("model") for w in words)), None)
    usual = "fp8" if "fp8" in row.notes else "bf16"
    return printed or row_number_format(row) or named or usual


def checkpoint_fields(row: PrintedRow, case: ServingCase) -> dict[str, Any]:
    """Return the fields of a checkpoint that quantizes only weights, or only the feed-forward networks (Meta's FP8 checkpoint of Llama 3.1:
    arXiv 2407.21783, section 6.2)."""
    fields: dict[str, Any] = {}
    if re.search(r"a16\b", row.lower("quantization")):
        fields["chip"] = replace(case.chip, peak_flops=case.chip.base_peak_flops)
    if "meta fp8 checkpoint" in row.notes.lower():
        n = case.network
        attention = 2.0 * n.layers * n.hidden * n.head_dim * (n.heads + n.kv_heads)
        fields["linear_bytes"] = case.linear_bytes + (2.0 - case.linear_bytes) * attention / n.linear
    return fields


def _number_in_notes(row: PrintedRow, pattern: str) -> int | None:
    found = re.search(pattern, row.notes)
    return int(found.group(1)) if found else None


def _pool(row: PrintedRow, side: str) -> dict[str, Any] | None:
    found = SIDE.search(row.lower(f"{side}_parallel"))
    if not found:
        return None
    tensor, pipeline, copies, expert = (int(n or 1) for n in found.groups())
    workers = re.match(r"(\d+) workers", row.lower(f"{side}_parallel"))
    each = tensor * pipeline * copies
    accelerators = row.count(f"{side}_gpus") or each * int(workers.group(1) if workers else 1)
    layout = {"tensor": tensor, "pipeline": pipeline, "attention_data": copies, "expert": expert}
    return {"accelerators": max(accelerators, each), "layout": layout}
