"""Forms of the models chosen inside the folds: each outer fold picks, on its training rows alone, the form with the least error.

    python benchmarks/forms.py [MODEL ...]      the choice of every outer fold, and its error beside those of each form on all rows

A form is a model whose constants have other values. Nested folds judge the choice as well as the fit, so their error is a clean test of
both; the error of the best form on all rows is not, because the same folds chose it.
"""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean
from typing import Any

import fit
import numpy as np
from rackwright.estimator.calibration.coefficients import FittedModel
from rackwright.estimator.calibration.registry import registry
from rackwright.estimator.case import stack_cases
from rackwright.estimator.dataset.runs import MeasuredValue, runs_of_model
from tables import table

FORMS: Mapping[str, Mapping[str, Mapping[str, float]]] = {
    "step": {
        "as before": {"attention_gain_kept": 0.0, "fp4_cast_passes": 1.0},
        "Blackwell Ultra attention": {"attention_gain_kept": 1.0, "fp4_cast_passes": 1.0},
        "and 3 passes of FP4 casts": {"attention_gain_kept": 1.0, "fp4_cast_passes": 3.0},
    },
}
"""Model -> name of a form -> constants of its coefficients."""
JUDGED_TABLES = {"step": ("tokens/s MoE", "tokens/s dense")}
"""Tables whose mean error, equally weighted, decides."""
LEGEND = (
    "Each outer fold chooses, on its training rows alone, among the forms of benchmarks/forms.py; nested folds judge the choice too. The "
    "forms of all other models, and of all other terms of the step, were chosen with grouped folds of all rows, so their grouped folds are "
    "no clean test of the form."
)
HEAD = ("model", "table", "n", "nested folds", "best form on all rows", "form of each fold")


@dataclass(frozen=True)
class NestedFold:
    """One outer fold. form: chosen on its training rows; predicted: of `held`, by that form."""

    form: str
    held: Sequence[MeasuredValue]
    predicted: np.ndarray


def form(model: FittedModel, constants: Mapping[str, float]) -> FittedModel:
    """Return the model with other constants: class attributes of its coefficients that are not fitted."""
    return replace(model, kind=type(model.kind.__name__, (model.kind,), dict(constants)))


def choose(forms: Mapping[str, FittedModel], given: Sequence[MeasuredValue], tables: Sequence[str]) -> str:
    """Return the name of the form with the least mean error of grouped folds of `given`; the first of equals."""
    return min(forms, key=lambda name: grouped_error(forms[name], given, tables))


def grouped_error(model: FittedModel, given: Sequence[MeasuredValue], tables: Sequence[str]) -> float:
    """Return the mean over tables of the mean absolute error, as a share, in grouped folds of `given`."""
    found = [
        pair for fold in fit.folds(model, given) for pair in zip(fold.held, _predicted(model, fold.coefficients, fold.held), strict=True)
    ]
    return mean(errors(found, table) for table in tables)


def errors(found: Sequence[tuple[MeasuredValue, float]], table: str) -> float:
    """Return the mean absolute error, as a share, of (run, prediction) of one table; 0 without runs."""
    return mean([abs(value / run.measured - 1) for run, value in found if run.table == table] or [0.0])


def nested_folds(forms: Mapping[str, FittedModel], given: Sequence[MeasuredValue], tables: Sequence[str]) -> list[NestedFold]:
    """Return one fold for each fifth of the groups, with the form that its training rows choose."""
    made = []
    first = next(iter(forms.values()))
    for outer in fit.folds(first, given):
        held = {run.row_id for run in outer.held}
        rest = [run for run in given if run.row_id not in held]
        name = choose(forms, rest, tables)
        made.append(NestedFold(name, outer.held, _predicted(forms[name], fit.fit(forms[name], rest), outer.held)))
    return made


def _folded(model: FittedModel, given: Sequence[MeasuredValue]) -> list[tuple[MeasuredValue, float]]:
    """Return (run, prediction) of grouped folds."""
    made = fit.folds(model, given)
    return [pair for fold in made for pair in zip(fold.held, _predicted(model, fold.coefficients, fold.held), strict=True)]


def _predicted(model: FittedModel, coefficients: Any, runs: Sequence[MeasuredValue]) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.broadcast_to(model.predict(stack_cases([run.case for run in runs]), coefficients), len(runs))


def page(names: Sequence[str] = ()) -> str:
    """Return the table of docs/accuracy.md. names: models; none: all of FORMS."""
    rows = []
    for model in (m for m in registry() if m.name in (names or FORMS)):
        forms = {name: form(model, constants) for name, constants in FORMS[model.name].items()}
        given, tables = runs_of_model(model), JUDGED_TABLES[model.name]
        nested = nested_folds(forms, given, tables)
        found = [pair for fold in nested for pair in zip(fold.held, fold.predicted, strict=True)]
        best = forms[choose(forms, given, tables)]
        on_all = _folded(best, given)
        chosen = ", ".join(f"{name} {n}" for name, n in Counter(fold.form for fold in nested).most_common())
        for name in tables:
            n = sum(run.table == name for run, _ in found)
            rows.append((model.name, name, str(n), f"{100 * errors(found, name):.1f}", f"{100 * errors(on_all, name):.1f}", chosen))
    return table(HEAD, rows)


if __name__ == "__main__":
    print(page(sys.argv[1:]))
