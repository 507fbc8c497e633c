"""Measured runs from the CSV files, converted to configurations and cases. One row is one published run."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rackwright.catalog.read import Catalog
from rackwright.diagnostics.errors import RackwrightError
from rackwright.estimator.calibration.coefficients import FittedModel
from rackwright.estimator.case import TrainingCase
from rackwright.estimator.config import resolve
from rackwright.estimator.config.configuration import ServingConfig, TrainingConfig
from rackwright.estimator.dataset.columns.architecture import model_family
from rackwright.estimator.dataset.columns.cells import BrokenCell, PrintedRow, UnsupportedRow, read_folder
from rackwright.estimator.dataset.columns.encoders import encoder_case, is_encoder_row
from rackwright.estimator.dataset.columns.finetuning import finetuning_fields
from rackwright.estimator.dataset.columns.hardware import unknown_accelerator_reason
from rackwright.estimator.dataset.columns.measured import measured_value
from rackwright.estimator.dataset.columns.pretraining import pretraining_fields
from rackwright.estimator.dataset.columns.samples import sample_case
from rackwright.estimator.dataset.columns.scoring import exclusion_reason, scoring_rule
from rackwright.estimator.dataset.columns.serving import checkpoint_fields, serving_config
from rackwright.estimator.dataset.columns.time_to_train import run_case
from rackwright.estimator.dataset.columns.training import measurement_fields, training_config
from rackwright.estimator.dataset.least_recompute import least_recompute
from rackwright.estimator.model.from_architecture import architecture_of
from rackwright.estimator.sample_case import SampleCase
from rackwright.estimator.serving.case import ServingCase
from rackwright.estimator.training.run_time import RunCase

INFERRED = ("training_more", "finetune_memory")
"""Files whose rows take the least recompute that fits where they state none."""
DATA = Path(__file__).parents[1] / "data" / "measured"
SAMPLE_FILES = ("diffusion_vision",)
RUN_METRICS = ("time_to_train_min", "accel_hours")
"""Metrics of a whole run."""
MEMORY_METRICS = ("peak_memory_gib", "kv_tokens")
"""Metrics that do not depend on the speed of the accelerator."""


SAMPLE_METRICS = ("samples_per_s_per_accel", "latency_s")
"""Metrics of networks that work on whole samples."""


@dataclass(frozen=True)
class MeasuredValue:
    """One measured value of one row. case: input of the formulas; cell: publisher x framework x hardware; group: rows that stay in the same
    fold; accelerator, family: left out together in stricter folds; table: of the accuracy benchmark."""

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
    """Result of converting a row: a configuration and its case, or the reason for failure. status: ok, unsupported or broken."""

    row: PrintedRow
    status: str
    reason: str = ""
    config: TrainingConfig | ServingConfig | None = None
    case: TrainingCase | ServingCase | SampleCase | None = None
    assumed: tuple[str, ...] = ()
    whole: RunCase | None = None
    """Case of the whole run, for rows of time_to_train."""
    has_known_accelerator: bool = True
    """False when only memory can be predicted, because the accelerator is unknown."""

    def of(self, metric: str) -> TrainingCase | ServingCase | SampleCase | RunCase | None:
        """Return the case for models of a metric; None when they cannot predict the row."""
        if not self.has_known_accelerator and metric not in MEMORY_METRICS:
            return None
        if isinstance(self.case, SampleCase) != (metric in SAMPLE_METRICS):
            return None
        return self.whole if metric in RUN_METRICS else self.case


def read_row(row: PrintedRow, catalog: Catalog | None = None) -> RowReading:
    """Convert a row. Never raises; a row that cannot be converted has a reason. catalog: has the accelerators."""
    try:
        if row.csv in SAMPLE_FILES:
            return RowReading(row, "ok", case=sample_case(row, catalog))
        if is_encoder_row(row):
            return RowReading(row, "ok", case=encoder_case(row, catalog))
        config, found = serving_config(row, catalog) if row.csv.startswith("inference") else training_config(row, catalog)
        whole = run_case(row, config) if row.csv == "time_to_train" and isinstance(config, TrainingConfig) else None
        untimed = unknown_accelerator_reason(row, catalog)
        return RowReading(
            row, "ok", untimed, config, whole.step if whole else _case(row, config, catalog), found.assumed, whole, not untimed
        )
    except BrokenCell as fault:
        return RowReading(row, "broken", str(fault))
    except ValidationError as fault:
        first = fault.errors()[0]
        return RowReading(
            row, "unsupported", f"{row.id} {'.'.join(map(str, first['loc']))}: {first['msg']}, not {str(first['input'])[:60]!r}"
        )
    except (UnsupportedRow, RackwrightError, ValueError, ArithmeticError) as fault:
        return RowReading(row, "unsupported", " ".join(str(fault).split()))


def _case(row: PrintedRow, config: TrainingConfig | ServingConfig, catalog: Catalog | None) -> TrainingCase | ServingCase:
    """Return the case of a row without checking constraints, because the configuration was run."""
    if isinstance(config, ServingConfig):
        return replace(found := resolve.serving_case(config, checked=False, catalog=catalog), **checkpoint_fields(row, found))
    case = resolve.training_case(config, checked=False, catalog=catalog)
    case = replace(case, **measurement_fields(row, float(case.pipeline)))
    found = _with_row_fields(row, case, config)
    is_stated = row.cells.get("recompute", "").strip() or "cumulative" in row.notes
    return found if is_stated or row.csv not in INFERRED or found.chip.is_tpu else least_recompute(found)


def _with_row_fields(row: PrintedRow, case: TrainingCase, config: TrainingConfig) -> TrainingCase:
    """Return the case with fields that only rows of its file have."""
    if row.csv == "training_memory":
        return replace(case, **pretraining_fields(row, case))
    if row.csv != "finetune_memory" and not (row.csv == "training_more" and row.lower("method") != "pretrain"):
        return case
    return replace(case, **finetuning_fields(row, case, architecture_of(config.model)))


@cache
def row_readings(folder: Path = DATA) -> tuple[RowReading, ...]:
    """Return every row of a folder, converted once."""
    return tuple(read_row(row) for row in read_folder(folder))


def runs_of_model(model: FittedModel, folder: Path = DATA) -> Sequence[MeasuredValue]:
    """Return the scored rows that a model covers."""
    return [run for run in scored_runs(model.metric, folder) if run.csv in model.csv and model.applies(run.case)]


@cache
def scored_runs(metric: str, folder: Path = DATA) -> tuple[MeasuredValue, ...]:
    """Return every scored row of a metric that has a case, in the order of the files."""
    found = [r for r in row_readings(folder) if r.of(metric) is not None]
    files = {csv: [r.row for r in found if r.row.csv == csv] for csv in {r.row.csv for r in found}}
    return tuple(run for r in found if (run := _run(r, metric, files[r.row.csv])))


def accelerator_label(name: str) -> str:
    """Return the accelerator without memory size and power cap: H100, A100, GB200, TPU v5p, ..."""
    parts = re.split(r"[-\s]+", re.sub(r"\(.*?\)", "", name).strip())
    return "-".join(p for p in parts if not re.fullmatch(r"\d+(\.\d+)?(gi?b|w)", p.lower())) or "none"


def cell_label(row: PrintedRow) -> str:
    return " | ".join(row.text(c) for c in ("publisher", "framework", "hardware"))


def _run(r: RowReading, metric: str, others: Sequence[PrintedRow]) -> MeasuredValue | None:
    row = r.row
    try:
        if exclusion_reason(row, metric, others) is not None:
            return None
        value = measured_value(row, metric)
    except BrokenCell:
        return None
    assert value is not None
    rule = scoring_rule(row.csv, metric)
    labels = (cell_label(row), row.text("group_key") or row.id, accelerator_label(row.text("hardware")), model_family(row.text("model")))
    return MeasuredValue(row.csv, row.id, metric, value, r.of(metric), *labels, table=rule.table(row).name if rule else "")
