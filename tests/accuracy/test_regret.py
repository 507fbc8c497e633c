"""The cost of a choice by predictions is within its target on groups outside the fit."""

from functools import cache
from types import SimpleNamespace

import pytest
import regret
from rackwright.estimator.dataset.runs import MeasuredValue, scored_runs


def run(row: str, rate: float, group: str = "g", sequence: int = 4096) -> MeasuredValue:
    case = SimpleNamespace(sequence=sequence)
    return MeasuredValue("training_throughput", row, "tokens_per_s_per_accel", rate, case, "cell", group, "H100", "llama")


def test_regret_is_best_over_chosen():
    (made,) = regret.choices([run("a", 100), run("b", 80), run("c", 50)], {"a": 1, "b": 2, "c": 1})
    assert (made.chosen, made.best, made.runs) == ("b", "a", 3)
    assert made.regret == pytest.approx(100 / 80 - 1)
    assert made.median == pytest.approx(100 / 80 - 1)
    assert made.chance == pytest.approx((0 + 0.25 + 1) / 3)


def test_choosing_the_best_has_no_regret():
    assert regret.choices([run("a", 100), run("b", 80)], {"a": 9, "b": 8})[0].regret == 0


def test_runs_predicted_alike_share_the_regret():
    assert regret.choices([run("a", 100), run("b", 50)], {"a": 7, "b": 7})[0].regret == pytest.approx(0.5)


def test_choices_need_equal_work_one_group_and_two_runs():
    held = [run("a", 100), run("b", 80, sequence=8192), run("c", 50, group="h")]
    assert regret.choices(held, {}) == []
    assert len(regret.choices(held, {}, whole_groups=True)) == 1


def test_a_run_without_a_prediction_is_never_chosen():
    assert regret.choices([run("a", 100), run("b", 50)], {"b": 1.0})[0].chosen == "b"


def test_order_of_runs_changes_nothing():
    held = [run(f"r{i}", 100 + i % 7, f"g{i % 3}") for i in range(20)]
    said = {r.row_id: r.measured for r in held}
    assert regret.choices(held, said) == regret.choices(held[::-1], said)


@cache
def folded(name: str) -> list[regret.Choice]:
    metric, csv = next((m, f) for n, m, f in regret.ASKED if n == name)
    return regret.choices([r for r in scored_runs(metric) if r.csv == csv and not regret._online(r)], regret.unseen(metric, csv))


@pytest.mark.parametrize("name", ["training", "offline serving"])
def test_regret_in_unseen_groups_meets_the_target(name):
    made = folded(name)
    assert len(made) > 50
    assert sum(c.regret for c in made) / len(made) <= regret.MEAN_TARGET
    assert sum(c.regret > regret.MUCH for c in made) / len(made) <= regret.MUCH_TARGET
    assert sum(c.regret for c in made) < sum(c.median for c in made) / 3, "choosing blindly costs several times that"


def test_the_tables_list_the_sets_with_the_largest_regret():
    given = [r for _, metric, csv in regret.ASKED for r in scored_runs(metric) if r.csv == csv]
    said = regret.tables({r.row_id: r.measured for r in given})
    assert "| training | " in said
    assert "| 0.0 | 4.0 | 0.0 | 15.0 |" in said, "who predicts what was measured regrets nothing"
