"""Noise floors: runs that are equal in every input of the formulas."""

from dataclasses import dataclass, replace

import floors
import pytest
from rackwright.estimator.dataset.runs import MeasuredValue


@dataclass(frozen=True)
class Inputs:
    tokens: float
    released: float = 0.0


def run(row_id: str, measured: float, tokens: float = 4.0, released: float = 0.0) -> MeasuredValue:
    return MeasuredValue("training_throughput", row_id, "rate", measured, Inputs(tokens, released), "cell", "g", "A", "F", "tokens/s dense")


def test_equal_inputs_form_a_set_whatever_their_release():
    given = [run("A", 10.0, released=2025.5), run("B", 20.0, released=2026.0), run("C", 30.0, tokens=8.0)]
    (found,) = floors.equal_runs(given)
    assert [r.row_id for r in found.runs] == ["A", "B"]
    assert found.spread == 2.0


def test_the_floor_is_the_error_of_the_best_single_prediction():
    (found,) = floors.equal_runs([run("A", 10.0), run("B", 20.0)])
    assert found.floor == pytest.approx(0.25)  # 10 for both: exact, and half of 20
    (three,) = floors.equal_runs([run("A", 10.0), run("B", 10.0), run("C", 10.0)])
    assert three.floor == 0.0


def test_runs_of_two_tables_are_no_set():
    other = replace(run("B", 20.0), table="tokens/s MoE")
    assert floors.equal_runs([run("A", 10.0), other]) == []
