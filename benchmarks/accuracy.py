"""Predictions of the shipped estimator beside what was measured.

    python benchmarks/accuracy.py --measured DIR --predictions OUT.csv     any folder with files of their names
    python benchmarks/accuracy.py --folds [--date 2026-11-21]              refits without what is judged; writes docs/accuracy.md

One line per row and metric: csv,row_id,metric,unit,measured,predicted,p10,p90,status,reason. status: ok, unsupported or broken. Which
rows are scored is benchmarks/scoreable.toml; what is not still has its line, and the reason says why it does not count.
"""

import argparse
import csv
import datetime
import io
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import fit
import floors
import forms
import numpy as np
import regret
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem
from rackwright.estimator.calibration.coefficients import PRIOR_ONLY, Calibration, FittedModel, calibration
from rackwright.estimator.calibration.registry import registry
from rackwright.estimator.case import stack_cases
from rackwright.estimator.dataset.columns.cells import BrokenCell
from rackwright.estimator.dataset.columns.measured import METRICS, UNITS, measured_value
from rackwright.estimator.dataset.columns.scoring import exclusion_reason, scoring_rule
from rackwright.estimator.dataset.runs import DATA, MeasuredValue, RowReading, cell_label, row_readings, runs_of_model
from rackwright.estimator.result import PredictionInterval
from rackwright.estimator.serving.case import ServingCase
from rackwright.files import write_text
from rackwright.units import GIB
from scoring import Point
from tables import HEAD, LEGEND, out_of_memory, report, residuals, table

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "accuracy.md"
HEADER = ("csv", "row_id", "metric", "unit", "measured", "predicted", "p10", "p90", "status", "reason")
PREDICTED_AS = {"accel_hours": "time_to_train_min", "latency_s": "samples_per_s_per_accel"}
"""Accelerator-hours are the time to train over the accelerators; a latency at batch 1 is the inverse of the rate."""


@dataclass(frozen=True)
class Line:
    """One metric of one row. scored: the name of its table, "" when it does not count."""

    reading: RowReading
    metric: str
    measured: float | None
    predicted: PredictionInterval | None
    status: str
    reason: str
    scored: str

    def cells(self) -> tuple[str, ...]:
        numbers = (self.predicted.p50, self.predicted.p10, self.predicted.p90) if self.predicted else (None,) * 3
        row = self.reading.row
        printed = ("" if n is None else f"{n:.6g}" for n in (self.measured, *numbers))
        return (row.csv, row.id, self.metric, UNITS[self.metric], *printed, self.status, self.reason)

    def point(self) -> Point:
        assert self.measured is not None
        return Point(self.scored, self.reading.row.id, cell_label(self.reading.row), self.measured, self.predicted)


def lines(folder: Path, known: Calibration | None = None) -> list[Line]:
    """Every row of the folder with every metric of its file, in the order of the files."""
    found = row_readings(folder)
    predicted = _predictions(found, known or calibration())
    files = {name: [r.row for r in found if r.row.csv == name] for name in METRICS}
    return [_line(r, metric, predicted.get((i, metric)), files[r.row.csv]) for i, r in enumerate(found) for metric in METRICS[r.row.csv]]


def _line(r: RowReading, metric: str, predicted: PredictionInterval | None, others: Sequence[Any]) -> Line:
    status = r.status if r.status != "ok" else "ok" if predicted else "unsupported"
    reason = r.reason or ("" if predicted else f"no model speaks of {metric} of this run")
    try:
        value, why = measured_value(r.row, metric), exclusion_reason(r.row, metric, others)
    except BrokenCell as fault:
        return Line(r, metric, None, predicted, "broken", str(fault), "")
    rule = scoring_rule(r.row.csv, metric)
    scored = rule.table(r.row).name if rule and why is None and status != "broken" else ""
    said = reason or (f"not scored: {why}" if why else "")
    return Line(r, metric, value, predicted, status, said, scored)


