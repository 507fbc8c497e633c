"""Learning from the user's own runs: what was predicted, what was measured, and one factor per kind of run that brings them together.

The shipped coefficients stay as they are. A factor belongs to one model, class of case and accelerator generation; it is the mean
logarithm of measured / predicted, shrunk towards none as if PRIOR_RUNS published runs had been met exactly.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from math import exp, log
from pathlib import Path
from typing import Any

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import At, Mark, Problem
from rackwright.estimator.calibration.coefficients import Calibration, FittedModel, calibration, factor_key
from rackwright.estimator.calibration.registry import registry
from rackwright.estimator.case import stack_cases
from rackwright.estimator.dataset.columns.cells import CSV_NAMES, BrokenCell, PrintedRow, read_file
from rackwright.estimator.dataset.columns.hardware import unknown_accelerator_reason
from rackwright.estimator.dataset.columns.measured import METRICS, UNITS, measured_value
from rackwright.estimator.dataset.runs import DATA, read_row

PRIOR_RUNS = 2.0
"""rackwright's choice 2026-11: after two runs of one's own the factor has gone half of the way, after eight four fifths."""
MAX_RATIO = 5.0
"""Measured over predicted, or the other way round, beyond which a cell is more likely wrong than the engine."""
IDENTIFYING_COLUMNS = {
    "peft_type": "finetune_memory", "mem_printed": "training_memory", "isl": "inference_throughput", "kv_tokens": "inference_memory",
    "tokens_per_s_per_chip": "tpu_training", "time_to_train_min": "time_to_train", "tokens_per_s_per_gpu": "training_throughput",
}  # fmt: skip
"""Column -> the shipped file that has it, first match wins."""


PRETRAINING = ("", "pretrain", "pretraining")
DERIVED_METRICS = ("time_to_train_min", "accel_hours")
"""Follow from the step, which has a factor of its own."""


@dataclass(frozen=True)
class CalibratedRun:
    """One run: before and after are predictions, in `unit`, with the shipped coefficients and with the factor."""

    row_id: str
    metric: str
    unit: str
    measured: float
    before: float
    after: float
    kind: str


@dataclass(frozen=True)
class CalibrationResult:
    """factors: by kind (model | class | generation): what predictions are multiplied with, and from how many runs."""

    base: str
    factors: dict[str, tuple[float, int]]
    runs: tuple[CalibratedRun, ...]
    problems: tuple[Problem, ...] = ()
    unread: tuple[str, ...] = ()
    """Columns that no shipped file has, so that nothing is learned from them."""

    def to_text(self) -> str:
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
    """Raises UserError where the file cannot be read, has none of the known columns, or no row of it can be used."""
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
    kinds = [factor_key(model.name, model.classes(case), _accelerator_group(case)) for _, _, model, case, _ in seen]
    near = []
    for (row, metric, _, _, value), predicted, kind in zip(seen, before, kinds, strict=True):
        if max(value / predicted, predicted / value) > MAX_RATIO:
            problems.append(_problem(row, f"{row.id} {metric}: {value:,.4g} measured, {predicted:,.4g} predicted: check the cell's unit"))
        else:
            near.append((row, metric, value, predicted, kind))
    if not near:
        raise UserError(problems or [_no_reading(rows)], str(path))
    factors = {kind: _factor([(value, predicted) for _, _, value, predicted, k in near if k == kind]) for *_, kind in near}
    runs = tuple(
        CalibratedRun(row.id, metric, UNITS[metric], value, predicted, predicted * factors[kind][0], kind)
        for row, metric, value, predicted, kind in near
    )
    return CalibrationResult(c.version, dict(sorted(factors.items())), runs, tuple(problems), _unknown_columns(rows))


def load_calibration(path: Path | None) -> Calibration:
    """The shipped coefficients, with the factors of the file. Raises UserError: no such file, or made with other coefficients."""
    shipped = calibration()
    if path is None:
        return shipped
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        factors = {str(name): _read_factor(str(name), f) for name, f in data["factors"].items()}
        base = str(data["base"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as fault:
        raise UserError([Problem("E-calibration", f"not a calibration: {fault}", fix="rackwright calibrate RUNS.csv")], str(path)) from None
    if base != shipped.version:
        reason = f"made with coefficients {base}, this release has {shipped.version}"
        raise UserError([Problem("E-calibration", reason, At() / "base", "rackwright calibrate RUNS.csv, once more")], str(path))
    return replace(shipped, factors=factors)


def check_output_path(path: Path, runs: Path) -> None:
    """Raises UserError where writing a calibration there would destroy the runs, or anything else that is no calibration."""
    if not path.exists() or (path.is_file() and not path.stat().st_size):
        return
    try:
        known = not path.samefile(runs) and {"base", "factors"} <= json.loads(path.read_text(encoding="utf-8")).keys()
    except (OSError, ValueError, AttributeError, RecursionError):
        known = not path.is_file()  # write_text says why that cannot be written
    if not known:
        reason = f"{path} is there and is no calibration; it was left as it is"
        raise UserError([Problem("E-calibration", reason, fix="-o FILE.json")], str(path))


def _read_factor(name: str, said: Any) -> tuple[float, int]:
    factor, n = float(said["factor"]), int(said["runs"])
    if not 1 / MAX_RATIO <= factor <= MAX_RATIO or n < 0:
        raise ValueError(f"{name}: a factor of {factor:g} from {n} runs")
    return factor, n


def _rows(path: Path) -> Sequence[PrintedRow]:
    try:
        rows = read_file(path)
    except (OSError, BrokenCell) as fault:
        reason = getattr(fault, "strerror", None) or str(fault)
        raise UserError([Problem("E-runs", reason, fix="a CSV file with the columns that docs/estimate.md shows")], str(path)) from None
    name = (
        path.stem
        if path.stem in CSV_NAMES
        else next((file for column, file in IDENTIFYING_COLUMNS.items() if rows and column in rows[0].cells), "")
    )
    if not name:
        raise UserError([_no_known_column(path)], str(path))
    return [replace(row, csv=name if path.stem in CSV_NAMES else _csv_kind(name, row)) for row in rows]


def _unknown_columns(rows: Sequence[PrintedRow]) -> tuple[str, ...]:
    known = {name for file in CSV_NAMES for row in read_file(DATA / f"{file}.csv")[:1] for name in row.cells}
    return tuple(name for name in rows[0].cells if name and name not in known)


def _csv_kind(name: str, row: PrintedRow) -> str:
    """Both files of training memory have the same columns: a run without an adapter and of no fine-tuning is a pre-training."""
    tuned = row.text("peft_type") or row.lower("method") not in PRETRAINING
    return name if name != "finetune_memory" or tuned else "training_memory"


def _readings(row: PrintedRow, known: Iterable[FittedModel]) -> list[tuple[PrintedRow, str, FittedModel, Any, float]]:
    """Readings of the row that a model speaks of. Raises BrokenCell, with the reason where the row cannot be described."""
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


def _factor(pairs: Sequence[tuple[float, float]]) -> tuple[float, int]:
    n = len(pairs)
    return float(f"{exp(sum(log(value / predicted) for value, predicted in pairs) / (n + PRIOR_RUNS)):.4g}"), n


def _accelerator_group(case: Any) -> str:
    return str(getattr(case, "step", case).chip.kin)


def _problem(row: PrintedRow, reason: str) -> Problem:
    return Problem("E-run", reason, At() / row.id, mark=Mark(row.line, 1))


def _no_reading(rows: Sequence[PrintedRow]) -> Problem:
    kind = rows[0].csv
    spoken = {model.metric for model in registry() if kind in model.csv} & set(METRICS[kind]) - set(DERIVED_METRICS)
    reason = f"{len(rows)} runs ({kind}), and none has a reading that is learned from"
    return Problem("E-runs", reason, fix=f"learned from: {', '.join(sorted(spoken)) or 'tokens/s and memory, in the other files'}")


def _no_known_column(path: Path) -> Problem:
    columns = ", ".join(f"{column} ({file})" for column, file in IDENTIFYING_COLUMNS.items())
    return Problem("E-runs", f"no run in {path.name} that could be learned from", fix=f"one of these columns tells the kind: {columns}")
