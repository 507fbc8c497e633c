"""Resident states compared with the tables of the papers, and parameters per pipeline stage."""

from dataclasses import replace

import numpy as np
import pytest
from rackwright.estimator.training.states import expert_shards, gathered_bytes, resident_state, stage_layers, stage_parameters, state_bytes

from tests.estimator.memory_cases import case, network


@pytest.mark.parametrize(("stage", "gigabytes"), [(0, 120), (1, 31.4), (2, 16.6), (3, 1.88)])
def test_zero_table_of_the_paper(stage, gigabytes):
    """Figure 1 of arXiv 1910.02054: 7.5 billion parameters, 64 replicas, 2 + 2 + 12 bytes."""
    assert state_bytes(7.5e9, 64, stage, (2.0, 2.0, 12.0)).total / 1e9 == pytest.approx(gigabytes, rel=0.01)


@pytest.mark.parametrize(("stage", "each"), [(0, 18), (1, 6 + 12 / 8), (2, 2 + 16 / 8), (3, 18 / 8)])
def test_megatron_bytes_per_parameter(stage, each):
    c = case(zero_stage=stage, shards=8.0)
    assert resident_state(c, stage_parameters(c, 0.0)).total == pytest.approx(each * c.network.trunk)


def test_stages_of_a_pipeline_hold_the_whole_model_once():
    c = case("llama-3.1-70b", pipeline=8.0, tensor=2.0)
    held = [stage_parameters(c, float(i)).dense for i in range(8)]
    assert sum(held) * 2 == pytest.approx(c.network.trunk)
    assert held[0] - held[1] == pytest.approx(c.network.embedding / 2)
    assert held[-1] - held[1] == pytest.approx(c.network.head / 2)


def test_a_tied_table_is_on_both_ends_of_a_pipeline():
    n = network("llama-3.2-1b")
    assert n.head == 0
    one, two = case(n), case(n, pipeline=2.0)
    assert stage_parameters(one, 0.0).dense == pytest.approx(n.trunk)
    assert sum(stage_parameters(two, float(i)).dense for i in range(2)) == pytest.approx(n.trunk + n.embedding)


def test_expert_states_are_sharded_over_the_ranks_with_the_same_experts():
    c = case("mixtral-8x7b", tensor=2.0, expert=4.0, shards=8.0)
    assert stage_parameters(c, 0.0).routed == c.network.routed / 4
    assert expert_shards(c) == 4
    assert expert_shards(replace(c, expert_tensor=2.0)) == 2
    assert expert_shards(case(expert=8.0)) == 1


def test_fsdp_keeps_a_pipeline_stage_whole_between_micro_batches():
    """16-bit weights and fp32 gradients of the stage, beside the fp32 shards of weights and moments."""
    sharded = {"engine": "torchtitan", "zero_stage": 3.0, "shards": 8.0, "weight_bytes": 4.0, "optimizer_bytes": 8.0}
    deep = case("llama-3.1-70b", pipeline=4.0, micro_batches=4.0, **sharded)
    stage = stage_parameters(deep, 0.0)
    assert gathered_bytes(deep, 3.0, stage) == pytest.approx(2 * stage.dense * 7 / 8)
    assert resident_state(deep, stage).gradients == pytest.approx(4 * stage.dense)
    once, flat = replace(deep, micro_batches=1.0), replace(deep, pipeline=1.0)
    assert resident_state(once, stage).gradients == pytest.approx(4 * stage.dense / 8)
    assert gathered_bytes(flat, 3.0, stage) < gathered_bytes(deep, 3.0, stage) / 4
    other = replace(deep, engine="megatron")
    assert resident_state(other, stage).gradients == pytest.approx(4 * stage.dense / 8)


