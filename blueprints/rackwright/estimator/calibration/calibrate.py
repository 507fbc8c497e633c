"""Calibration with the user's measured runs: one correction factor per model, residual class and accelerator generation.

The factor is the geometric mean of measured / predicted, shrunk towards 1 as if PRIOR_RUNS runs had been predicted exactly. The shipped
coefficients do not change.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from math import exp, log
from pathlib import Path
from typing import Any

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import At, Mark, Problem
from rackwright.estimator.calibration.coefficients import Calibration, FittedModel, calibration, corrected, factor_key
from rackwright.estimator.calibration.registry import registry
from rackwright.estimator.case import stack_cases
from rackwright.estimator.dataset.columns.cells import CSV_NAMES, BrokenCell, PrintedRow, read_file
from rackwright.estimator.dataset.columns.hardware import unknown_accelerator_reason
from rackwright.estimator.dataset.columns.measured import METRICS, UNITS, measured_value
from rackwright.estimator.dataset.runs import DATA, read_row
from rackwright.files import read_bytes

PRIOR_RUNS = 2.0
"""Weight of the prior: two measured runs correct half of the log error, eight runs four fifths. Assumption of rackwright, 2026-11."""
MAX_RATIO = 5.0
"""Ratio of measured and predicted, or its inverse, above which the cell is assumed to be wrong."""
IDENTIFYING_COLUMNS = {
    "peft_type": "finetune_memory", "mem_printed": "training_memory", "isl": "inference_throughput", "kv_tokens": "inference_memory",
    "tokens_per_s_per_chip": "tpu_training", "time_to_train_min": "time_to_train", "tokens_per_s_per_gpu": "training_throughput",
    "throughput_images_s": "diffusion_vision",
}  # fmt: skip
"""Column -> kind of the file. The first match decides."""
PRETRAINING = ("", "pretrain", "pretraining")
DERIVED_METRICS = ("time_to_train_min", "accel_hours", "latency_s")
"""Metrics without a correction factor: they follow from the step time or the rate, which has one."""


@dataclass(frozen=True)
class CalibratedRun:
    """One measured run. before, after: predictions in `unit` without and with the correction factor."""

    row_id: str
    metric: str
    unit: str
    measured: float
    before: float
    after: float
    kind: str


@dataclass(frozen=True)
class CalibrationResult:
    """Result of a calibration. factors: `factor_key` -> (factor on predictions, number of runs)."""

    base: str
    factors: dict[str, tuple[float, int]]
    runs: tuple[CalibratedRun, ...]
    problems: tuple[Problem, ...] = ()
    unread: tuple[str, ...] = ()
    """Columns that the calibration does not use."""

    def to_text(self) -> str:
        """Return the calibration as JSON, the format that `load_calibration` reads."""
        factors = {name: {"factor": factor, "runs": n} for name, (factor, n) in self.factors.items()}
        return json.dumps({"base": self.base, "factors": factors}, indent=1) + "\n"

    def as_json(self) -> dict[str, Any]:
        return {
            "ok": not self.problems,
            **json.loads(self.to_text()),
            "runs": [asdict(run) for run in self.runs],
            "problems": [p.as_json() for p in self.problems],
            "unread": list(self.unread),
        }


def calibrate(path: Path) -> CalibrationResult:
    """Compute correction factors from a CSV file of measured runs.

    Raises UserError when the file cannot be read, has none of the identifying columns, or no usable row.
    """
    rows = _rows(path)
    known, c = registry(), calibration()
    seen: list[tuple[PrintedRow, str, FittedModel, Any, float]] = []
    problems: list[Problem] = []
    for row in rows:
        try:
            seen.extend(_readings(row, known))
        except BrokenCell as fault:
            problems.append(_problem(row, str(fault)))
    before = [float(model.predict(stack_cases([case]), c.of(model.name, model.kind))[0]) for _, _, model, case, _ in seen]
    kinds = [factor_key(model.name, model.classes(case), str(case.chip.evidence_group)) for _, _, model, case, _ in seen]
    near = []
    for (row, metric, _, _, value), predicted, kind in zip(seen, before, kinds, strict=True):
        if max(value / predicted, predicted / value) > MAX_RATIO:
            reason = f"{row.id} {metric}: measured {value:,.4g} differs from predicted {predicted:,.4g} by more than {MAX_RATIO:g} times"
            problems.append(_problem(row, reason, f"check the unit; {metric} is in {UNITS[metric]}"))
        else:
            near.append((row, metric, value, predicted, kind))
    if not near:
        kind = rows[0].csv
        usable = {model.metric for model in known if kind in model.csv} & set(METRICS[kind]) - set(DERIVED_METRICS)
        reason = f"none of the {len(rows)} runs ({kind}) has a metric that can be calibrated"
        fix = f"add {', '.join(sorted(usable)) or 'tokens/s or peak memory, in a file of another kind'}"
        raise UserError(problems or [Problem("E-runs", reason, fix=fix)], str(path))
    ratios: dict[str, list[float]] = {}
    for _, _, value, predicted, kind in near:
        ratios.setdefault(kind, []).append(log(value / predicted))
    factors = {kind: (float(f"{exp(sum(found) / (len(found) + PRIOR_RUNS)):.4g}"), len(found)) for kind, found in ratios.items()}
    runs = tuple(
        CalibratedRun(row.id, metric, UNITS[metric], value, predicted, predicted * factors[kind][0], kind)
        for row, metric, value, predicted, kind in near
    )
    columns = {name for file in CSV_NAMES for row in read_file(DATA / f"{file}.csv")[:1] for name in row.cells}
    unread = tuple(name for name in rows[0].cells if name and name not in columns)
    return CalibrationResult(c.version, dict(sorted(factors.items())), runs, tuple(problems), unread)


def load_calibration(path: Path | None) -> Calibration:
    """Return the shipped coefficients with the correction factors of a calibration file; None: without.

    Raises UserError when the file is not a calibration, or was made with other coefficients.
    """
    if path is None:
        return calibration()
    try:
        data = json.loads(read_bytes(path))
        factors = {str(name): _read_factor(str(name), f) for name, f in data["factors"].items()}
        base = str(data["base"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as fault:
        reason = f"the file is not a calibration: {fault}"
        raise UserError(
            [Problem("E-calibration", reason, fix="create one with `rackwright calibrate RUNS.csv -o FILE.json`")], str(path)
        ) from None
    try:
        return corrected(base, factors)
    except UserError as error:
        raise UserError(error.problems, str(path)) from None


def check_output_path(path: Path, runs: Path) -> None:
    """Raise UserError when `path` exists and is not a calibration, so that no other file is overwritten."""
    if not path.exists() or (path.is_file() and not path.stat().st_size):
        return
    try:
        is_replaceable = not path.samefile(runs) and {"base", "factors"} <= json.loads(read_bytes(path)).keys()
    except (OSError, ValueError, AttributeError, RecursionError):
        is_replaceable = not path.is_file()  # writing to a folder or device fails later with its own message
    if not is_replaceable:
        reason = f"{path} exists and is not a calibration, so it was not overwritten"
        raise UserError([Problem("E-calibration", reason, fix="choose another file with -o FILE.json")], str(path))


def _read_factor(name: str, entry: Any) -> tuple[float, int]:
    factor, n = float(entry["factor"]), int(entry["runs"])
    if not 1 / MAX_RATIO <= factor <= MAX_RATIO or n < 0:
        raise ValueError(f"{name}: factor {factor:g} from {n} runs is outside {1 / MAX_RATIO:g} to {MAX_RATIO:g}")
    return factor, n


def _rows(path: Path) -> Sequence[PrintedRow]:
    try:
        rows = read_file(path)
    except (OSError, BrokenCell) as fault:
        reason = getattr(fault, "strerror", None) or str(fault)
        raise UserError([Problem("E-runs", reason, fix="give a CSV file with the columns in docs/estimate.md")], str(path)) from None
    if not rows:
        raise UserError([Problem("E-runs", f"{path.name} has no runs", fix="write a header and one line per run")], str(path))
    if path.stem in CSV_NAMES:
        return rows
    name = next((file for column, file in IDENTIFYING_COLUMNS.items() if column in rows[0].cells), "")
    if not name:
        columns = ", ".join(f"{column} ({file})" for column, file in IDENTIFYING_COLUMNS.items())
        reason = f"{path.name} has no column that identifies the kind of runs"
        raise UserError([Problem("E-runs", reason, fix=f"add one of {columns}")], str(path))
    if name != "finetune_memory":
        return [replace(row, csv=name) for row in rows]
    # files of pretraining and fine-tuning memory have the same columns; adapter and method tell them apart
    is_tuned = [bool(row.text("peft_type")) or row.lower("method") not in PRETRAINING for row in rows]
    return [replace(row, csv=name if tuned else "training_memory") for row, tuned in zip(rows, is_tuned, strict=True)]


def _readings(row: PrintedRow, known: Iterable[FittedModel]) -> list[tuple[PrintedRow, str, FittedModel, Any, float]]:
    """Return the readings of a row that a model predicts. Raises BrokenCell when the row cannot be converted to a case."""
    found = read_row(row)
    if found.case is None:
        raise BrokenCell(found.reason)
    values = [(metric, measured_value(row, metric)) for metric in METRICS[row.csv]]
    if reason := unknown_accelerator_reason(row):
        raise BrokenCell(f"{row.id} hardware: {reason}")
    return [
        (row, metric, model, found.case, value)
        for metric, value in values
        for model in known
        if value and model.metric == metric and row.csv in model.csv and model.applies(found.case)
    ]


def _problem(row: PrintedRow, reason: str, fix: str = "") -> Problem:
    return Problem("E-run", reason, At() / row.id, fix, mark=Mark(row.line, 1))
