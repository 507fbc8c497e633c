"""The training search: parts of a step, and what it says when nothing fits."""

from dataclasses import replace

import pytest
from rackwright.estimate import flops
from rackwright.sizing.assumptions import DEFAULT
from rackwright.sizing.job import TrainingJob
from rackwright.sizing.layouts import Pins
from rackwright.sizing.outcome import Outcome
from rackwright.sizing.plan import Limit
from rackwright.sizing.recipe import Recipe
from rackwright.sizing.target import Machines, Target
from rackwright.sizing.train import best_training

from tests.sizing.helpers import network, servers

H100 = servers(4)
N = network("llama-3.1-8b")
JOB = TrainingJob(N, Recipe(), "full", "bf16", 4096, 4096, flops.training_flops_per_token(N, 4096) * 4096, 64, 6400)


def best(job: TrainingJob = JOB, target: Target = H100, **pins) -> Outcome:
    return best_training(replace(job, pins=Pins(**pins)), Machines.of([target]), DEFAULT)[0]


def with_wires(target: Target, **wires: float) -> Target:
    return replace(target, wires=replace(target.wires, **wires))


def test_bubble_is_stages_less_one_over_micro_batches():
    """Narayanan et al. 2021: (p - 1) / m of the ideal time."""
    s = best(pipeline=4, tensor=2, micro_batch=1, recompute="none").speed
    inside = best(replace(JOB, batch=64 * 16), pipeline=4, tensor=2, micro_batch=1, recompute="none").speed
    assert s.bubble_s == pytest.approx(3 / 16 * s.compute_s, rel=0.2)
    assert inside.bubble_s == pytest.approx(s.bubble_s)


def test_work_is_steps_times_step():
    found = best()
    assert found.work_s == pytest.approx(100 * found.speed.step_s)
    parts = found.speed.compute_s + found.speed.communication_s + found.speed.bubble_s
    assert parts < found.speed.step_s < parts * 1.05


def test_utilisation_is_flops_over_peak():
    found = best()
    assert found.speed.mfu == pytest.approx(JOB.flops_per_sequence * 64 / found.speed.step_s / (32 * 989e12))
    assert found.speed.tokens_per_s == pytest.approx(64 * 4096 / found.speed.step_s)


def test_recompute_sends_the_forward_half_again():
    once, twice = (best(tensor=8, pipeline=1, zero=1, micro_batch=1, recompute=r).speed for r in ("none", "full"))
    assert twice.communication_s > once.communication_s
    assert twice.compute_s == pytest.approx(once.compute_s * (1 + DEFAULT.recompute_visible / 3))


def test_one_accelerator_waits_for_nobody():
    found = best(replace(JOB, recipe=Recipe(trainable=4e7), method="lora"), servers(1, per_node=1))
    assert found.speed.communication_s == found.speed.bubble_s == 0


def test_a_faster_network_is_never_slower():
    slow = with_wires(H100, scale_out_bytes_per_s=10e9 / 8)
    assert best().speed.step_s <= best(target=slow).speed.step_s


def test_without_room_the_smallest_layout_is_named():
    small = replace(H100, chip=replace(H100.chip, memory_bytes=2 * 2**30))
    found = best(target=small)
    (only,) = found.rejections
    assert only.limit is Limit.DEVICE_MEMORY
    assert only.have == pytest.approx(2 * 0.92)
    assert found.parallelism.recompute == "full"


def test_a_batch_too_small_for_the_machines_says_so():
    (only,) = best(replace(JOB, batch=1), replace(H100, nodes=64), tensor=1, context=1).rejections
    assert (only.limit, only.need, only.have) == (Limit.GEOMETRY, 512, 1)


def test_equal_questions_have_equal_answers():
    assert best() == best()


def test_experts_of_a_node_cross_its_network_whole():
    """Eight devices hold eight different eighths of the experts: together they fetch what one whole copy would."""
    n = network("mixtral-8x7b")
    job = replace(
        JOB, network=n, flops_per_sequence=1.0, pins=Pins(tensor=1, zero=3, micro_batch=1, recompute="none", pipeline=1, context=1)
    )
    slow = with_wires(H100, scale_out_bytes_per_s=1e9 / 8)
    machines = Machines.of([slow])
    waits = [best_training(replace(job, pins=replace(job.pins, expert=x)), machines, DEFAULT)[0].speed.communication_s for x in (1, 8)]
    assert waits[1] == pytest.approx(waits[0], rel=0.2)


def test_efficiencies_are_those_of_whole_steps():
    """A device that waits for nobody is faster than the published runs by what those waited, no more."""
    alone = servers(1, per_node=1)
    alone = replace(alone, chip=replace(alone.chip, memory_bytes=1e13))
    assert best(target=alone).speed.mfu == pytest.approx(0.38 / (1 - DEFAULT.published_exposed_share), rel=0.01)
