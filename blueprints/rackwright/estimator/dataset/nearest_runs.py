"""Search for the measured runs most similar to a configuration, among the shipped rows.

Distance: weighted sum of absolute log ratios of numbers (size, length, count) and of 0 or 1 for labels. Weights: WEIGHTS.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from math import inf, log
from typing import Any

import numpy as np

from rackwright.catalog.read import Catalog
from rackwright.estimator.calibration.coefficients import calibration
from rackwright.estimator.calibration.registry import registry
from rackwright.estimator.case import TrainingCase, stack_cases
from rackwright.estimator.config import accelerators
from rackwright.estimator.config.configuration import Configuration, ServingConfig, TrainingConfig
from rackwright.estimator.config.engines import engine_family
from rackwright.estimator.dataset.columns.cells import BrokenCell, PrintedRow, read_file
from rackwright.estimator.dataset.columns.measured import METRICS, UNITS, measured_value
from rackwright.estimator.dataset.columns.training import SOFT_PROMPT, row_number_format
from rackwright.estimator.dataset.runs import DATA, read_row
from rackwright.estimator.result import NearestRun
from rackwright.estimator.serving.case import ServingCase

TRAINING = (
    ("tokens_per_s_per_accel", ("training_throughput", "tpu_training")),
    ("peak_memory_gib", ("training_memory", "finetune_memory")),
    ("time_to_train_min", ("time_to_train",)),
)
SERVING = (
    ("output_tok_s_per_accel", ("inference_throughput",)),
    ("tpot_ms", ("inference_throughput",)),
    ("ttft_ms", ("inference_throughput",)),
    ("kv_tokens", ("inference_memory",)),
)
WEIGHTS = {"size": 1.0, "active": 0.5, "accelerator": 1.0, "method": 2.0, "numbers": 0.5, "engine": 0.5, "load": 1.0,
           "sequence": 0.3, "input": 0.2, "output": 0.2, "concurrency": 0.2, "tensor": 0.3, "count": 0.2}  # fmt: skip
"""Weights of the features: a factor of 2.7 in size counts as another accelerator. Assumption of rackwright, 2026-11; for ranking
only."""
SAME_GENERATION_DISTANCE = 0.5
"""Distance of two accelerators of one generation; 1 for different generations."""
MISSING_DISTANCE = 0.3
"""Distance of a feature that one side lacks."""


@dataclass(frozen=True)
class RunFeatures:
    """Features that are compared. None: unknown or not applicable. Labels are compared for equality."""

    size: float | None
    active: float | None
    accelerator: str
    generation: str
    engine: str
    numbers: str | None
    method: str | None
    count: float | None
    sequence: float | None = None
    input: float | None = None
    output: float | None = None
    concurrency: float | None = None
    load: str | None = None
    tensor: float | None = None


@dataclass(frozen=True)
class ComparableRun:
    """Row with a reading of the metric, and its features."""

    row: PrintedRow
    features: RunFeatures


def nearest_runs(config: Configuration, case: TrainingCase | ServingCase, catalog: Catalog | None = None) -> tuple[NearestRun, ...]:
    """Return the nearest run of each metric of the configuration, with the differences.

    catalog: has the accelerators of the configuration and of the runs; default: the embedded one.
    """
    if isinstance(config, TrainingConfig) and isinstance(case, TrainingCase):
        kind = config.adapter.type if config.adapter else "full"
        method = "soft prompt" if kind in ("prompt", "p-tuning") else "qlora" if kind == "lora" and config.base_numbers else kind
        common = _common_features(config, case, "train", catalog)
        own = RunFeatures(**common, numbers=config.numbers, method=method, sequence=float(config.sequence))
        wanted = TRAINING if config.tokens else TRAINING[:2]
    elif isinstance(config, ServingConfig) and isinstance(case, ServingCase):
        is_offline = config.concurrency is None and config.requests_per_s is None
        own, wanted = RunFeatures(
            **_common_features(config, case, "serve", catalog), numbers=config.weight_numbers, method="inference",
            input=config.input_tokens or None, output=config.output_tokens, concurrency=config.concurrency,
            load="offline" if is_offline else "online",
            tensor=float(config.layout.tensor),
        ), SERVING  # fmt: skip
    else:
        return ()
    return tuple(run for metric, files in wanted if (run := _nearest_run(own, metric, files, catalog)))


def _nearest_run(own: RunFeatures, metric: str, files: tuple[str, ...], catalog: Catalog | None) -> NearestRun | None:
    found = _closest(own, _comparable_runs(metric, files, catalog))
    if found is None:
        return None
    row = found.row
    value = measured_value(row, metric)
    assert value is not None
    return NearestRun(
        row.id, row.csv, row.text("hardware"), row.text("model"), row.text("framework"), metric, UNITS[metric], value,
        _predicted(row, metric, catalog), round(distance(own, found.features), 3),
        f"{row.text('source')} {row.text('source_path')}".strip(),
        tuple(_differences(own, found.features)),
    )  # fmt: skip


def _closest(own: RunFeatures, known: Sequence[ComparableRun]) -> ComparableRun | None:
    """Return the run with the smallest distance, then the smallest ID. Stops adding once a run is farther than the best."""
    best, found = inf, None
    for run in known:
        total = 0.0
        for name, weight in WEIGHTS.items():
            total += weight * _feature_distance(name, own, run.features)
            if total > best:
                break
        if found is None or (total, run.row.id) < (best, found.row.id):
            best, found = total, run
    return found


def distance(a: RunFeatures, b: RunFeatures) -> float:
    """Return the distance of two runs: 0 for equal features; symmetric."""
    return sum(WEIGHTS[name] * _feature_distance(name, a, b) for name in WEIGHTS)


def _feature_distance(name: str, a: RunFeatures, b: RunFeatures) -> float:
    one, two = getattr(a, name), getattr(b, name)
    if one == two:
        return 0.0
    if one is None or two is None:
        return MISSING_DISTANCE
    if name == "accelerator":
        return SAME_GENERATION_DISTANCE if a.generation == b.generation else 1.0
    return 1.0 if isinstance(one, str) else abs(log(one / two))


def _differences(a: RunFeatures, b: RunFeatures) -> Iterator[str]:
    for name in WEIGHTS:
        one, two = getattr(a, name), getattr(b, name)
        if one is None or two is None or one == two or (isinstance(one, float) and abs(log(one / two)) < 0.02):
            continue
        yield f"{name} {_format_value(name, two)} instead of {_format_value(name, one)}"


def _format_value(name: str, value: float | str) -> str:
    if isinstance(value, str):
        return value
    return f"{value / 1e9:.3g}B" if name in ("size", "active") else f"{value:,.0f}"


@lru_cache(maxsize=32)
def _comparable_runs(metric: str, files: tuple[str, ...], catalog: Catalog | None = None) -> tuple[ComparableRun, ...]:
    found = []
    for row in (row for name in files if metric in METRICS[name] for row in _rows(name)):
        with suppress(BrokenCell):
            if measured_value(row, metric):
                found.append(ComparableRun(row, _row_features(row, catalog)))
    return tuple(found)


@cache
def _rows(name: str) -> tuple[PrintedRow, ...]:
    path = DATA / f"{name}.csv"
    return tuple(read_file(path)) if path.exists() else ()


def _row_features(row: PrintedRow, catalog: Catalog | None) -> RunFeatures:
    params, active, layers, hidden = (row.number(c) for c in ("params_b", "active_params_b", "layers", "hidden"))
    size = params * 1e9 if params else 12 * layers * hidden**2 if layers and hidden else None
    serving = row.csv.startswith("inference")
    chip, generation = _accelerator(row.text("hardware"), catalog)
    common: dict[str, Any] = {
        "size": size, "active": active * 1e9 if active else size, "accelerator": chip, "generation": generation,
        "engine": engine_family(row.text("framework"), "serve" if serving else "train").family, "numbers": row_number_format(row),
        "count": row.number("accel_count") or None,
    }  # fmt: skip
    if not serving:
        method, sequence = row.lower("method"), row.number("seq_len") or None
        tuned = method if method in ("lora", "qlora") else "full" if method in ("pretrain", "sft", "") else "adapter"
        is_soft_prompt = SOFT_PROMPT.search(f"{method} {row.lower('peft_type')}")
        return RunFeatures(method="soft prompt" if is_soft_prompt else tuned, sequence=sequence, **common)
    return RunFeatures(
        method="inference", input=row.number("isl") or None, output=row.number("osl") or None, tensor=row.number("tp") or None,
        concurrency=row.number("concurrency") or row.number("batch_size") or None,
        load="offline" if "offline" in row.lower("scenario") else "online", **common,
    )  # fmt: skip


def _common_features(
    config: TrainingConfig | ServingConfig, case: TrainingCase | ServingCase, role: str, catalog: Catalog | None
) -> dict[str, Any]:
    chip, generation = _accelerator(config.hardware.accelerator, catalog)
    n = case.network
    return {"size": float(n.total), "active": float(n.active), "accelerator": chip, "generation": generation,
            "engine": engine_family(config.engine.name, role).family, "count": float(config.hardware.count)}  # fmt: skip


def _accelerator(name: str, catalog: Catalog | None) -> tuple[str, str]:
    try:
        found = accelerators.find(name, catalog)
    except ValueError:
        return name, name
    return found.name, found.generation


def _predicted(row: PrintedRow, metric: str, catalog: Catalog | None) -> float | None:
    """Return the estimator's prediction for a measured run; None when no model covers it."""
    case = read_row(row, catalog).case
    model = next((m for m in registry() if m.metric == metric and row.csv in m.csv and case is not None and m.applies(case)), None)
    if model is None:
        return None
    value = float(model.predict(stack_cases([case]), calibration().of(model.name, model.kind))[0])
    return value if np.isfinite(value) and value > 0 else None
