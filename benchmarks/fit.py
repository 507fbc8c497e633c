"""Fits the coefficients of the estimator to the measured rows and writes data/coefficients.json, the same bytes from the same rows.

    python benchmarks/fit.py            every model
    python benchmarks/fit.py step kv    these alone; the others keep what the file says

Least squares on log(predicted / measured) with a soft loss, bounds, and a pull of every coefficient towards its prior; each
engine x hardware cell weighs as much as its square root of rows. Intervals come from residuals of folds the fit had not seen.
"""

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import asdict, dataclass
from operator import attrgetter
from typing import Any

import numpy as np
from rackwright.estimator.calibration.coefficients import FILE, MAX_COEFFICIENTS, FittedModel, ResidualQuantiles, bounds, fitted_fields
from rackwright.estimator.calibration.registry import registry
from rackwright.estimator.case import stack_cases
from rackwright.estimator.dataset.runs import DATA, MeasuredValue, runs_of_model
from rackwright.files import write_text
from scipy.optimize import least_squares

FOLDS = 5
INDEPENDENT_CELLS = 5
"""Cells from which the spread between cells is known."""
LEAST_WIDTH = 1.7
"""Least p90 over p10 of fewer cells: what cells of the other classes spread."""
LEAST_RUNS = 8
"""Of a class, before it has quantiles of its own."""
DIGITS = 4
WHOLE = ("family", "accelerator", "engine")
"""Labels left out one by one, not in FOLDS bins."""
JUDGED_BY = ("group", *WHOLE)
"""Folds whose residuals make the intervals: runs of known systems, and of families, accelerators and engines never seen."""
SHARES = (0.075, 0.5, 0.925)
"""Of residuals outside the fit, taken for p10, p50, p90. With 0.10 and 0.90 of them an interval, judged on folds that it did not come
from either, holds 70 to 85 % of the readings of most tables and 66 % of TPOT under an engine never seen; with these 78 to 89 %."""
MEMORY_SHARES = (0.15, 0.5, 0.93)
"""Of peak memory: the pessimistic side decides what fits, the other one has to stay near."""


@dataclass(frozen=True)
class Fold:
    """Coefficients and what they are judged on."""

    coefficients: Any
    held: Sequence[MeasuredValue]


def fit(model: FittedModel, given: Sequence[MeasuredValue], start: Any = None) -> Any:
    """Return the coefficients that fit `given`, rounded to DIGITS significant digits; the priors where there is nothing to fit.

    start: coefficients from which the search starts, in folds those of all runs; None: the priors.
    """
    if not given:
        return model.kind()
    prior, low, high, spread = bounds(model.kind)
    spread = spread * model.prior_spread_scale
    case = stack_cases([run.case for run in given])
    measured = np.log([run.measured for run in given])
    weights = _weights(given)

    def residuals(x: np.ndarray) -> np.ndarray:
        missed = (np.log(model.predict(case, _named(model, x))) - measured) / model.loss_scale
        soft = np.sqrt(2 * (np.sqrt(1 + missed**2) - 1)) * np.sign(missed)
        return np.concatenate([soft * weights, (x - prior) / spread])

    first = prior if start is None else np.array([getattr(start, f.name) for f in fitted_fields(model.kind)])
    found = least_squares(residuals, np.clip(first, low, high), bounds=(low, high + 1e-12), x_scale=spread, max_nfev=200)
    return _named(model, np.clip(_rounded(found.x), low, high))


def folds(model: FittedModel, given: Sequence[MeasuredValue], key: str | Callable[[MeasuredValue], str] = "group") -> list[Fold]:
    """Refits that each leave out a fifth of the groups (or of what a function of the run names), or one value of a label of WHOLE.

    A refit starts from the coefficients of all runs. From the priors, some stopped in a minimum with a higher loss of the same runs.
    """
    label = engine if key == "engine" else attrgetter(key) if isinstance(key, str) else key
    bins = [label(run) if key in WHOLE else _fold(label(run)) for run in given]
    whole, made = fit(model, given), []
    for held in sorted(set(bins)):
        rest = [run for run, b in zip(given, bins, strict=True) if b != held]
        made.append(Fold(fit(model, rest, whole), [run for run, b in zip(given, bins, strict=True) if b == held]))
    return made


def judged_keys(given: Sequence[MeasuredValue]) -> list[str]:
    """Return the labels whose folds make the intervals. Runs of one engine alone do not predict another."""
    return [key for key in JUDGED_BY if key != "engine" or len(set(map(engine, given))) > 1]


def judged(model: FittedModel, given: Sequence[MeasuredValue]) -> list[Fold]:
    """Return every fold that makes the intervals."""
    return [fold for key in judged_keys(given) for fold in folds(model, given, key)]


def engine(run: MeasuredValue) -> str:
    """Family of the trainer or server."""
    return str(getattr(run.case, "step", run.case).engine)


@dataclass(frozen=True)
class FoldRatio:
    """measured / predicted of one run in one fold that had not seen it, with the residual classes of the run."""

    row_id: str
    cell: str
    classes: tuple[str, ...]
    ratio: float


