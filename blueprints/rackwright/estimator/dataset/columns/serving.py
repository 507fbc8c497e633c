"""Rows of the inference files as configurations."""

import math
import re
from typing import Any

from rackwright.estimator.config.configuration import ServingConfig
from rackwright.estimator.dataset.columns.architecture import RowArchitecture, row_architecture
from rackwright.estimator.dataset.columns.cells import PrintedRow
from rackwright.estimator.dataset.columns.hardware import hardware_fields
from rackwright.estimator.dataset.columns.training import row_number_format

DEFAULT_INPUT_TOKENS, DEFAULT_OUTPUT_TOKENS = 300.0, 300.0
"""Tokens where a row leaves the lengths out: MLPerf's OpenOrca set has means near these (MLPerf Inference v4.1, Llama 2 70B)."""
SHORT_PROMPT_TOKENS = 8.0
"""Tokens of "a very short prompt"."""
QUANTISED = (("nf4", ("nf4", "bnb-4bit")), ("fp4", ("fp4",)), ("int8", ("int8", "w8a8", "8bit")),
             ("int4", ("int4", "w4a", "4bit", "awq", "gptq", "q4_")))  # fmt: skip
SIDE = re.compile(r"tp(\d+) pp(\d+) adp(\d+)(?: ep(\d+))?")


def serving_config(row: PrintedRow) -> tuple[ServingConfig, RowArchitecture]:
    """The deployment a row describes. Raises Unsupported, BrokenCell, or pydantic's ValidationError."""
    found = row_architecture(row)
    layout, box = _layout(row, found.architecture.is_moe), hardware_fields(row)
    each = layout["tensor"] * layout["pipeline"] * layout["attention_data"]
    box["count"] = each if _is_squared(row) else max(row.count("accel_count") or each, each)
    config = ServingConfig.model_validate(
        {
            "id": row.id,
            "model": found.model,
            "hardware": box,
            "engine": _engine(row),
            "layout": layout,
            "input_tokens": row.number("isl") or (SHORT_PROMPT_TOKENS if "short prompt" in row.notes else DEFAULT_INPUT_TOKENS),
            "output_tokens": row.number("osl") or float(_number_in_notes(row, r"(\d+) new tokens") or DEFAULT_OUTPUT_TOKENS),
            "concurrency": _concurrency(row),
            "requests_per_s": _rate(row),
            "requests": row.count("num_requests"),
            "weight_numbers": _weight_format(row),
            "kv_numbers": next((n for n in ("fp8", "int8", "fp4", "bf16", "fp16") if n in row.lower("kv_cache_precision")), None),
            "memory_share": _memory_share(row),
            "max_context": row.count("max_model_len"),
            "max_batched_tokens": row.count("max_num_batched_tokens") or _number_in_notes(row, r"max-num-batched-tokens (\d+)"),
            "max_sequences": _number_in_notes(row, r"max-num-seqs (\d+)"),
            **_pools(row),
        }
    )
    return config, found


def _engine(row: PrintedRow) -> dict[str, Any]:
    eager = re.search(r"\beager\b", f"{row.notes} {row.lower('framework')}")
    return {"name": row.text("framework") or "not said", "compiled": False if eager else None}


def _layout(row: PrintedRow, moe: bool) -> dict[str, int]:
    """Attention data parallelism counts accelerators of its own: tp 8 with adp 8 on eight of them is tensor 1."""
    printed, pipeline, copies = row.count("tp"), row.count("pp") or 1, row.count("attention_dp") or 1
    accelerators = row.count("accel_count")
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
    """One dump of served runs multiplies a node's width by itself: four accelerators with tp 4 and ep 4 became tp 16, or tp 4 with
    attention_dp 4, on sixteen. Runs that it prints both ways agree (MiniMax-M2.5 on H100: 10.09 and 10.12 ms, Kimi-K2.5 on B200: 23.186
    and 23.190 ms). So a square beyond a node of eight, with experts split and no nodes said, is its root."""
    width = (row.count("tp") or 1) * (row.count("attention_dp") or 1)
    one_node = not row.count("nodes") and row.lower("disaggregated") != "true" and not row.lower("hardware").startswith("gb")
    return one_node and width > 8 and math.isqrt(width) ** 2 == width and (row.count("ep") or 1) > 1


def _concurrency(row: PrintedRow) -> float | None:
    """Requests in flight over all copies of the attention; None: a rate is offered, or all requests wait at the start."""
    batch = row.number("batch_size")
    said = row.number("concurrency") or (batch * max(row.number("attention_dp") or 1, 1) if batch else None)
    return said or (1.0 if "latency" in row.lower("scenario") and "mlperf" not in row.lower("scenario") else None)


def _rate(row: PrintedRow) -> float | None:
    said = row.lower("request_rate_per_s")
    return None if said.startswith("inf") else row.number("request_rate_per_s") or None


def _weight_format(row: PrintedRow) -> str:
    """Blank precision: what the name or the notes say; MLPerf's submitters quantise to fp8."""
    said = next((n for n, words in QUANTISED if any(w in row.lower("quantization") for w in words)), None)
    named = next((n for n, words in (*QUANTISED, ("fp8", ("fp8",))) if any(w in row.lower("model") for w in words)), None)
    usual = "fp8" if "fp8" in row.notes else "bf16"
    return said or row_number_format(row) or named or usual


def _memory_share(row: PrintedRow) -> float | None:
    """0.9, however it is printed."""
    said = row.number("gpu_memory_utilization")
    return said / 100 if said and said > 1 else said


def _number_in_notes(row: PrintedRow, pattern: str) -> int | None:
    found = re.search(pattern, row.notes)
    return int(found.group(1)) if found else None


def _pools(row: PrintedRow) -> dict[str, Any]:
    """The two sides of a disaggregated deployment, where both are said."""
    if row.lower("disaggregated") != "true":
        return {}
    sides = {side: _pool(row, side) for side in ("prefill", "decode")}
    return sides if all(sides.values()) else {}


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
