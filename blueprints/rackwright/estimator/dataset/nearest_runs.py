"""The measured runs most like a configuration, from the rows that ship with the engine and from nothing else.

Distance: absolute logarithms of ratios (size, length, count, load) and steps for what differs in kind, weighted by WEIGHTS.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import inf, log
from typing import Any

import numpy as np

from rackwright.estimator.calibration.coefficients import calibration
from rackwright.estimator.calibration.registry import registry
from rackwright.estimator.case import TrainingCase, stack
from rackwright.estimator.config import accelerators
from rackwright.estimator.config.configuration import Configuration, ServingConfig, TrainingConfig
from rackwright.estimator.config.engines import engine
from rackwright.estimator.dataset.columns.cells import BrokenCell, PrintedRow, read_file
from rackwright.estimator.dataset.columns.measured import METRICS, UNITS, measured
from rackwright.estimator.dataset.columns.training import SOFT, numbers
from rackwright.estimator.dataset.runs import DATA, reading
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
"""rackwright's choice of 2026-11: a factor 2.7 in size counts as much as another accelerator. Orders runs, predicts nothing."""
SAME_GENERATION = 0.5
"""Of another accelerator's step, where both are of one generation."""
UNSAID = 0.3
"""Steps for what a row leaves out."""


@dataclass(frozen=True)
class Likeness:
    """What is compared. None: not said, or does not apply. numbers of text are compared as equal or not."""

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
class SimilarRun:
    """A row with a reading."""

    row: PrintedRow
    likeness: Likeness


def nearest(config: Configuration, case: TrainingCase | ServingCase) -> tuple[NearestRun, ...]:
    """The nearest run of each metric that the configuration has, with what differs in words."""
    if isinstance(config, TrainingConfig) and isinstance(case, TrainingCase):
        own, wanted = _of_training(config, case), TRAINING if config.tokens else TRAINING[:2]
    elif isinstance(config, ServingConfig) and isinstance(case, ServingCase):
        own, wanted = _of_serving(config, case), SERVING
    else:
        return ()
    return tuple(run for metric, files in wanted if (run := _nearest(own, metric, files)))


def _nearest(own: Likeness, metric: str, files: tuple[str, ...]) -> NearestRun | None:
    found = _closest(own, _seen(metric, files))
    if found is None:
        return None
    row = found.row
    value = measured(row, metric)
    assert value is not None
    return NearestRun(
        row.id, row.csv, row.text("hardware"), row.text("model"), row.text("framework"), metric, UNITS[metric], value,
        _predicted(row, metric), round(distance(own, found.likeness), 3), f"{row.text('source')} {row.text('source_path')}".strip(),
        tuple(_differences(own, found.likeness)),
    )  # fmt: skip


def _closest(own: Likeness, known: Sequence[SimilarRun]) -> SimilarRun | None:
    """Least distance, then least id. A row is left as soon as it is farther than the best so far."""
    best, found = inf, None
    for one in known:
        far = 0.0
        for name, weight in WEIGHTS.items():
            far += weight * _step(name, own, one.likeness)
            if far > best:
                break
        if found is None or (far, one.row.id) < (best, found.row.id):
            best, found = far, one
    return found


def distance(a: Likeness, b: Likeness) -> float:
    """0 for the same; symmetric."""
    return sum(WEIGHTS[name] * _step(name, a, b) for name in WEIGHTS)


def _step(name: str, a: Likeness, b: Likeness) -> float:
    one, two = getattr(a, name), getattr(b, name)
    if one == two:
        return 0.0
    if one is None or two is None:
        return UNSAID
    if name == "accelerator":
        return SAME_GENERATION if a.generation == b.generation else 1.0
    return 1.0 if isinstance(one, str) else abs(log(one / two))


def _differences(a: Likeness, b: Likeness) -> Iterator[str]:
    for name in WEIGHTS:
        one, two = getattr(a, name), getattr(b, name)
        if one is None or two is None or one == two or (isinstance(one, float) and abs(log(one / two)) < 0.02):
            continue
        yield f"{name} {_said(name, two)} instead of {_said(name, one)}"