def ratios(model: FittedModel, made: Sequence[Fold]) -> list[FoldRatio]:
    """Return one ratio for each run of each fold."""
    found = []
    for fold in made:
        if fold.held:
            predicted = np.broadcast_to(model.predict(stack_cases([run.case for run in fold.held]), fold.coefficients), len(fold.held))
            found += [
                FoldRatio(run.row_id, run.cell, model.classes(run.case), run.measured / float(value))
                for run, value in zip(fold.held, predicted, strict=True)
            ]
    return found


def residuals(model: FittedModel, found: Sequence[FoldRatio], without: Container[str] = ()) -> dict[str, ResidualQuantiles]:
    """Return, by class, the runs and p10, p50, p90 of measured / predicted outside the fit. without: rows that are left out."""
    by_class: dict[str, dict[str, tuple[str, list[float]]]] = {}
    shares = MEMORY_SHARES if model.metric == "peak_memory_gib" else SHARES
    for each in found:
        for name in each.classes if each.row_id not in without else ():
            by_class.setdefault(name, {}).setdefault(each.row_id, (each.cell, []))[1].append(each.ratio)
    return {name: _quantiles(by_run, shares) for name, by_run in sorted(by_class.items()) if len(by_run) >= LEAST_RUNS or name == "all"}


def document(models: Sequence[FittedModel], kept: dict[str, Any]) -> dict[str, Any]:
    """What goes into the file."""
    sections = dict(kept.get("models", {}))
    for model in models:
        given = runs_of_model(model)
        sections[model.name] = {
            "metric": model.metric,
            "runs": len(given),
            "kin": sorted({_kin(run.case) for run in given}),
            "coefficients": _described(model, fit(model, given)),
            "residuals": {name: asdict(r) for name, r in residuals(model, ratios(model, judged(model, given))).items()},
        }
    used = sum(len(section["coefficients"]) for section in sections.values())
    if used > MAX_COEFFICIENTS:
        raise SystemExit(f"{used} coefficients; at most {MAX_COEFFICIENTS} may be fitted")
    sources = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(DATA.glob("*.csv"))}
    digest = hashlib.sha256(json.dumps([sections, sources], sort_keys=True).encode()).hexdigest()
    return {"version": f"fit-{digest[:12]}", "coefficients": used, "sources": sources, "models": dict(sorted(sections.items()))}


def main(wanted: Sequence[str]) -> None:
    known = registry()
    if strange := set(wanted) - {model.name for model in known}:
        raise SystemExit(f"no model {', '.join(sorted(strange))}; known: {', '.join(model.name for model in known)}")
    chosen = [model for model in known if not wanted or model.name in wanted]
    names = {model.name for model in known}
    kept = json.loads(FILE.read_text()) if wanted and FILE.exists() else {}
    kept = {"models": {name: section for name, section in kept.get("models", {}).items() if name in names}}
    write_text(FILE, json.dumps(document(chosen, kept), indent=1) + "\n")


def _named(model: FittedModel, x: np.ndarray) -> Any:
    return model.kind(**{f.name: float(v) for f, v in zip(fitted_fields(model.kind), x, strict=True)})


def _rounded(x: np.ndarray) -> np.ndarray:
    return np.array([float(f"{v:.{DIGITS}g}") for v in x])


def _weights(given: Sequence[MeasuredValue]) -> np.ndarray:
    cells = [run.cell for run in given]
    return np.array([cells.count(cell) ** -0.25 for cell in cells])


def _kin(case: Any) -> str:
    return str(getattr(case, "step", case).chip.evidence_group)


def _fold(label: str) -> int:
    return int(hashlib.sha256(label.encode()).hexdigest(), 16) % FOLDS


def _quantiles(by_run: Mapping[str, tuple[str, Sequence[float]]], shares: Sequence[float]) -> ResidualQuantiles:
    """Quantiles in which every cell weighs the same, and the runs of a cell share its weight."""
    cells = [cell for cell, ratios in by_run.values() for _ in ratios]
    ratios = np.array([value for _, found in by_run.values() for value in found])
    size = Counter(cells)
    weights = np.array([1 / size[cell] for cell in cells])
    low, middle, high = _weighted_quantiles(ratios, weights, shares)
    if len(size) < INDEPENDENT_CELLS and high / low < LEAST_WIDTH:
        low, high = (value * (LEAST_WIDTH / (high / low)) ** (side / 2) for value, side in ((low, -1), (high, 1)))
    return ResidualQuantiles(len(by_run), *(float(f"{v:.{DIGITS}g}") for v in (low, middle, high)))


def _weighted_quantiles(values: np.ndarray, weights: np.ndarray, shares: Sequence[float]) -> np.ndarray:
    order = np.argsort(values)
    place = np.cumsum(weights[order]) - weights[order] / 2
    return np.interp(np.asarray(shares) * weights.sum(), place, values[order])


def _described(model: FittedModel, k: Any) -> dict[str, Any]:
    return {
        f.name: {"value": getattr(k, f.name), "prior": f.default, "low": f.metadata["low"], "high": f.metadata["high"],
                 "unit": f.metadata["unit"], "says": f.metadata["description"]}
        for f in fitted_fields(model.kind)
    }  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
