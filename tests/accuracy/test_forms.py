"""Forms chosen inside the folds: the choice never sees the rows that it is judged on."""

from dataclasses import dataclass

import forms
import numpy as np
import pytest
from rackwright.estimator.calibration.coefficients import FittedModel, fitted
from rackwright.estimator.calibration.registry import registry
from rackwright.estimator.dataset.runs import MeasuredValue


@dataclass(frozen=True)
class Size:
    size: float


@dataclass(frozen=True)
class Power:
    scale: float = fitted(2.0, 0.1, 10.0, "of the size")
    exponent = 1.0


MODEL = FittedModel(
    "power", metric="rate", csv=("x",), kind=Power, predict=lambda case, k: k.scale * case.size**k.exponent,
    classes=lambda case: ("all",), applies=lambda case: True,
)  # fmt: skip


def runs(exponent: float) -> list[MeasuredValue]:
    sizes = np.geomspace(1.0, 100.0, 40)
    return [
        MeasuredValue("x", f"R{i}", "rate", float(2 * size**exponent), Size(float(size)), "cell", f"group {i}", "A", "F", "rates")
        for i, size in enumerate(sizes)
    ]


FORMS = {name: forms.form(MODEL, {"exponent": value}) for name, value in (("linear", 1.0), ("root", 0.5))}


@pytest.mark.parametrize(("exponent", "best"), [(1.0, "linear"), (0.5, "root")])
def test_every_fold_chooses_the_form_of_its_training_rows(exponent, best):
    nested = forms.nested_folds(FORMS, runs(exponent), ("rates",))
    assert {fold.form for fold in nested} == {best}
    assert sum(len(fold.held) for fold in nested) == 40
    found = [pair for fold in nested for pair in zip(fold.held, fold.predicted, strict=True)]
    assert forms.errors(found, "rates") == pytest.approx(0.0, abs=1e-2)


def test_the_choice_does_not_see_the_rows_that_it_is_judged_on(monkeypatch):
    seen: list[set[str]] = []
    monkeypatch.setattr(forms, "choose", lambda forms, given, tables: seen.append({run.row_id for run in given}) or "root")
    nested = forms.nested_folds(FORMS, runs(0.5), ("rates",))
    assert all(not chosen_on & {run.row_id for run in fold.held} for chosen_on, fold in zip(seen, nested, strict=True))


def test_declared_forms_are_constants_of_their_models():
    kinds = {model.name: model.kind for model in registry()}
    for model, named in forms.FORMS.items():
        for constants in named.values():
            assert all(hasattr(kinds[model], name) for name in constants)
