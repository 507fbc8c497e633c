"""Communication: volumes of the papers, and laws."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rackwright.sizing import traffic
from rackwright.sizing.assumptions import DEFAULT
from rackwright.sizing.traffic import Links

NVLINK = Links(450e9, 400e9, 8, 8)


def test_one_accelerator_sends_nothing():
    assert traffic.tensor_bytes(1, 4096, 8192, 80) == 0
    assert traffic.context_bytes(1, 4096, 1024, 80) == 0
    assert traffic.expert_bytes(1, 4096, 8192, 2, 32) == 0
    assert traffic.data_bytes(1, 7e9, 3, 4) == 0
    assert traffic.spread_seconds(0.0, 1, 4, NVLINK, DEFAULT) == 0


def test_tensor_parallelism_sends_four_all_reduces_per_layer():
    """Korthikanti et al., section 4.2.1: two forward, two backward, of the 16-bit hidden state; a ring sends 2 (t - 1) / t of it."""
    assert traffic.tensor_bytes(8, 4096, 8192, 80) == pytest.approx(80 * 4 * 2 * 7 / 8 * 4096 * 8192 * 2)


def test_all_reduce_of_gradients_sends_them_twice():
    assert traffic.data_bytes(1e9, 7e9, 0, 1) == pytest.approx(2 * 2 * 7e9)


def test_fully_sharded_sends_half_more_than_replicated():
    """3 against 2 times the weights: Rajbhandari et al., section 7.2."""
    assert traffic.data_bytes(64, 7e9, 3, 1) / traffic.data_bytes(64, 7e9, 0, 1) == pytest.approx(1.5)


def test_collectives_between_nodes_use_every_card():
    """8 accelerators of a node gather the same 16 GB over 400 GB/s once, not eight times over 50."""
    assert float(traffic.spread_seconds(16e9, 1, 4, NVLINK, DEFAULT)) == pytest.approx(16e9 / (400e9 * 0.8), rel=0.02)


def test_a_group_larger_than_the_domain_leaves_over_the_network():
    inside, outside = (float(traffic.local_seconds(1e9, group, NVLINK, DEFAULT)) for group in (8, 16))
    assert outside / inside == pytest.approx(450 / 50)


@given(st.floats(1e6, 1e12), st.floats(1.0, 10.0), st.sampled_from([1, 2, 16]))
def test_more_bandwidth_never_slows_a_step(volume, factor, nodes):
    faster = Links(NVLINK.scale_up_bytes_per_s * factor, NVLINK.node_bytes_per_s * factor, 8, 8)
    assert traffic.spread_seconds(volume, 4, nodes, faster, DEFAULT) <= traffic.spread_seconds(volume, 4, nodes, NVLINK, DEFAULT)


@given(st.floats(0, 100), st.floats(0, 1), st.floats(0, 100))
def test_what_shows_is_between_nothing_and_all(transfer, hidden, work):
    assert 0 <= float(traffic.exposed(transfer, hidden, work)) <= transfer + 1e-9
