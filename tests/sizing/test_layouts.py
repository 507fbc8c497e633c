"""Geometry: every layout obeys it, pins narrow it, its absence has words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rackwright.sizing.layouts import Pins, Shape, enumerate_layouts, why_none

LLAMA = Shape(16, 8, 8, layers=32, heads=32, kv_heads=8, experts=0, sequence=4096, batch=64)


@given(
    st.sampled_from([1, 2, 4, 8, 16, 64]),
    st.sampled_from([1, 4, 8]),
    st.sampled_from([8, 32, 96]),
    st.sampled_from([0, 8, 16]),
    st.sampled_from([4096, 65536]),
)
def test_every_layout_fills_the_accelerators_and_the_batch(accelerators, per_node, batch, experts, sequence):
    s = Shape(accelerators, per_node, per_node, 32, 32, 8, experts, sequence, batch)
    w = enumerate_layouts(s, Pins())
    assert np.all(w.tensor * w.pipeline * w.context * w.replicas == accelerators)
    assert np.all(w.replicas * w.micro_batch * w.micro_batches == batch)
    assert np.all(w.tensor <= per_node)
    assert np.all(32 % w.pipeline == 0)
    assert np.all((w.expert == 1) | (experts % np.maximum(w.expert, 1) == 0))
    assert np.all((w.zero_stage < 2) | (w.pipeline == 1))


def test_tensor_parallelism_stays_in_the_linked_domain():
    pairs = Shape(8, 8, 2, 32, 32, 8, 0, 4096, 64)
    assert enumerate_layouts(pairs, Pins()).tensor.max() == 2


def test_pins_leave_only_what_they_say():
    w = enumerate_layouts(LLAMA, Pins(tensor=4, zero=1, micro_batch=2, recompute="full"))
    assert set(w.tensor) == {4}
    assert set(w.micro_batch) == {2}
    assert set(w.recompute) == {1}
    assert set(w.zero_stage) <= {0, 1}


def test_slices_share_state_only_inside():
    w = enumerate_layouts(Shape(64, 4, 32, 42, 16, 8, 0, 4096, 256, slices=2, tpu=True), Pins())
    assert np.all(w.shards * 2 == w.replicas)
    assert set(w.pipeline) == {1}
    assert set(w.zero_stage) == {3}


@pytest.mark.parametrize(
    ("shape", "pins", "words"),
    [
        (LLAMA, Pins(tensor=3), "tensor parallel 3"),
        (LLAMA, Pins(pipeline=5), "pipeline parallel 5"),
        (LLAMA, Pins(expert=3), "expert parallel the experts"),
        (Shape(512, 1, 1, 31, 31, 31, 0, 4096, 8), Pins(), "a batch of 8 sequences"),
    ],
)
def test_no_layout_has_a_reason(shape, pins, words):
    assert len(enumerate_layouts(shape, pins)) == 0
    assert words in why_none(shape, pins)