def _predictions(found: Sequence[RowReading], known: Calibration) -> dict[tuple[int, str], PredictionInterval]:
    """By place of the row and metric: p10, p50, p90. Every model once, over all its rows."""
    work: dict[tuple[str, str], list[int]] = {}
    models = registry()
    chosen = {model.name: model for model in models}
    for i, r in enumerate(found):
        for metric in METRICS[r.row.csv]:
            if r.of(metric) is not None and (model := _model(models, PREDICTED_AS.get(metric, metric), r)):
                work.setdefault((model.name, metric), []).append(i)
    made: dict[tuple[int, str], PredictionInterval] = {}
    for (name, metric), places in work.items():
        model = chosen[name]
        cases: list[Any] = [found[i].of(metric) for i in places]
        for i, case, value in zip(places, cases, _values(model, cases, known), strict=True):
            if np.isfinite(value) and value > 0:
                b = known.residual(name, model.classes(case), _kin(metric, case)).interval(float(value))
                made[i, metric] = _converted(b, metric, case)
    _online(found, made)
    return made


def _converted(b: PredictionInterval, metric: str, case: Any) -> PredictionInterval:
    """Of a metric that another model predicts, see PREDICTED_AS."""
    if metric == "accel_hours":
        return b.scaled(case.step.accelerators / 60)
    return b.inverse(1.0) if metric == "latency_s" else b


def _online(found: Sequence[RowReading], made: dict[tuple[int, str], PredictionInterval]) -> None:
    """Output of rows that are not offline follows from their load and latency."""
    for i, r in enumerate(found):
        case, key = r.case, (i, "output_tok_s_per_accel")
        if r.row.csv == "inference_more":  # predicted by a model of its own
            continue
        if key not in made or not isinstance(case, ServingCase) or (case.concurrency == np.inf and not case.rate):
            continue
        first, token, share = made.get((i, "ttft_ms")), made.get((i, "tpot_ms")), case.output / case.accelerators
        if case.rate:
            made[key] = PredictionInterval(*[float(case.rate * share)] * 3, n=0)
        elif first and token:
            made[key] = (first + token.scaled(case.output - 1)).inverse(1000 * float(case.concurrency * share))


def _kin(metric: str, case: Any) -> str:
    """Speed of accelerators that no run speaks of is prior only; memory does not depend on it."""
    return "" if metric in ("peak_memory_gib", "kv_tokens") else str(getattr(case, "step", case).chip.evidence_group)


def _model(models: Sequence[FittedModel], metric: str, r: RowReading) -> FittedModel | None:
    """Of the metric: one that was fitted on the row's file before one of a file of the same kind."""
    serving, case = r.row.csv.startswith("inference"), r.of(metric)
    alike = [m for m in models if m.metric == metric and any(f.startswith("inference") == serving for f in m.csv)]
    fitting = sorted((m for m in alike if m.applies(case)), key=lambda m: r.row.csv not in m.csv)
    return fitting[0] if fitting else None


def _values(model: FittedModel, cases: Sequence[Any], known: Calibration) -> np.ndarray:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.broadcast_to(model.predict(stack_cases(cases), known.of(model.name, model.kind)), len(cases))


def write(path: Path, made: Sequence[Line]) -> None:
    """In one step: a reader never sees half of it. Raises UserError."""
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(HEADER)
    out.writerows(line.cells() for line in made)
    write_text(path, text.getvalue())


def _ran_or_not(made: Sequence[Line]) -> list[tuple[PredictionInterval, float, bool]]:
    """Scored rows, which ran, and those that say they ran out."""
    return [
        (line.predicted, line.reading.case.chip.memory_bytes / GIB, line.reading.row.lower("oom") == "true")
        for line in made
        if line.metric == METRICS[line.reading.row.csv][0] == "peak_memory_gib"
        and line.predicted and line.reading.case and line.reading.has_known_accelerator
        and (line.scored or line.reading.row.lower("oom") == "true")
    ]  # fmt: skip


def folded(key: str | Callable[[MeasuredValue], str], only: Callable[[FittedModel], bool] = lambda _: True) -> list[Point]:
    """Predictions of refits that never saw what they predict. The interval of a fold comes from the residuals of other runs."""
    points: list[Point] = []
    for model in (m for m in registry() if only(m)):
        for fold in _folds(model, key):
            held = {run.row_id for run in fold.held}
            quantiles = fit.residuals(model, _ratios(model), held)
            for run, value in zip(fold.held, _values_of(model, fold), strict=True):
                seen = next((quantiles[c] for c in model.classes(run.case) if c in quantiles), PRIOR_ONLY)
                points.append(Point(run.table, run.row_id, run.cell, run.measured, seen.interval(float(value))))
    return points


