"""The search finds the results of an exhaustive search, and its answers have the required properties."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rackwright.sizing.search.target import TargetArrays
from rackwright.sizing.search.training import training_estimates
from rackwright.sizing.search.training.branch_and_bound import LayoutTrials, SearchSpace, fastest_layouts

from tests.sizing.helpers import servers
from tests.sizing.jobs import ACCELERATORS, best, job, jobs, space, targets, with_memory, with_wires

SAME = 2e-6
"""Relative: what the search takes for equal, twice."""


def everything(s: SearchSpace, i: int) -> tuple[np.ndarray, np.ndarray]:
    """Seconds and bytes of every layout of target `i` with every recompute mode; inf for those that do not fit."""
    grid = s.machines.grid[i]
    rows = np.arange(s.layouts.starts[grid], s.layouts.starts[grid + 1])
    seconds, needs = [], []
    for code in s.job.recomputes:
        codes = np.full(len(rows), code)
        need = np.broadcast_to(s.memory(rows, codes).total, rows.shape)
        total = np.broadcast_to(s.step(LayoutTrials(np.full(len(rows), i), rows, codes)).total, rows.shape)
        seconds.append(np.where(need <= s.room_bytes[i], total, np.inf))
        needs.append(need)
    return np.concatenate(seconds), np.concatenate(needs)


@settings(max_examples=60, deadline=None)
@given(jobs, st.lists(targets, min_size=1, max_size=4))
def test_the_search_finds_the_result_of_an_exhaustive_search(j, several):
    s = space(j, TargetArrays.of(several))
    chosen, fits = fastest_layouts(s)
    reached = np.flatnonzero(chosen.row >= 0)
    found = chosen.take(reached)
    seconds_of = (
        dict(zip(reached.tolist(), np.broadcast_to(s.step(found).total, reached.shape).tolist(), strict=True)) if len(reached) else {}
    )
    for i in range(len(several)):
        seconds, needs = everything(s, i)
        assert bool(fits[i]) == bool(np.isfinite(seconds).any())
        assert (chosen.row[i] >= 0) == bool(len(needs))
        if fits[i]:
            assert seconds_of[i] == pytest.approx(seconds.min(), rel=SAME)
        elif len(needs):
            one = chosen.take(np.array([i]))
            assert float(s.memory(one.row, one.recompute).total[0]) == pytest.approx(needs.min())


@settings(max_examples=40, deadline=None)
@given(jobs, targets)
def test_no_step_is_faster_than_its_bound(j, target):
    """Condition for pruning."""
    s = space(j, TargetArrays.of([target]))
    rows = np.arange(len(s.layouts))
    for code in (0, 1, 2):
        tries = LayoutTrials(np.zeros(len(rows), dtype=int), rows, np.full(len(rows), code))
        assert np.all(s.bound_s(tries) <= s.step(tries).total * (1 + 1e-9))


@settings(max_examples=40, deadline=None)
@given(jobs, targets)
def test_sharing_the_optimizer_is_never_slower_or_larger(j, target):
    """Reason why the search skips stage 0 with more than one replica."""
    plain = replace(j, pins=replace(j.pins, zero=0, pipeline=1))
    s = space(plain, TargetArrays.of([target]))
    rows, none = np.arange(len(s.layouts)), np.zeros(len(s.layouts), dtype=int)
    shared = replace(s, layouts=replace(s.layouts, zero_stage=np.ones(len(rows))))
    tries = LayoutTrials(none, rows, none)
    assert np.all(shared.memory(rows, none).total <= s.memory(rows, none).total * (1 + 1e-9))
    assert np.all(shared.step(tries).total <= s.step(tries).total * (1 + 1e-9))


@settings(max_examples=20, deadline=None)
@given(jobs, targets)
def test_selective_recompute_equals_none(j, target):
    """Reason why it is not searched: with FlashAttention, selective recompute has no effect in the assumed trainers."""
    s = space(j, TargetArrays.of([target]))
    rows, none = np.arange(len(s.layouts)), np.zeros(len(s.layouts), dtype=int)
    for one, other in (
        (s.memory(rows, none), s.memory(rows, none + 1)),
        (s.step(LayoutTrials(none, rows, none)), s.step(LayoutTrials(none, rows, none + 1))),
    ):
        assert np.broadcast_to(one.total, rows.shape) == pytest.approx(np.broadcast_to(other.total, rows.shape))


def test_pruning_leaves_most_out(monkeypatch):
    """A bound that never prunes would be useless."""
    timed, step = [], training_estimates.step_terms
    monkeypatch.setattr(training_estimates, "step_terms", lambda j, case, c: timed.append(np.size(case.recompute)) or step(j, case, c))
    found = best(job("deepseek-v3", 1024), *(servers(n) for n in (64, 128, 256)))
    assert sum(timed) < sum(o.points for o in found) / 4


@settings(max_examples=30, deadline=None)
@given(jobs, st.lists(targets, min_size=2, max_size=4), st.randoms())
def test_targets_do_not_affect_each_other(j, several, random):
    """Order and number of machines change no result."""
    shuffled = list(enumerate(several))
    random.shuffle(shuffled)
    found = best(j, *(t for _, t in shuffled))
    alone = [best(j, t)[0] for t in several]
    for (i, _), outcome in zip(shuffled, found, strict=True):
        assert outcome.parallelism == alone[i].parallelism
        assert outcome.work_s == pytest.approx(alone[i].work_s)
        assert outcome.rejections == alone[i].rejections


@settings(max_examples=40, deadline=None)
@given(jobs, targets, st.sampled_from(["scale_up_bytes_per_s", "scale_out_bytes_per_s"]), st.floats(1.0, 8.0))
def test_more_bandwidth_never_slows_a_step(j, target, wire, factor):
    slow, fast = best(j, target, with_wires(target, **{wire: getattr(target.wires, wire) * factor}))
    assert fast.work_s is None or fast.work_s <= slow.work_s * (1 + SAME)


@settings(max_examples=40, deadline=None)
@given(jobs, targets)
def test_more_memory_never_loses_a_fit_or_time(j, target):
    by_memory = best(j, *(with_memory(target, f) for f in (0.5, 1.0, 2.0, 8.0)))
    for small, large in pairwise(by_memory):
        assert small.rejections or (not large.rejections and large.work_s <= small.work_s * (1 + SAME))


@settings(max_examples=30, deadline=None)
@given(jobs, st.sampled_from(ACCELERATORS))
def test_one_accelerator_sends_nothing(j, name):
    (found,) = best(j, servers(1, name, per_node=1))
    assert not found.speed.communication_s
    assert not found.speed.bubble_s


def test_more_replicas_at_the_same_batch_keep_the_tokens():
    steps = [o.speed for o in best(job("llama-3.1-8b", 512), *(servers(n) for n in (4, 8, 16)))]
    assert [s.tokens_per_s * s.step_s for s in steps] == pytest.approx([512 * 4096] * 3)


@settings(max_examples=30, deadline=None)
@given(jobs, targets)
def test_spreads_are_in_order_and_wide_without_runs(j, target):
    (found,) = best(j, target)
    assert found.band.low <= 1 <= found.band.high
    if found.work_s and not found.band.runs:
        assert found.evidence == "prior only"
        assert found.band.high >= 2 <= 1 / found.band.low
