"""Fits whose objective differs by less than the uncertainty of the estimate: the owned, cheaper or smaller one ranks first."""

from dataclasses import replace

import pytest
from rackwright.sizing.metrics import Interval
from rackwright.sizing.plan import Fit, Transfer
from rackwright.sizing.selection.near_ties import MAX_TIE, beaten_by, near_ties
from rackwright.sizing.selection.ranking import identity, ranked
from rackwright.wording.rationale import rationale

from tests.sizing.helpers import AWS, finetune, lora, plan

ONE = (0, 0)


def fit(usd: float, hours: float, machine: str = "a", nodes: int = 1, each: int = 8, band: float = 1.5, **more) -> Fit:
    first = lora().chosen
    c = replace(first.candidate, machine=machine, nodes=nodes, accelerators_per_node=each, **more)
    seconds, cost = hours * 3600, Interval(usd / band, usd, usd * band)
    return replace(
        first, candidate=c, cost_usd=cost, usd_per_hour=usd / hours, duration_s=Interval(seconds / band, seconds, seconds * band)
    )


def names(fits: list[Fit], optimize_for: str) -> str:
    """Machines in the order of their rank."""
    order = {identity(f.candidate): ONE for f in fits}
    return "".join(f.candidate.machine for f in ranked(fits, order, optimize_for, vertical_first=True))


def test_of_equally_fast_fits_the_cheaper_ranks_first():
    assert names([fit(1155, 1.00), fit(465, 1.01, "b"), fit(100, 1.5, "c")], "time") == "bac"


def test_of_equally_cheap_fits_the_smaller_ranks_first():
    assert names([fit(100, 1, "a", 8), fit(104, 1, "b", 4), fit(130, 0.9, "c", 2)], "cost") == "bac"


def test_a_much_slower_fit_is_not_equal_because_its_cost_is():
    assert names([fit(100, 1, "a", 8), fit(101, 10, "b", 4)], "cost") == "ab"


def test_reserved_machines_rank_before_equal_ones():
    reserved = fit(103, 1, "b", 8, capacity_id="cr-0123456789abcdef0")
    assert names([fit(100, 1, "a", 8), reserved], "cost") == "ba"
    assert names([fit(100, 1, "a", 8), reserved], "time") == "ba"


def test_a_precise_estimate_tells_close_fits_apart():
    assert names([fit(1000, 1.00, band=1.01), fit(400, 1.02, "b", band=1.01)], "time") == "ab"
    assert names([fit(100, 1, "a", 8, band=1.0), fit(100.1, 1, "b", 4, band=1.0)], "cost") == "ab"


@pytest.mark.parametrize("band", [1.05, 1.2, 2.0])
def test_no_tie_is_wider_than_the_estimate_or_the_limit(band):
    best = fit(1000, 1.0, band=band)
    for late in (1.01, 1.03, 1.08, 1.12, 1.5):
        tied = bool(near_ties([best, fit(1, late, "b")], "time"))
        assert not tied or late - 1 <= min(band - 1, MAX_TIE)
    assert near_ties([best, fit(1, 1.01, "b")], "time")


def test_transfers_count_in_the_cost_of_a_tie():
    moved = (Transfer("data", "aws us-west-2", "aws us-east-1", 1862.6, 0.02),)
    away = replace(fit(99, 1, "a", 1), transfers=moved)
    assert names([away, fit(100, 1, "b"), fit(103, 1, "c")], "cost") == "bca"
    assert near_ties([away, fit(100, 1, "b")], "cost") == ()
    assert names([replace(fit(99, 1, "a"), transfers=moved), fit(100, 1.01, "b")], "time") == "ba"


def test_one_machine_ranks_before_several_of_equal_cost():
    assert names([fit(100, 1, "a", 2), fit(106, 1, "b", 1)], "cost") == "ba"


def test_a_fit_that_is_better_beyond_the_uncertainty_is_no_tie():
    assert beaten_by(fit(400, 1.05), [fit(1000, 1.0, "b")], "time")
    assert beaten_by(fit(400, 1.5), [fit(1000, 1.0, "b")], "time") is None
    assert beaten_by(fit(400, 1.0), [fit(1000, 1.05, "b")], "time") is None


def test_the_rationale_states_the_p80_that_decided_beside_the_p50():
    p = plan(finetune(), AWS, goals="{optimize_for: time}")
    better = p.near_tie
    assert better
    assert better.time_s < p.chosen.time_s <= (1 + MAX_TIE) * better.time_s
    assert p.chosen.cost_usd.p50 < better.cost_usd.p50
    said = rationale(p)
    assert "(p80 " in said
    assert "as fast within the uncertainty, so the cheaper one ranks first." in said
    assert "does not depend on a network" not in said, "one machine does not rank first where time decides"