@cache
def _folds(model: FittedModel, key: str | Callable[[MeasuredValue], str]) -> list[fit.Fold]:
    return fit.folds(model, runs_of_model(model), key)


@cache
def _ratios(model: FittedModel) -> list[fit.FoldRatio]:
    """Return measured / predicted of the folds that make the intervals."""
    return fit.ratios(model, [fold for key in fit.judged_keys(runs_of_model(model)) for fold in _folds(model, key)])


def _values_of(model: FittedModel, fold: fit.Fold) -> np.ndarray:
    cases = [run.case for run in fold.held]
    with np.errstate(all="ignore"):
        return np.broadcast_to(model.predict(stack_cases(cases), fold.coefficients), len(cases))


def serving_cell(run: MeasuredValue) -> str:
    """hardware x model x TP x backend."""
    return f"{run.accelerator} {run.case.network.total:g} {run.case.tensor:g} {run.case.engine}"


def page(date: str) -> str:
    """docs/accuracy.md."""
    keys: tuple[tuple[str, Any, str], ...] = (
        ("Grouped folds", "group", "grouped"),
        ("One family left out", "family", "family"),
        ("One accelerator left out", "accelerator", "family"),
        ("TPOT, one hardware x model x TP x backend left out", serving_cell, "cells"),
    )
    _folds.cache_clear()
    _ratios.cache_clear()
    parts = [f"# Accuracy against measured runs\n\n{date}, {calibration().version}. `make bench` writes this page.\n\n{LEGEND}\n"]
    first: list[Point] = []
    for title, key, kind in keys:
        points = folded(key, lambda m, kind=kind: kind != "cells" or m.metric == "tpot_ms")
        first = first or points
        parts.append(f"## {title}\n\n{table(HEAD, report(points, kind))}\n")
    made = lines(DATA)
    shipped = table(HEAD, report(line.point() for line in made if line.scored))
    parts.append(f"## Shipped coefficients, their own rows\n\n{shipped}\n")
    parts.append(f"## Out of memory\n\n{out_of_memory(_ran_or_not(made))}\n")
    parts.append(f"## What a choice costs\n\n{regret.LEGEND}\n\n{regret.tables()}")
    parts.append(f"## What stays\n\nCells that carry the error of the grouped folds.\n\n{residuals(first)}\n")
    parts.append(f"## Noise floors\n\n{floors.page()}")
    parts.append(f"## Forms chosen inside the folds\n\n{forms.LEGEND}\n\n{forms.page()}\n")
    return "\n".join(parts)


def _checked(folder: Path) -> list[Line]:
    """Lines of a folder that has some; what is not there is told. Raises UserError, BrokenCell, OSError."""
    there = {path.name for path in folder.iterdir()}
    gone = [f"{name}.csv" for name in METRICS if f"{name}.csv" not in there]
    made = lines(folder)
    if not made:
        raise UserError([Problem("A-rows", f"no rows in {folder}", fix=f"expected {', '.join(f'{name}.csv' for name in METRICS)}")])
    if gone:
        print(f"accuracy: not in {folder}, so not scored: {', '.join(gone)}", file=sys.stderr)
    return made


def main(argv: Sequence[str] | None = None) -> int:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--measured", type=Path, default=DATA, help="folder with CSV files of those names")
    ask.add_argument("--predictions", type=Path, help="where the lines go")
    ask.add_argument("--folds", action="store_true", help="refit without what is judged, and write docs/accuracy.md")
    ask.add_argument("--date", default=datetime.date.today().isoformat(), help="of the page")
    asked = ask.parse_args(argv)
    try:
        made = _checked(asked.measured)
        if asked.predictions:
            write(asked.predictions, made)
    except (UserError, BrokenCell, OSError) as fault:
        print(f"accuracy: {fault}", file=sys.stderr)
        return 2
    if asked.folds:
        write_text(PAGE, page(asked.date))
        print(PAGE.read_text(encoding="utf-8"))
        return 0
    print(table(HEAD, report(line.point() for line in made if line.scored)))
    print(f"\n{out_of_memory(_ran_or_not(made))}\n\n{len(made)} lines, {sum(line.status == 'ok' for line in made)} predicted")
    return 0


if __name__ == "__main__":
    sys.exit(main())
