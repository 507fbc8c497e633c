"""The fit: deterministic, few coefficients, none for a publisher or a model."""

import json
import re
from dataclasses import fields, replace

import fit
import numpy as np
import pytest
from rackwright.estimator.calibration.coefficients import MAX_COEFFICIENTS, bounds, fitted_fields
from rackwright.estimator.calibration.registry import registry
from rackwright.estimator.dataset.columns.architecture import FAMILIES
from rackwright.estimator.dataset.runs import DATA, row_readings, runs_of_model

SMALL = next(m for m in registry() if m.name == "tpu_step")


def test_the_same_rows_make_the_same_bytes():
    once, again = (json.dumps(fit.document([SMALL], {}), indent=1) for _ in range(2))
    assert once == again


def test_an_interrupted_fit_does_not_change_the_file(tmp_path, monkeypatch):
    file = tmp_path / "coefficients.json"
    file.write_text('{"models": {}}')
    monkeypatch.setattr(fit, "FILE", file)
    monkeypatch.setattr(fit, "document", lambda *_: {"not": object()})
    with pytest.raises(TypeError):
        fit.main([])
    with pytest.raises(SystemExit, match="no model foo"):
        fit.main(["foo"])
    assert file.read_text() == '{"models": {}}'
    assert list(tmp_path.iterdir()) == [file]


def test_every_source_has_its_digest():
    assert set(fit.document([SMALL], {})["sources"]) == {path.name for path in DATA.glob("*.csv")}


def test_coefficients_stay_few():
    assert sum(len(fitted_fields(model.kind)) for model in registry()) <= MAX_COEFFICIENTS


def test_no_coefficient_belongs_to_a_publisher_or_a_model():
    publishers = {word for r in row_readings() for word in re.findall(r"[a-z]{4,}", r.row.lower("publisher"))}
    engines = {"megatron", "deepspeed", "torchtitan", "torchtune", "vllm"}
    words = {"team", "test", "user", "training", "framework", "core", "tensor", "loop", "vector"}
    words |= {"compute", "stage", "inference", "neuron", "transformer"}  # parts of names such as Massed Compute, and kinds of work or chip
    banned = (publishers | set(FAMILIES) - {"opt", "phi"}) - engines - words
    names = {f.name for model in registry() for f in fitted_fields(model.kind)}
    assert not {name for name in names if banned & set(name.split("_"))}


@pytest.mark.parametrize("model", registry(), ids=lambda m: m.name)
def test_priors_lie_within_their_bounds(model):
    prior, low, high, spread = bounds(model.kind)
    assert (low <= prior).all()
    assert (prior <= high).all()
    assert (spread > 0).all()


def test_a_fold_never_fits_its_own_rows():
    given = runs_of_model(SMALL)
    for key in ("group", "family", "accelerator"):
        made = fit.folds(SMALL, given, key)
        assert sorted(run.row_id for fold in made for run in fold.held) == sorted(run.row_id for run in given)
        held = [{getattr(run, key) for run in fold.held} for fold in made]
        assert sum(map(len, held)) == len(set().union(*held))


def assert_equal_fit(fold, alone) -> None:
    """A fold starts from the coefficients of all runs and ends where a fit of its own rows from the priors ends."""
    assert [getattr(fold, f.name) for f in fitted_fields(type(fold))] == pytest.approx(
        [getattr(alone, f.name) for f in fitted_fields(type(alone))], rel=0.02, abs=0.01
    )


def test_a_fold_is_a_fit_of_the_other_rows():
    given = runs_of_model(SMALL)
    for fold in fit.folds(SMALL, given, "family"):
        held = {run.row_id for run in fold.held}
        assert_equal_fit(fold.coefficients, fit.fit(SMALL, [run for run in given if run.row_id not in held]))


def test_without_runs_the_coefficients_are_priors():
    assert fit.fit(SMALL, []) == SMALL.kind()


def test_a_fit_has_a_smaller_error_than_its_priors():
    given = runs_of_model(SMALL)
    case = fit.stack_cases([run.case for run in given])
    value = np.log([run.measured for run in given])
    missed = [np.abs(np.log(SMALL.predict(case, k)) - value).mean() for k in (SMALL.kind(), fit.fit(SMALL, given))]
    assert missed[1] < missed[0]


def test_an_engine_fold_leaves_out_the_whole_engine():
    model = next(m for m in registry() if m.name == "memory")
    given = runs_of_model(model)
    for fold in fit.folds(model, given, "engine"):
        assert len({fit.engine(run) for run in fold.held}) == 1
        held = {run.row_id for run in fold.held}
        assert_equal_fit(fold.coefficients, fit.fit(model, [run for run in given if run.row_id not in held]))


def test_one_engine_gives_no_engine_folds():
    given = runs_of_model(SMALL)
    assert len({fit.engine(run) for run in given}) == 1
    assert all(fold.coefficients != SMALL.kind() for fold in fit.judged(SMALL, given))


def test_narrower_priors_keep_coefficients_closer():
    prior, *_ = bounds(SMALL.kind)

    def moved(prior_spread_scale: float) -> float:
        found = fit.fit(replace(SMALL, prior_spread_scale=prior_spread_scale), runs_of_model(SMALL))
        return float(np.abs(np.log(np.array([getattr(found, f.name) for f in fields(SMALL.kind)]) / prior)).sum())

    assert moved(0.2) < 0.5 * moved(1.0)


def test_every_cell_weighs_the_same_in_an_interval():
    """A hundred runs of one cell near 1 once hid the other cells."""
    by_run = {f"big{i}": ("big", [1.0 + i / 1e4]) for i in range(100)} | {f"small{i}": (f"cell{i}", [0.5 + i / 6]) for i in range(6)}
    found = fit._quantiles(by_run, fit.SHARES)
    assert (found.n, found.p10 < 0.6, found.p90 > 1.3) == (106, True, True)


def test_fewer_than_five_cells_have_a_least_width():
    few = {f"run{i}": (f"cell{i % 4}", [1.0 + i / 1e4]) for i in range(40)}
    many = {f"run{i}": (f"cell{i % 5}", [1.0 + i / 1e4]) for i in range(40)}
    narrow, wide = (fit._quantiles(runs, fit.SHARES) for runs in (many, few))
    assert narrow.p90 / narrow.p10 < 1.01
    assert wide.p90 / wide.p10 == pytest.approx(1.7, rel=1e-3)
