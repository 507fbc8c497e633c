"""Measured values of a row in the units of the accuracy benchmark. Predictions do not use this module."""

import re
from collections.abc import Callable

from rackwright.estimator.dataset.columns.architecture import row_architecture
from rackwright.estimator.dataset.columns.cells import PrintedRow
from rackwright.estimator.dataset.columns.sample_lengths import counted_sample_tokens
from rackwright.estimator.model.from_architecture import model_dimensions
from rackwright.units import GIB

METRICS = {
    "training_throughput": ("tokens_per_s_per_accel", "peak_memory_gib"),
    "training_memory": ("peak_memory_gib", "tokens_per_s_per_accel"),
    "finetune_memory": ("peak_memory_gib", "tokens_per_s_per_accel"),
    "tpu_training": ("tokens_per_s_per_accel",),
    "time_to_train": ("time_to_train_min", "accel_hours", "tokens_per_s_per_accel"),
    "inference_throughput": ("output_tok_s_per_accel", "tpot_ms", "ttft_ms"),
    "inference_memory": ("kv_tokens",),
    "inference_more": ("samples_per_s_per_accel", "output_tok_s_per_accel", "tpot_ms", "ttft_ms"),
    "training_more": ("samples_per_s_per_accel", "tokens_per_s_per_accel", "peak_memory_gib"),
    "diffusion_vision": ("samples_per_s_per_accel", "latency_s"),
}
"""File -> its metrics, the main one first."""
UNITS = {
    "tokens_per_s_per_accel": "tokens/s", "peak_memory_gib": "GiB", "time_to_train_min": "min", "accel_hours": "h",
    "output_tok_s_per_accel": "tokens/s", "tpot_ms": "ms", "ttft_ms": "ms", "kv_tokens": "tokens",
    "samples_per_s_per_accel": "samples/s", "latency_s": "s",
}  # fmt: skip
FINETUNING = ("finetune_memory", "training_more")
"""Files whose rows of whole samples become tokens/s."""
DECIMAL_PUBLISHERS = ("Lightning AI",)
"""Publishers whose "GB" are 10^9 bytes. All others print GiB."""


def measured_value(row: PrintedRow, metric: str) -> float | None:
    """Return the measured value of a metric; None when it is missing. Raises BrokenCell."""
    return (READINGS[metric](row) if metric in READINGS else row.number(metric)) or None


def _tokens_per_s(row: PrintedRow) -> float | None:
    """Return tokens/s per accelerator: printed, or total / count, or batch x sequence / step time / count. Samples/s count in fine-tuning
    files, where a sample has a known length. TFLOP/s count where their convention is known, MFU does not."""
    each = next((v for c in ("tokens_per_s_per_gpu", "tokens_per_s_per_chip", "tokens_per_s_per_accel") if (v := row.number(c))), None)
    count = row.count("accel_count")
    total = row.number("tokens_per_s_total") or row.number("tokens_per_s")
    if each or not count:
        return each
    if total:
        return total / count
    if row.csv in FINETUNING:
        return _tokens_per_s_of_samples(row, count)
    batch, length, step = row.number("global_batch"), row.number("seq_len"), row.number("step_time_s")
    if batch and length and step:
        return batch * length / step / count
    return _tokens_per_s_of_flops(row)


def _tokens_per_s_of_flops(row: PrintedRow) -> float | None:
    """Return tokens/s per chip from model FLOP/s of a known convention: 6 per weight, 12 layers x width x sequence for full attention, as
    MaxText counted until 2024. Other conventions are not converted."""
    rate, length = row.number("model_tflops_per_chip"), row.number("seq_len")
    if not (rate and length and "full (non-causal) attention" in row.lower("flops_convention")):
        return None
    n = model_dimensions(row_architecture(row).architecture)
    return rate * 1e12 / (6 * n.matmul + 12 * n.layers * n.heads * n.head_dim * length)


def _tokens_per_s_of_samples(row: PrintedRow, count: int) -> float | None:
    """Return tokens/s per accelerator from samples/s, or from the step time of data-parallel micro-batches."""
    tokens, samples = counted_sample_tokens(row), row.number("samples_per_s_total") or row.number("samples_per_s")
    if tokens and samples:
        return tokens * samples / count
    micro, steps, step = row.count("micro_batch"), row.count("grad_accum"), row.number("step_time_s")
    return tokens * micro * steps / step if tokens and micro and steps and step else None


def _peak_memory_gib(row: PrintedRow) -> float | None:
    if row.csv in ("training_throughput", "training_more"):
        return row.number("peak_mem_gib")
    printed, unit = row.number("mem_printed"), row.lower("mem_unit")
    if printed is None or "limit" in unit or not row.lower("mem_scope").startswith("per accelerator"):
        return None
    if "bytes" in unit:
        return printed / GIB
    if unit.startswith("mb"):
        return printed / 1024
    decimal = unit.startswith("gb") and row.text("publisher") in DECIMAL_PUBLISHERS
    return printed * 1e9 / GIB if decimal else printed


def _output_tokens_per_s(row: PrintedRow) -> float | None:
    each, total, count = row.number("output_tok_s_per_accel"), row.number("output_tok_s_total"), row.count("accel_count")
    return each or (total / count if total and count else None)


def _samples_per_s(row: PrintedRow) -> float | None:
    """Return samples/s per accelerator: printed, or batch / time. Rows of single denoising steps count steps. A single stream uses one
    accelerator whatever the system has."""
    count, batch = row.count("accel_count") or 1, row.number("batch_size")
    if "singlestream" in row.lower("scenario"):
        latency = row.number("latency_s")
        return 1 / latency if latency else None
    columns = ("throughput_images_s", "samples_per_s", "samples_per_s_total", "requests_per_s")
    total = next((value for column in columns if (value := row.number(column))), None)
    if total:
        return total / count
    # a training row's latency is that of the whole run
    seconds = row.number("latency_s") if row.lower("task") == "inference" or row.csv == "inference_more" else None
    seconds = seconds or row.number("step_time_s")
    accumulated = re.search(r"gradient accumulation (\d+)", row.notes)
    return batch * (int(accumulated.group(1)) if accumulated else 1) / seconds / count if batch and seconds else None


def _latency_s(row: PrintedRow) -> float | None:
    """Return the seconds of one sample at batch 1; None in training and for other batches."""
    is_single = row.number("batch_size") == 1 and row.lower("task") == "inference"
    return row.number("latency_s") if is_single else None


READINGS: dict[str, Callable[[PrintedRow], float | None]] = {
    "tokens_per_s_per_accel": _tokens_per_s,
    "peak_memory_gib": _peak_memory_gib,
    "accel_hours": lambda row: None if row.number("time_to_train_min") else row.number("accel_hours"),
    "output_tok_s_per_accel": _output_tokens_per_s,
    "samples_per_s_per_accel": _samples_per_s,
    "latency_s": _latency_s,
}
"""Metric -> its reading, for metrics that are not a column of their name."""
