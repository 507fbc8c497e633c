"""Errors by row and by cell, intervals, factors, confusion."""

import pytest
from rackwright.estimator.result import PredictionInterval
from scoring import Point, confusion, score, within, worst


def point(measured: float, predicted: float | None, cell: str = "a", spread: float = 1.2) -> Point:
    band = PredictionInterval(predicted / spread, predicted, predicted * spread, 9) if predicted else None
    return Point("t", "X", cell, measured, band)


def test_errors_are_shares_of_the_reading_and_cells_weigh_alike():
    s = score([point(100, 110, "a"), point(100, 110, "a"), point(100, 110, "a"), point(100, 50, "b")])
    assert s.mean == pytest.approx(0.2)
    assert s.median == pytest.approx(0.1)
    assert s.cell_mean == pytest.approx(0.3)
    assert (s.n, s.cells, s.coverage) == (4, 2, 1.0)


def test_a_missing_prediction_counts_as_100_percent_error():
    s = score([point(100, 100), point(100, None)])
    assert (s.mean, s.coverage) == (0.5, 0.5)


def test_intervals_are_compared_with_the_readings():
    s = score([point(100, 100), point(119, 100), point(121, 100), point(130, 100)])
    assert (s.held, s.exceeds, s.exceeds_much) == (0.5, 0.5, 0.25)
    assert s.width == pytest.approx(1.44)


def test_a_factor_counts_above_and_below():
    assert within([point(100, 149), point(100, 67), point(100, 151), point(100, 66), point(100, None)], 1.5) == pytest.approx(0.4)


def test_the_worst_cells_carry_most_of_the_error():
    found = worst([point(100, 150, "few"), *[point(100, 120, "many") for _ in range(9)]])
    assert [name for name, *_ in found] == ["many", "few"]


def test_confusion_counts_every_pair():
    counts = confusion([(True, True), (True, False), (False, False), (False, False)])
    assert counts == {(True, True): 1, (True, False): 1, (False, True): 0, (False, False): 2}
