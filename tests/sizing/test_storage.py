"""Checkpoints: bytes, interval, lost time."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rackwright.sizing.assumptions import DEFAULT
from rackwright.sizing.evaluation import checkpoints


def test_the_checkpoint_of_bloom_has_its_published_size():
    """2.3 TB for 176 billion parameters."""
    assert checkpoints.checkpoint_bytes(176e9, DEFAULT) == pytest.approx(2.3e12, rel=0.1)


def test_llama_3_fails_every_three_hours_on_16384_gpus():
    assert checkpoints.time_between_failures_s(16384, 2048, False, DEFAULT) == pytest.approx(3.1 * 3600, rel=0.02)


def test_interval_is_youngs():
    assert checkpoints.best_interval_s(60, 100 * 3600, DEFAULT) == pytest.approx(math.sqrt(2 * 60 * 360000))


def test_the_interval_is_within_its_bounds():
    assert checkpoints.best_interval_s(60, 1e9, DEFAULT) == DEFAULT.checkpoint_max_interval_s
    assert checkpoints.best_interval_s(1, 60, DEFAULT) == DEFAULT.checkpoint_min_interval_s


def test_a_checkpoint_has_half_of_the_interval_to_be_on_storage():
    """980 GB every 4 h: 7,200 s, so 980e9 / 7200 = 136 MB/s are enough; in 60 s it would be 16.3 GB/s."""
    assert checkpoints.at_interval(980e9, 4 * 3600, DEFAULT).throughput_bytes_per_s == pytest.approx(136.1e6, rel=0.001)
    assert checkpoints.at_interval(1e12, 600, DEFAULT).write_s == 300


HOST = checkpoints.CheckpointHost(accelerators=16, nodes=2, host_bytes_per_s=50e9, free_bytes=1.9e12)


def test_training_waits_for_the_copy_to_host_memory():
    """988 GB of 16 accelerators: 61.7 GB each, 1.2 s over 50 GB/s, within the assumed pause. 16 TB take 1e12 / 50e9 = 20 s."""
    assert checkpoints.pause_s(988e9, HOST, DEFAULT) == DEFAULT.checkpoint_pause_s
    assert checkpoints.pause_s(16e12, replace(HOST, free_bytes=1e14), DEFAULT) == 20


def test_training_waits_for_the_write_without_memory_for_the_copy():
    """A share of 494 GB does not fit in 400 GB: two nodes of 1 GB/s write it in 494 s."""
    assert checkpoints.pause_s(988e9, replace(HOST, free_bytes=400e9), DEFAULT) == 494
    assert checkpoints.pause_s(988e9, replace(HOST, free_bytes=None), DEFAULT) == DEFAULT.checkpoint_pause_s


def test_an_interval_is_long_enough_to_write_a_checkpoint():
    """9.4 TB of one node take 9,400 s, half of the interval, where Young's would be sqrt(2 * 188 s * 3600 s) = 1,163 s."""
    one = checkpoints.CheckpointHost(1, 1, 50e9, 1e14)
    assert checkpoints.auto_interval_s(9.4e12, one, 3600, DEFAULT) == 18800
    assert checkpoints.auto_interval_s(1e9, one, 3600, DEFAULT) == DEFAULT.checkpoint_min_interval_s


def test_an_interruption_during_the_write_goes_back_to_the_checkpoint_before():
    """1,000 s of writing in 10,000 s between interruptions: a tenth more."""
    at = checkpoints.Interruptions(10_000, 600)
    assert checkpoints.lost_share(1800, 10, at, 1000) - checkpoints.lost_share(1800, 10, at) == pytest.approx(0.1)


@given(st.floats(1, 600), st.floats(3600, 1e7), st.floats(600, 20000))
def test_youngs_interval_loses_least(write_s, between_s, other_s):
    best = math.sqrt(2 * write_s * between_s)
    at = checkpoints.Interruptions(between_s, DEFAULT.restart_s)
    if checkpoints.lost_share(best, write_s, at) < checkpoints.MAX_LOST_SHARE:
        assert checkpoints.lost_share(best, write_s, at) <= checkpoints.lost_share(other_s, write_s, at) + 1e-9


def test_reclaims_add_to_faults():
    assert checkpoints.time_between_failures_s(8, 1, True, DEFAULT) < checkpoints.time_between_failures_s(8, 1, False, DEFAULT)


def test_a_run_at_the_scale_of_llama_3_keeps_over_nine_tenths():
    """arXiv 2407.21783: more than 90 % effective time on 16,384 GPUs."""
    at = checkpoints.interruptions(16384, 2048, False, DEFAULT)
    every = checkpoints.best_interval_s(DEFAULT.checkpoint_pause_s, at.between_s, DEFAULT)
    assert 0.90 < 1 - checkpoints.lost_share(every, DEFAULT.checkpoint_pause_s, at) < 0.92


@given(st.integers(1, 4000), st.integers(1, 4000))
def test_more_accelerators_are_interrupted_more_and_save_more_often(one, other):
    few, many = (checkpoints.interruptions(8 * n, n, False, DEFAULT) for n in sorted((one, other)))
    pause_s = DEFAULT.checkpoint_pause_s
    intervals = [checkpoints.best_interval_s(pause_s, at.between_s, DEFAULT) for at in (few, many)]
    assert intervals[0] >= intervals[1]
    losses = [checkpoints.lost_share(every, pause_s, at) for every, at in zip(intervals, (few, many), strict=True)]
    assert losses[0] <= losses[1]


def test_recovery_takes_longer_from_a_reclaim_than_from_a_fault():
    firm, spot = (checkpoints.interruptions(64, 8, spot, DEFAULT).restart_s for spot in (False, True))
    assert (firm, DEFAULT.reclaim_restart_s) == (DEFAULT.restart_s, pytest.approx(spot, rel=0.01))


def test_without_checkpoints_only_restarts_are_lost():
    assert checkpoints.lost_share(0.0, 10, checkpoints.Interruptions(6000, 600)) == pytest.approx(0.1)


def test_capacity_fits_all_checkpoints_and_the_data():
    assert checkpoints.capacity_bytes(100, 3, 50, 20) == 470
