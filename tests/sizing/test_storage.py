"""Checkpoints: bytes, interval, lost time."""

import math
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rackwright.catalog import Catalog
from rackwright.sizing.assumptions import DEFAULT
from rackwright.sizing.evaluation import checkpoints
from rackwright.sizing.note import NoteKind
from rackwright.sizing.plan import SizingPlan

from tests.sizing.helpers import AWS, GCP, finetune, plan


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


PLACE = AWS.replace("[on-demand]}}", "[on-demand]}, pin: {instance: p5en.48xlarge, nodes: 64}}")
LARGE = "{name: job, kind: pretrain, model: {base: llama-3.1-405b}, data: {tokens: 1e11}, sequence_length: 8192, global_batch_size: 512}"


@cache
def large(storage: str) -> SizingPlan:
    return plan(LARGE, PLACE, more=f"blueprint: {{kind: training-cluster, storage: {storage}}}")


def test_a_405b_run_writes_its_checkpoints_to_a_bucket():
    """5.68 TB of 512 accelerators, which fail every 51,000 / 512 = 99.6 h: an interval of sqrt(2 x 10 s x 358,594 s) = 2,678 s and a
    window of 1,339 s, so 4.24 GB/s. A window of 60 s bought 108 TB of FSx at 78,624 USD a month. 64 nodes write at most 3,500 parts
    of 8 MiB per second, 29.4 GB/s; four checkpoints of 5.682 TB are 21,167.0 GiB x 0.023 = 487 USD a month."""
    found = large("auto")
    system = found.machine.file_system
    assert found.facts.checkpoint_interval_s == pytest.approx(2678, abs=1)
    assert found.machine.checkpoint_write_s == pytest.approx(1339, abs=1)
    assert found.machine.checkpoint_bytes_per_s == pytest.approx(4.24e9, rel=0.001)
    assert (system.tier, system.delivered_bytes_per_s) == ("s3-standard", 3500 * 8 * 2**20)
    assert system.usd_per_month == pytest.approx(21_167.0 * 0.023)
    assert system.checkpoint_s == pytest.approx(5.682e12 / 29.36e9, rel=0.001)


def test_the_file_system_of_a_405b_run_is_that_of_the_cheapest_run():
    """About 3.08 interruptions wait for 2 x 3.08 x 5.682 TB = 35.0 TB, with 64 nodes at 4,051 USD an hour for 307 h, 0.42 months.

    4.24 GB/s are enough: 36,000 GiB of 125 MB/s per TiB have 4.39 GB/s for 5,220 USD a month, 2,193 + 8,954 USD for the run.
    26,400 GiB hold the data, with 500 MB/s per TiB 12.89 GB/s for 10,956 USD a month: 4,603 + 3,052, the least. With 250 they have
    6.45 GB/s for 6,204 USD: 2,607 + 6,104, which is 0.1 % of the run's 1,242,498 USD more: nearly the same, at the lower price.
    """
    found = large("lustre")
    system, need = found.machine.file_system, found.storage
    assert (system.tier, system.bytes, system.usd_per_month) == ("fsx-lustre-persistent2-250", 26_400 * 2**30, 6_204)
    assert system.checkpoint_s == pytest.approx(5.682e12 / 6.445e9, rel=0.001)
    hours = found.chosen.duration_s.p50 / 3600
    interruptions = hours * 512 / 51_000
    tiers = ((5_220, 4.394e9), (6_204, 6.445e9), (10_956, 12.89e9))
    slow, chosen, least = (need.run_usd(*tier) for tier in tiers)
    for tier, (usd_per_month, rate) in zip((slow, chosen, least), tiers, strict=True):
        waiting_h = 2 * interruptions * 5.682e12 / rate / 3600
        assert tier == pytest.approx(usd_per_month * hours / 730 + waiting_h * 64 * 63.296, rel=0.005)
    assert 0 < chosen - least < 0.001 * found.chosen.cost_usd.p50 < slow - least


def test_adapters_need_no_file_system():
    """A p-tuning job of a dollar was shown 77.3 TB of Managed Lustre at 10,440 USD a month; its checkpoint has 92 MB."""
    adapter = "{name: t, kind: finetune, model: {base: llama-3.1-8b}, adapter: {type: p-tuning, virtual_tokens: 100}, "
    found = plan(adapter + "data: {samples: 2000, tokens_per_sample: 500, epochs: 3}, sequence_length: 1024}", GCP)
    system = found.machine.file_system
    assert (system.tier, system.bytes, system.bytes_per_s) == ("hyperdisk-balanced", 100 * 2**30, None), "the disk of the box that is built"
    assert system.usd_per_month is None, "its price is not published"
    nodes = AWS.replace("[on-demand]}}", "[on-demand]}, pin: {instance: p5.48xlarge, nodes: 2}}")
    cluster = plan(finetune(), nodes)
    assert cluster.machine.file_system.tier == "s3-standard"
    assert cluster.machine.file_system.usd_per_month < 0.1


def test_image_trainers_keep_their_file_system():
    vision = "{name: job, kind: pretrain, model: {base: vit-b-16}, global_batch_size: 1024, data: {samples: 1.28e6, size: 138 GB}}"
    found = plan(vision, AWS.replace("[on-demand]}}", "[on-demand]}, pin: {instance: p5.48xlarge, nodes: 2}}"))
    assert found.machine.file_system.tier.startswith("fsx-lustre")


def test_the_disk_of_a_box_is_as_fast_as_the_run_is_cheapest():
    """8B in full on 8 H100: 112 GB in 7,200 s and data need 20 MB/s; 125 MiB/s are included. 16 GB of weights keep 55.04 USD an hour
    waiting for 123 s, 1.87 USD, and at 250 MiB/s for 61 s, 0.94 USD: within a dollar of the least, and 5 USD a month more."""
    found = plan(finetune("llama-3.1-8b", "none"), AWS.replace("[on-demand]}}", "[on-demand]}, pin: {instance: p5.48xlarge, nodes: 1}}"))
    system = found.machine.file_system
    assert (system.tier, system.bytes_per_s) == ("ebs-gp3", 250 * 2**20)
    assert system.usd_per_month == pytest.approx(530 * 0.08 + 125 * 0.04)
    assert found.storage.run_usd(0, 125 * 2**20) == pytest.approx(1.87, abs=0.01)


def test_a_host_without_room_for_the_copy_pauses_training():
    """A full fine-tuning of 1.5B parameters writes 21 GB; g6e.xlarge has 32 GiB, of which 22 are free; 3B do not fit an L40S."""
    catalog = Catalog.default()
    small = (replace(m, memory_bytes=24 * 2**30) if m.name == "g6e.xlarge" else m for m in catalog.machines)
    place = AWS.replace("[on-demand]}}", "[on-demand]}, pin: {instance: g6e.xlarge}}")
    job = finetune("qwen2.5-1.5b", "none")
    free, full = plan(job, place).chosen, plan(job, place, catalog=replace(catalog, machines=tuple(small))).chosen
    (note,) = (n for n in full.notes if n.kind is NoteKind.CHECKPOINT_PAUSES)
    assert note.values["free_gib"] == 14
    assert full.goodput.share < free.goodput.share
    assert not [n for n in free.notes if n.kind is NoteKind.CHECKPOINT_PAUSES]
