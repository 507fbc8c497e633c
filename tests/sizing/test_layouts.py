"""Layouts: constraints, completeness, pins, and reasons without a layout."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rackwright.sizing.rejection import Reason
from rackwright.sizing.search.training.layouts import Grid, JobShape, Layouts, PinnedLayout, context_ways, enumerate_layouts, why_none

LLAMA = JobShape(layers=32, heads=32, kv_heads=8, experts=0, contexts=(1,), batch=64)
DEEPSEEK = JobShape(layers=61, heads=128, kv_heads=128, experts=256, contexts=(1,), batch=1024)
NODES = Grid(16, 8, 8)


def layouts(s: JobShape, g: Grid = NODES, **pins) -> Layouts:
    return enumerate_layouts(s, (g,), PinnedLayout(**pins))


def rows(w: Layouts) -> set[tuple[int, ...]]:
    names = ("tensor", "pipeline", "virtual", "context", "expert", "zero_stage", "shards", "micro_batch")
    return {tuple(int(x) for x in row) for row in zip(*(getattr(w, n) for n in names), strict=True)}


def allowed(s: JobShape, g: Grid, row: tuple[int, ...]) -> bool:
    """The constraints of one layout, as plain arithmetic."""
    t, p, v, c, x, z, shards, b = row
    if g.accelerators % (t * p * c) or s.heads % t or t > g.width or (s.kv_heads % t and t % s.kv_heads):
        return False
    dp = g.accelerators // (t * p * c)
    if (
        s.batch % dp
        or (s.batch // dp) % b
        or c not in s.contexts
        or (x > 1 and (not s.experts or s.experts % x or (g.accelerators // p) % x))
    ):
        return False
    held = [min(-(-s.layers // p), s.layers - i * -(-s.layers // p)) for i in range(p)]
    if min(held) < 1 or (v > 1 and (p == 1 or s.layers % (p * v) or (s.batch // dp // b) % p)):
        return False
    sharing, node = dp * c, max(g.node // (t * p), 1)
    inside = z == 3 and 1 < node < sharing and shards == node and not sharing % node
    if sharing == 1 or p > 1:
        return (z, shards) == (0 if sharing == 1 else 1, sharing)
    return z > 0 and (shards == sharing or inside)


@given(
    st.sampled_from([1, 2, 6, 8, 12, 16, 64]),
    st.sampled_from([1, 4, 8]),
    st.sampled_from([6, 32, 61]),
    st.sampled_from([0, 8]),
    st.sampled_from([4096, 32768]),
    st.sampled_from([8, 48]),
)
def test_every_valid_layout_is_enumerated(accelerators, node, layers, experts, sequence, batch):
    s, g = JobShape(layers, 24, 8, experts, context_ways(layers, sequence), batch), Grid(accelerators, min(accelerators, node), node)
    powers = [1, 2, 4, 8, 16, 32, 64]
    longest = max(sequence // 8192, 1)
    shards = sorted({accelerators // d for d in range(1, accelerators + 1) if accelerators % d == 0} | {1, 2, 4, 8})
    stages = range(1, min(layers, 64, accelerators) + 1)
    ranks = product([t for t in powers if t <= 8], stages, [c for c in powers if c <= longest])
    every = product(
        [(t, p, c) for t, p, c in ranks if accelerators % (t * p * c) == 0],
        [1, 2, 4, 8],
        [x for x in powers if x <= max(experts, 1)],
        [0, 1, 2, 3],
        shards,
        [b for b in powers if b <= batch],
    )
    expected = ((t, p, v, c, *rest) for (t, p, c), v, *rest in every)
    assert rows(layouts(s, g)) == {row for row in expected if allowed(s, g, row)}


@given(st.sampled_from([1, 2, 4, 8, 16, 64]), st.sampled_from([8, 32, 96]), st.sampled_from([4096, 65536]))
def test_every_layout_fills_the_accelerators_and_the_batch(accelerators, batch, sequence):
    w = layouts(JobShape(32, 32, 8, 8, context_ways(32, sequence), batch), Grid(accelerators, min(accelerators, 8), 8))
    assert np.all(w.tensor * w.pipeline * w.context * w.replicas == accelerators)
    assert np.all(w.replicas * w.micro_batch * w.micro_batches == batch)


def test_grids_lie_side_by_side():
    grids = (Grid(1, 1, 1), NODES, Grid(3, 1, 1), Grid(64, 8, 8))
    together = enumerate_layouts(LLAMA, grids, PinnedLayout())
    for i, g in enumerate(grids):
        alone, part = layouts(LLAMA, g), together.take(np.arange(together.starts[i], together.starts[i + 1]))
        assert rows(alone) == rows(part)
        assert len(alone) == len(part)


def test_only_long_sequences_use_context_parallelism():
    assert [context_ways(32, n) for n in (4096, 8192, 32768, 24576)] == [(1,), (1,), (1, 2, 4), (1, 2)]
    assert context_ways(32, 4096, 2) == (2,)
    assert context_ways(0, 10**6) == (1,)


def test_tensor_parallelism_stays_in_the_linked_domain():
    assert layouts(LLAMA, Grid(8, 2, 8)).tensor.max() == 2


def test_stages_can_be_uneven_and_are_never_empty():
    """61 layers: 16 stages have 4 layers each, and the last one 1; of 32 stages with 2, the last would be empty."""
    stages = set(layouts(DEEPSEEK, Grid(512, 8, 8)).pipeline)
    assert 16 in stages
    assert 32 not in stages


def test_interleaving_needs_whole_stages_and_rounds():
    w = layouts(LLAMA)
    mixed = w.virtual > 1
    assert mixed.any()
    assert np.all(32 % (w.pipeline * w.virtual)[mixed] == 0)
    assert np.all((w.micro_batches % w.pipeline)[mixed] == 0)
    assert set(layouts(DEEPSEEK).virtual) == {1}


def test_weights_can_be_sharded_inside_a_node_only():
    w = layouts(LLAMA)
    hybrid = (w.zero_stage == 3) & (w.shards < w.replicas)
    assert set((w.shards * w.tensor)[hybrid]) == {8}


def test_weights_are_gathered_over_at_most_the_published_number_of_accelerators_unless_pinned():
    """GPT-3 with ZeRO-3 only: 144 TFLOP/s on 384 A100 and 44 on 1,536 (arXiv 2104.04473, table 2)."""
    s, wide = replace(LLAMA, batch=2048), Grid(1024, 8, 8)
    w, pinned = layouts(s, wide), layouts(s, wide, zero=3)
    assert w.shards[w.zero_stage == 3].max() == 512
    assert pinned.shards.max() == 1024
    assert 1024 in w.shards[w.zero_stage < 3]


def test_pins_leave_only_the_pinned_values():
    w = layouts(LLAMA, tensor=4, zero=1, micro_batch=2)
    assert (set(w.tensor), set(w.micro_batch)) == ({4}, {2})
    assert set(w.zero_stage) == {0, 1}
    assert set(layouts(LLAMA, zero=3).zero_stage) <= {0, 3}
    plain = layouts(LLAMA, zero=0)
    assert set(plain.zero_stage) == {0}
    assert plain.replicas.max() > 1
    assert set(layouts(LLAMA, pipeline=16).pipeline) == {16}


def test_a_pinned_number_need_not_be_a_power_of_two():
    s = JobShape(layers=36, heads=24, kv_heads=6, experts=0, contexts=context_ways(36, 3000, 3), batch=36)
    w = layouts(s, Grid(18, 6, 6), tensor=3, context=3, micro_batch=6)
    assert len(w)
    assert (set(w.tensor), set(w.context), set(w.micro_batch)) == ({3}, {3}, {6})


def test_slices_share_state_only_inside():
    w = layouts(JobShape(42, 16, 8, 0, (1,), 256), Grid(64, 32, 4, slices=2, tpu=True))
    assert len(w)
    assert np.all(w.shards * 2 == w.replicas)
    assert (set(w.pipeline), set(w.zero_stage)) == ({1}, {3})


@pytest.mark.parametrize(
    ("shape", "grid", "pins", "reason"),
    [
        (LLAMA, NODES, PinnedLayout(tensor=3), Reason.TENSOR_PIN),
        (LLAMA, NODES, PinnedLayout(pipeline=5), Reason.PIPELINE_PIN),
        (LLAMA, Grid(64, 8, 8), PinnedLayout(pipeline=64), Reason.PIPELINE_PIN),
        (LLAMA, NODES, PinnedLayout(expert=3), Reason.CONTEXT_OR_EXPERT),
        (replace(LLAMA, contexts=context_ways(32, 4096, 3)), NODES, PinnedLayout(context=3), Reason.CONTEXT_OR_EXPERT),
        (JobShape(31, 31, 31, 0, (1,), 8), Grid(512, 1, 1), PinnedLayout(), Reason.BATCH_NOT_DIVISIBLE),
    ],
)
def test_no_layout_has_a_reason(shape, grid, pins, reason):
    assert len(enumerate_layouts(shape, (grid,), pins)) == 0
    assert why_none(shape, grid, pins) is reason


def test_the_dimensions_of_the_search_are_documented():
    page = (Path(__file__).parents[2] / "docs" / "search.md").read_text(encoding="utf-8")
    assert all(f"\n| {name} | " in page for name in PinnedLayout.__dataclass_fields__)