def test_zero_2_doubles_its_bucket_and_ddp_copies_gradients():
    c = case(shards=8.0, replicas=8.0, gradient_bytes=2.0)
    held = stage_parameters(c, 0.0)

    def gradients(**changed) -> float:
        return float(resident_state(replace(c, **changed), held).gradients)

    assert gradients(engine="deepspeed", zero_stage=2.0) == pytest.approx(2 * held.dense / 8 + 2 * 2 * 5e8)
    assert gradients(engine="deepspeed", zero_stage=3.0) == pytest.approx(2 * held.dense / 8)
    assert gradients(engine="hf") == pytest.approx(2 * 2 * held.dense)
    assert gradients(engine="hf", replicas=1.0) == pytest.approx(2 * held.dense)
    assert gradients() == pytest.approx(2 * held.dense)


def test_offloading_the_optimizer_moves_sharded_gradients():
    c = case(shards=8.0, replicas=8.0, engine="deepspeed", zero_stage=3.0, offload_optimizer=1.0)
    held = stage_parameters(c, 0.0)
    assert resident_state(c, held).gradients == 0
    assert resident_state(replace(c, zero_stage=1.0), held).gradients > 0


def test_zero_3_of_deepspeed_keeps_a_billion_parameters_live():
    c = case(engine="deepspeed", zero_stage=3.0, shards=8.0)
    assert gathered_bytes(c, 1.0, stage_parameters(c, 0.0)) == pytest.approx(2e9)


def test_prediction_modules_are_trained_by_megatron_only():
    c = case("deepseek-v3", pipeline=4.0, expert=8.0)
    assert c.network.mtp > 0
    ours, other = (stage_parameters(replace(c, engine=engine), 3.0) for engine in ("megatron", "torchtitan"))
    assert ours.layers == other.layers + 1
    assert ours.dense - other.dense > c.network.embedding  # the module's own attention, and a copy of the table
    assert stage_parameters(c, 0.0) == stage_parameters(replace(c, engine="torchtitan"), 0.0)


@pytest.mark.parametrize(("engine", "first", "last"), [("megatron", 16, 16), ("nanotron", 17, 15)])
def test_nanotron_balances_stages_by_compute_with_the_head(engine, first, last):
    """A head of 131,072 x 4,096 has the size of about two layers of the playbook's 8.86B model."""
    n = replace(network("llama-3.1-8b"), vocab=131072)
    c = case(n, pipeline=2.0, engine=engine)
    assert (stage_layers(c, 0.0), stage_layers(c, 1.0)) == (first, last)


def test_early_stages_have_the_remaining_layers():
    c = case(replace(network("llama-3.1-8b"), layers=14), pipeline=4.0)
    assert (stage_layers(c, 0.0), stage_layers(c, 3.0)) == (4, 3)


def test_offload_and_fused_backward_take_their_states_off_the_device():
    c = case()
    here = stage_parameters(c, 0.0)
    assert resident_state(replace(c, offload_optimizer=1.0), here).optimizer == 0
    block = c.network.largest_block * c.gradient_bytes
    assert resident_state(replace(c, fused_backward=1.0), here).gradients == pytest.approx(block)


def test_gathered_units_need_zero_stage_3_and_never_exceed_the_model():
    c = case(zero_stage=3.0, shards=8.0)
    n, whole = c.network, stage_parameters(c, 0.0)
    assert gathered_bytes(replace(c, zero_stage=2.0), 2.0, whole) == 0
    assert gathered_bytes(replace(c, shards=1.0), 2.0, whole) == 0
    assert gathered_bytes(c, 2.0, whole) == pytest.approx(2 * (2 * n.largest_block + n.head) * 7 / 8)
    assert gathered_bytes(c, 1000.0, whole) == pytest.approx(2 * n.trunk * 7 / 8)


def test_arrays_of_cases_agree_with_single_cases():
    c = case("deepseek-v3", engine="nanotron", pipeline=np.array([1.0, 4.0]), expert=np.array([1.0, 8.0]), shards=np.array([8.0, 2.0]))
    both = resident_state(c, stage_parameters(c, 0.0)).total
    for i in range(2):
        one = replace(c, pipeline=c.pipeline[i], expert=c.expert[i], shards=c.shards[i])
        assert resident_state(one, stage_parameters(one, 0.0)).total == pytest.approx(both[i])