def _said(name: str, value: float | str) -> str:
    if isinstance(value, str):
        return value
    return f"{value / 1e9:.3g}B" if name in ("size", "active") else f"{value:,.0f}"


@cache
def _seen(metric: str, files: tuple[str, ...]) -> tuple[SimilarRun, ...]:
    return tuple(s for name in files if metric in METRICS[name] for row in _rows(name) if (s := _with_reading(row, metric)))


@cache
def _rows(name: str) -> tuple[PrintedRow, ...]:
    path = DATA / f"{name}.csv"
    return tuple(read_file(path)) if path.exists() else ()


def _with_reading(row: PrintedRow, metric: str) -> SimilarRun | None:
    try:
        return SimilarRun(row, _of_row(row)) if measured(row, metric) else None
    except BrokenCell:
        return None


def _of_row(row: PrintedRow) -> Likeness:
    params, active, layers, hidden = (row.number(c) for c in ("params_b", "active_params_b", "layers", "hidden"))
    size = params * 1e9 if params else 12 * layers * hidden**2 if layers and hidden else None
    serving = row.csv.startswith("inference")
    chip, generation = _accelerator(row.text("hardware"))
    common: dict[str, Any] = {
        "size": size, "active": active * 1e9 if active else size, "accelerator": chip, "generation": generation,
        "engine": engine(row.text("framework"), "serve" if serving else "train").family, "numbers": numbers(row),
        "count": row.number("accel_count") or None,
    }  # fmt: skip
    if not serving:
        return Likeness(method=_method(row.lower("method"), row.lower("peft_type")), sequence=row.number("seq_len") or None, **common)
    return Likeness(
        method="inference", input=row.number("isl") or None, output=row.number("osl") or None, tensor=row.number("tp") or None,
        concurrency=row.number("concurrency") or row.number("batch_size") or None,
        load="offline" if "offline" in row.lower("scenario") else "online", **common,
    )  # fmt: skip


def _method(method: str, kind: str) -> str:
    if SOFT.search(f"{method} {kind}"):
        return "soft prompt"
    return method if method in ("lora", "qlora") else "full" if method in ("pretrain", "sft", "") else "adapter"


def _of_training(config: TrainingConfig, case: TrainingCase) -> Likeness:
    kind = config.adapter.type if config.adapter else "full"
    method = "soft prompt" if kind in ("prompt", "p-tuning") else "qlora" if kind == "lora" and config.base_numbers else kind
    return Likeness(
        **_common(config, case, "train"), numbers=config.numbers, method=method, sequence=float(config.sequence),
    )  # fmt: skip


def _of_serving(config: ServingConfig, case: ServingCase) -> Likeness:
    offline = config.concurrency is None and config.requests_per_s is None
    return Likeness(
        **_common(config, case, "serve"), numbers=config.weight_numbers, method="inference", input=config.input_tokens or None,
        output=config.output_tokens, concurrency=config.concurrency, load="offline" if offline else "online",
        tensor=float(config.layout.tensor),
    )  # fmt: skip


def _common(config: TrainingConfig | ServingConfig, case: TrainingCase | ServingCase, role: str) -> dict[str, Any]:
    chip, generation = _accelerator(config.hardware.accelerator)
    n = case.network
    return {"size": float(n.total), "active": float(n.active), "accelerator": chip, "generation": generation,
            "engine": engine(config.engine.name, role).family, "count": float(config.hardware.count)}  # fmt: skip


@cache
def _accelerator(name: str) -> tuple[str, str]:
    try:
        found = accelerators.find(name)
    except ValueError:
        return name, name
    return found.name, found.generation


def _predicted(row: PrintedRow, metric: str) -> float | None:
    """What the engine says of that run itself; None where no model speaks of it."""
    case = reading(row).case
    model = next((m for m in registry() if m.metric == metric and row.csv in m.csv and case is not None and m.applies(case)), None)
    if model is None:
        return None
    value = float(model.predict(stack([case]), calibration().of(model.name, model.kind))[0])
    return value if np.isfinite(value) and value > 0 else None
