"""Our side: the scored rows, what we predict of them, and how long that takes. The one file here that knows rackwright."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import fit
import numpy as np
from clock import best
from rackwright.catalog import Catalog
from rackwright.diagnostics.errors import RackwrightError
from rackwright.estimator.calibration.coefficients import FittedModel, calibration
from rackwright.estimator.calibration.registry import registry
from rackwright.estimator.case import stack_cases
from rackwright.estimator.dataset.runs import MeasuredValue, row_readings, runs_of_model
from rackwright.estimator.estimate import estimate
from rackwright.sizing.size import size
from rackwright.spec import read

RUNS = 5
TIMED_ROWS = 200
TODAY = date(2026, 11, 21)
METRICS = {
    "training": ("tokens_per_s_per_accel", "peak_memory_gib"),
    "serving": ("tpot_ms", "ttft_ms", "output_tok_s_per_accel"),
}
"""What peers are asked, by their kind."""


@dataclass(frozen=True)
class Row:
    """A scored reading with what is needed to ask others about it. case: its numbers; cells: its printed texts; folds: predicted by a
    fit that saw no row of its group; shipped: by the coefficients in the repository, which saw it."""

    id: str
    metric: str
    table: str
    group: str
    measured: float
    folds: float
    shipped: float
    case: Any
    cells: dict[str, str]


def rows(metrics: Sequence[str]) -> list[Row]:
    """Scored rows of the metrics, in the order of the models and their folds."""
    cells = {r.row.id: r.row.cells for r in row_readings()}
    return [row for model in registry() if model.metric in metrics for row in _of(model, cells)]


def _of(model: FittedModel, cells: dict[str, dict[str, str]]) -> list[Row]:
    given, kept = runs_of_model(model), calibration().of(model.name, model.kind)
    shipped = dict(zip((run.row_id for run in given), _values(model, given, kept), strict=True)) if given else {}
    return [
        Row(
            run.row_id,
            run.metric,
            run.table,
            run.group,
            run.measured,
            float(value),
            float(shipped[run.row_id]),
            run.case,
            cells[run.row_id],
        )
        for fold in fit.folds(model, given)
        for run, value in zip(fold.held, _values(model, fold.held, fold.coefficients), strict=True)
    ]


def _values(model: FittedModel, given: Sequence[MeasuredValue], coefficients: Any) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.broadcast_to(model.predict(stack_cases([run.case for run in given]), coefficients), len(given))


def seconds_per_1000(metrics: Sequence[str]) -> tuple[float, float]:
    """Best of RUNS: whole estimates one at a time, every term and interval made; the metrics of all rows at once, from their cases."""
    models = [model for model in registry() if model.metric in metrics and runs_of_model(model)]
    given = [(model, runs_of_model(model), calibration().of(model.name, model.kind)) for model in models]
    wanted = {run.row_id for _, held, _ in given for run in held}
    configs = [r.config for r in row_readings() if r.row.id in wanted and r.config and _answers(r.config)][:TIMED_ROWS]
    each = best(lambda: [estimate(config) for config in configs], RUNS) / max(len(configs), 1)
    return 1000 * each, 1000 * best(lambda: [_values(*one) for one in given], RUNS) / sum(len(held) for _, held, _ in given)


def _answers(config: Any) -> bool:
    try:
        estimate(config)
    except RackwrightError:
        return False
    return True


def search(text: str) -> tuple[float, float, int, str]:
    """Seconds of `size` the first time and the best of RUNS, catalog loaded; layouts looked at; the first of its plan in words."""
    spec, catalog = read(text), Catalog.default()
    start = time.perf_counter()
    plan = size(spec, catalog, today=TODAY)
    cold = time.perf_counter() - start
    seconds = best(lambda: size(spec, catalog, today=TODAY), RUNS)
    first = plan.fits[0].candidate if plan.fits else None
    found = f"{first.nodes} x {first.machine}, {first.replicas} replicas of tensor {first.parallelism.tensor}" if first else "nothing fits"
    return cold, seconds, plan.considered, found


def version() -> str:
    """Of the shipped coefficients."""
    return calibration().version
