"""Measured rows as configurations: the seven CSV files, one row a published run. Joins the files to config.py and resolve.py."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rackwright.diagnostics.errors import RackwrightError
from rackwright.estimator.calibration.fitted_models import FittedModel
from rackwright.estimator.case import TrainingCase
from rackwright.estimator.config import resolve
from rackwright.estimator.config.configuration import ServingConfig, TrainingConfig
from rackwright.estimator.dataset.columns.architecture import family
from rackwright.estimator.dataset.columns.cells import BrokenCell, PrintedRow, UnsupportedRow, read
from rackwright.estimator.dataset.columns.finetuning import fine_tuned
from rackwright.estimator.dataset.columns.hardware import unknown
from rackwright.estimator.dataset.columns.measured import measured
from rackwright.estimator.dataset.columns.pretraining import pretrained
from rackwright.estimator.dataset.columns.scoring import rule_of, unscored
from rackwright.estimator.dataset.columns.serving import serving
from rackwright.estimator.dataset.columns.time_to_train import finishing
from rackwright.estimator.dataset.columns.training import read_off, training
from rackwright.estimator.serving.case import ServingCase
from rackwright.estimator.training.run_time import FinishCase

DATA = Path(__file__).parents[1] / "data" / "measured"
WHOLE = ("time_to_train_min", "accel_hours")
"""Metrics of whole runs."""
MEMORY = ("peak_memory_gib", "kv_tokens")
"""Metrics that do not depend on the accelerator's speed."""


@dataclass(frozen=True)
class MeasuredRun:
    """One measured value of one row. case: what the formulas see; cell: publisher x framework x hardware; group: never split between
    folds; accelerator, family: left out whole in the stricter folds. table: of the accuracy bench."""

    csv: str
    row_id: str
    metric: str
    measured: float
    case: Any
    cell: str
    group: str
    accelerator: str
    family: str
    table: str = ""


@dataclass(frozen=True)
class RowReading:
    """A row and what became of it: a configuration and its case, or the reason why not. status: ok, unsupported or broken."""

    row: PrintedRow
    status: str
    reason: str = ""
    config: TrainingConfig | ServingConfig | None = None
    case: TrainingCase | ServingCase | None = None
    assumed: tuple[str, ...] = ()
    whole: FinishCase | None = None
    """The run around the step, in the file that speaks of whole runs."""
    timed: bool = True
    """Its accelerator is known, so that more than memory can be said."""

    def of(self, metric: str) -> TrainingCase | ServingCase | FinishCase | None:
        """What the models of a metric see."""
        if not self.timed and metric not in MEMORY:
            return None
        return self.whole if metric in WHOLE else self.case


def reading(row: PrintedRow) -> RowReading:
    """Never raises: what cannot be described says why, and leaves the other rows alone."""
    try:
        config, found = serving(row) if row.csv.startswith("inference") else training(row)
        whole = finishing(row, config) if row.csv == "time_to_train" and isinstance(config, TrainingConfig) else None
        untimed = unknown(row)
        return RowReading(row, "ok", untimed, config, whole.step if whole else _case(row, config), found.assumed, whole, not untimed)
    except BrokenCell as fault:
        return RowReading(row, "broken", str(fault))
    except ValidationError as fault:
        first = fault.errors()[0]
        return RowReading(
            row, "unsupported", f"{row.id} {'.'.join(map(str, first['loc']))}: {first['msg']}, not {str(first['input'])[:60]!r}"
        )
    except (UnsupportedRow, RackwrightError, ValueError, ArithmeticError) as fault:
        return RowReading(row, "unsupported", " ".join(str(fault).split()))


def _case(row: PrintedRow, config: TrainingConfig | ServingConfig) -> TrainingCase | ServingCase:
    """It was run, so the laws it seems to break are not asked."""
    if isinstance(config, ServingConfig):
        return resolve.serving_case(config, checked=False)
    case = resolve.training_case(config, checked=False)
    case = replace(case, **read_off(row, float(case.pipeline)))
    if row.csv == "training_memory":
        return replace(case, **pretrained(row, case))
    if row.csv != "finetune_memory":
        return case
    return replace(case, **fine_tuned(row, case, resolve.architecture_of(config.model)))


@cache
def readings(folder: Path = DATA) -> tuple[RowReading, ...]:
    """Every row of a folder, read once."""
    return tuple(reading(row) for row in read(folder))


def runs(model: FittedModel, folder: Path = DATA) -> Sequence[MeasuredRun]:
    """Scored rows of `model.metric` that it applies to and that can be described as a case."""
    return [run for run in scored(model.metric, folder) if run.csv in model.csv and model.applies(run.case)]


@cache
def scored(metric: str, folder: Path = DATA) -> tuple[MeasuredRun, ...]:
    """Every scored row of a metric that became a case, in the order of the files."""
    found = [r for r in readings(folder) if r.of(metric) is not None]
    files = {csv: [r.row for r in found if r.row.csv == csv] for csv in {r.row.csv for r in found}}
    return tuple(run for r in found if (run := _run(r, metric, files[r.row.csv])))


def accelerator(name: str) -> str:
    """H100, A100, GB200, TPU v5p, ...: without memory size and power cap."""
    parts = re.split(r"[-\s]+", re.sub(r"\(.*?\)", "", name).strip())
    return "-".join(p for p in parts if not re.fullmatch(r"\d+(\.\d+)?(gi?b|w)", p.lower())) or "none"


def cell(row: PrintedRow) -> str:
    return " | ".join(row.text(c) for c in ("publisher", "framework", "hardware"))


def _run(r: RowReading, metric: str, others: Sequence[PrintedRow]) -> MeasuredRun | None:
    row = r.row
    try:
        if unscored(row, metric, others) is not None:
            return None
        value = measured(row, metric)
    except BrokenCell:
        return None
    assert value is not None
    rule = rule_of(row.csv, metric)
    labels = (cell(row), row.text("group_key") or row.id, accelerator(row.text("hardware")), family(row.text("model")))
    return MeasuredRun(row.csv, row.id, metric, value, r.of(metric), *labels, table=rule.table(row).name if rule else "")
