"""The training search: terms of a step, reasons without a fit, effects of pins and formats."""

from dataclasses import replace

import pytest
from rackwright.estimator.model import flops
from rackwright.sizing.inputs.training_recipe import adapted, full
from rackwright.sizing.rejection import Limit

from tests.sizing.helpers import network, servers
from tests.sizing.jobs import best, job, with_memory, with_wires

FOUR = servers(4)


def speed(target=FOUR, model="llama-3.1-8b", **more):
    return best(job(model, **more), target)[0].speed


def test_work_is_steps_times_step():
    (found,) = best(job(), FOUR)
    assert found.work_s == pytest.approx(100 * found.speed.step_s)
    parts = found.speed.compute_s + found.speed.communication_s + found.speed.bubble_s
    assert parts < found.speed.step_s < parts * 1.05


def test_utilisation_is_flops_over_peak():
    s = speed()
    assert s.mfu == pytest.approx(flops.training_flops_per_token(network("llama-3.1-8b"), 4096) * 4096 * 64 / s.step_s / (32 * 989e12))
    assert s.tokens_per_s == pytest.approx(64 * 4096 / s.step_s)


def test_a_bubble_shrinks_with_micro_batches_and_with_virtual_stages():
    """Narayanan et al. 2021: (p - 1) / (m v) of the ideal time."""
    few, many = (speed(batch=b, pipeline=4, tensor=2, micro_batch=1, recompute="none") for b in (16, 256))
    assert few.bubble_s / few.step_s > many.bubble_s / many.step_s
    assert best(job(batch=256, pipeline=4, tensor=2, micro_batch=1), FOUR)[0].parallelism.virtual > 1


def test_recompute_costs_a_part_of_a_forward_pass():
    once, twice = (speed(tensor=8, pipeline=1, zero=1, micro_batch=1, recompute=r) for r in ("none", "full"))
    assert 1.1 < twice.compute_s / once.compute_s < 4 / 3 + 0.01


def test_without_room_the_smallest_layout_is_named():
    (found,) = best(job(), replace(FOUR, chip=replace(FOUR.chip, memory_bytes=2 * 2**30)))
    (only,) = found.rejections
    assert only.limit is Limit.DEVICE_MEMORY
    assert only.have == pytest.approx(2 * 0.92)
    assert only.need == pytest.approx(found.memory.total_bytes / 2**30)
    assert found.parallelism.recompute == "full"


def test_training_memory_is_compared_with_the_pessimistic_estimate():
    (found,) = best(job("llama-3.1-70b", pipeline=1, tensor=8, zero=1), servers(8))
    median = found.memory.total_bytes - found.memory.margin_bytes
    assert found.memory.total_bytes > 1.02 * median


def test_a_batch_too_small_for_the_machines_has_a_reason():
    (only,) = best(job(batch=1, tensor=1, context=1, pipeline=1), servers(64))[0].rejections
    assert (only.limit, only.need, only.have) == (Limit.GEOMETRY, 512, 1)


def test_equal_jobs_have_equal_outcomes():
    assert best(job(), FOUR) == best(job(), FOUR)


def test_uneven_stages_and_groups_inside_nodes_are_found_where_they_help():
    """61 layers over 16 stages; on a slow network, sharding inside the node is faster."""
    assert best(job("deepseek-v3", 512, pipeline=16), servers(64))[0].parallelism.pipeline == 16
    hybrid = best(job("llama-3.1-8b", 512, tensor=1, zero=3), with_wires(servers(8), scale_out_bytes_per_s=2e9))[0].parallelism
    assert hybrid.shard_group == 8
    assert "HSDP-8" in str(hybrid)


def test_adapters_free_gradients_and_optimizer():
    whole, lora = (best(job(adapter=adapter), servers(1))[0].memory for adapter in (False, True))
    assert lora.optimizer_bytes < whole.optimizer_bytes / 5
    assert lora.gradients_bytes < whole.gradients_bytes / 5


def test_a_quantised_base_is_smaller():
    n = network("llama-3.1-70b")
    four, sixteen = (
        best(replace(job("llama-3.1-70b"), recipe=adapted(1e8, b), method="lora"), servers(1, per_node=1))[0] for b in (0.516, 2.0)
    )
    assert four.memory.weights_bytes < 0.4 * sixteen.memory.weights_bytes
    assert sixteen.memory.weights_bytes > 2 * n.linear


def test_single_precision_doubles_activations_and_keeps_no_second_copy():
    pins = {"tensor": 1, "pipeline": 1, "zero": 0, "micro_batch": 1, "recompute": "none"}
    j = job(**pins)
    half, single = (
        best(replace(j, recipe=full(j.network.trunk, numbers)), with_memory(servers(1, per_node=1), 9))[0] for numbers in ("bf16", "fp32")
    )
    assert single.memory.activations_bytes == pytest.approx(2 * half.memory.activations_bytes)
    assert single.memory.weights_bytes + single.memory.optimizer_bytes == pytest.approx(
        half.memory.weights_bytes + half.memory.optimizer_bytes - 2 * j.network.trunk
    )


@pytest.mark.parametrize(("optimizer", "bytes_"), [("adamw", 12), ("adamw-8bit", 6.03), ("sgd", 8)])
def test_states_of_the_optimizers(optimizer, bytes_):
    assert full(1e9, optimizer=optimizer).optimizer_bytes == pytest.approx(bytes_, abs=0.01)
