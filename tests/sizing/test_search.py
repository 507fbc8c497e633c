"""The search finds what trying everything finds, and obeys the laws of its answers."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rackwright.estimate import flops
from rackwright.sizing import formulas
from rackwright.sizing.assumptions import DEFAULT
from rackwright.sizing.fastest import case_of, fastest
from rackwright.sizing.job import TrainingJob
from rackwright.sizing.layouts import Pins, enumerate_layouts
from rackwright.sizing.recipe import Recipe
from rackwright.sizing.target import Machines, Target
from rackwright.sizing.train import best_training

from tests.sizing.helpers import network, servers

MODELS = ("llama-3.1-8b", "llama-3.1-70b", "mixtral-8x7b", "deepseek-v3")
ACCELERATORS = ("NVIDIA H100 80GB SXM5", "NVIDIA A100 40GB SXM4", "NVIDIA L4", "NVIDIA B200 SXM")


def job(model: str = "llama-3.1-8b", batch: int = 64, sequence: int = 4096, adapter: bool = False, **pins) -> TrainingJob:
    n = network(model)
    method = "lora" if adapter else "full"
    recipe = Recipe(trainable=n.total / 200) if adapter else Recipe()
    each = flops.training_flops_per_token(n, sequence, method) * sequence
    return TrainingJob(n, recipe, method, "bf16", sequence, sequence, each, batch, 100 * batch, Pins(**pins))


jobs = st.builds(
    job,
    model=st.sampled_from(MODELS),
    batch=st.sampled_from([8, 48, 64, 512]),
    sequence=st.sampled_from([2048, 32768]),
    adapter=st.booleans(),
    recompute=st.sampled_from([None, None, "none", "full"]),
)
targets = st.builds(
    lambda name, nodes, per_node, memory, network: _with_memory(servers(nodes, name, per_node, network), memory),
    name=st.sampled_from(ACCELERATORS),
    nodes=st.sampled_from([1, 2, 3, 8]),
    per_node=st.sampled_from([1, 4, 8]),
    memory=st.sampled_from([0.3, 1.0, 2.0]),
    network=st.sampled_from([10e9, 400e9]),
)


def _with_memory(t: Target, factor: float) -> Target:
    return replace(t, chip=replace(t.chip, memory_bytes=t.chip.memory_bytes * factor))


def everything(j: TrainingJob, machines: Machines, i: int) -> tuple[np.ndarray, np.ndarray]:
    """Seconds and bytes of every layout of target `i` with every recompute, nothing left out; inf where it does not fit."""
    layouts = enumerate_layouts(j.shape, machines.grids, j.pins)
    rows = np.arange(layouts.starts[machines.grid[i]], layouts.starts[machines.grid[i] + 1])
    seconds, needs = [], []
    for code in j.recomputes:
        codes, where = np.full(len(rows), code), np.full(len(rows), i)
        need = formulas.need_bytes(j, layouts.take(rows), codes.astype(float), DEFAULT)
        total = formulas.step(j, machines, where, case_of(j, machines, layouts, where, rows, codes), DEFAULT).total
        seconds.append(np.where(need <= machines.chip.memory_bytes[i] * DEFAULT.max_fill, total, np.inf))
        needs.append(np.broadcast_to(need, rows.shape))
    return np.concatenate(seconds), np.concatenate(needs)


@settings(max_examples=60, deadline=None)
@given(jobs, st.lists(targets, min_size=1, max_size=4))
def test_the_best_is_what_trying_everything_finds(j, several):
    machines = Machines.of(several)
    layouts = enumerate_layouts(j.shape, machines.grids, j.pins)
    chosen, found = fastest(j, machines, layouts, DEFAULT), best_training(j, machines, DEFAULT)
    for i, outcome in enumerate(found):
        seconds, needs = everything(j, machines, i)
        assert bool(chosen.fits[i]) == bool(np.isfinite(seconds).any())
        if chosen.fits[i]:
            assert outcome.speed.step_s == pytest.approx(seconds.min(), rel=2e-6)
        elif len(needs):
            assert outcome.memory.total_bytes == pytest.approx(needs.min())


@settings(max_examples=30, deadline=None)
@given(jobs, targets)
def test_no_step_is_faster_than_its_bound(j, target):
    """What pruning rests on."""
    machines = Machines.of([target])
    layouts = enumerate_layouts(j.shape, machines.grids, j.pins)
    rows = np.arange(len(layouts))
    for code in (0, 1, 2):
        codes, where = np.full(len(rows), code), np.zeros(len(rows), dtype=int)
        total = formulas.step(j, machines, where, case_of(j, machines, layouts, where, rows, codes), DEFAULT).total
        assert np.all(formulas.bound_s(j, machines, layouts, where, rows, codes, DEFAULT) <= total * (1 + 1e-9))


def test_pruning_leaves_something_out(monkeypatch):
    """Else the bound is for nothing."""
    timed, step = [], formulas.step
    monkeypatch.setattr(formulas, "step", lambda j, m, t, c, a: timed.append(len(t)) or step(j, m, t, c, a))
    found = best_training(job("deepseek-v3", 1024), Machines.of([servers(n) for n in (64, 128, 256)]), DEFAULT)
    assert sum(timed) < sum(o.points for o in found) / 5


@settings(max_examples=30, deadline=None)
@given(jobs, st.lists(targets, min_size=2, max_size=4), st.randoms())
def test_targets_do_not_look_at_one_another(j, several, random):
    """Order and company of the targets change nothing: what input order could change."""
    shuffled = list(enumerate(several))
    random.shuffle(shuffled)
    found = best_training(j, Machines.of([t for _, t in shuffled]), DEFAULT)
    alone = [best_training(j, Machines.of([t]), DEFAULT)[0] for t in several]
    for (i, _), outcome in zip(shuffled, found, strict=True):
        assert outcome == alone[i]


@settings(max_examples=30, deadline=None)
@given(jobs, targets, st.sampled_from(["scale_up_bytes_per_s", "scale_out_bytes_per_s"]), st.floats(1.0, 8.0))
def test_more_bandwidth_never_slows_a_step(j, target, wire, factor):
    faster = replace(target, wires=replace(target.wires, **{wire: getattr(target.wires, wire) * factor}))
    slow, fast = best_training(j, Machines.of([target, faster]), DEFAULT)
    assert fast.work_s is None or fast.work_s <= slow.work_s * (1 + 2e-6)


@settings(max_examples=30, deadline=None)
@given(jobs, targets)
def test_more_memory_never_loses_a_fit_or_time(j, target):
    by_memory = best_training(j, Machines.of([_with_memory(target, f) for f in (0.5, 1.0, 2.0, 8.0)]), DEFAULT)
    for small, large in pairwise(by_memory):
        assert small.rejections or (not large.rejections and large.work_s <= small.work_s * (1 + 2e-6))


@settings(max_examples=30, deadline=None)
@given(jobs, st.sampled_from(ACCELERATORS))
def test_one_accelerator_sends_nothing(j, name):
    (found,) = best_training(j, Machines.of([servers(1, name, per_node=1)]), DEFAULT)
    assert not found.speed.communication_s
    assert not found.speed.bubble_s


def test_more_replicas_at_the_same_batch_keep_the_tokens():
    j = job("llama-3.1-8b", 512)
    steps = [best_training(j, Machines.of([servers(n)]), DEFAULT)[0].speed for n in (4, 8, 16)]
    assert [s.tokens_per_s * s.step_s for s in steps] == pytest.approx([512 * 4096] * 3)
