"""Objectives of fine-tuning: models in memory, sequences and passes per sample, rollouts before a step."""

import pytest
from rackwright.estimator.model.from_architecture import model_dimensions
from rackwright.sizing.inputs.model_of_spec import architecture_of
from rackwright.sizing.job import SFT
from rackwright.sizing.plan import Fit, SizingPlan
from rackwright.sizing.rejection import Reason
from rackwright.spec.workload_parts import Model

from tests.sizing.helpers import AWS, plan

GIB = 2**30
P5 = AWS.replace("regions:", "pin: {instance: p5.48xlarge, nodes: 1}, regions:")
N = model_dimensions(architecture_of(Model(base="llama-3.1-8b"))[0])
ROLLOUT = "rollout: {generations: 8, input_tokens: {mean: 300, p95: 600}, output_tokens: {mean: 1500, p95: 3400}}"
FIXED = "parallelism: {zero: 3, tensor: 1, micro_batch: 2, recompute: full}"


def job(
    objective: str, adapter: str = "none", data: str = "{samples: 20000, tokens_per_sample: 4000, packed: false}", more: str = FIXED
) -> str:
    return (
        f"{{name: job, kind: finetune, model: {{base: llama-3.1-8b}}, objective: {objective}, adapter: {{type: {adapter}}}, "
        f"sequence_length: 4000, global_batch_size: 64, data: {data}, {more}}}"
    )


def fit(workload: str) -> Fit:
    found = plan(workload, P5).chosen
    assert found
    return found


@pytest.mark.parametrize(("adapter", "reference_bytes"), [("none", 2.0), ("lora", 0.0)])
def test_a_reference_is_a_second_frozen_model_unless_the_base_is_frozen(adapter, reference_bytes):
    """16-bit weights of 8.03 billion parameters over 8 accelerators: 1.87 GiB more."""
    sft, dpo = fit(job("sft", adapter)), fit(job("dpo", adapter))
    more = dpo.memory.weights_bytes - sft.memory.weights_bytes
    assert more == pytest.approx(reference_bytes * N.trunk / 8)
    assert dpo.memory.optimizer_bytes == pytest.approx(sft.memory.optimizer_bytes)


@pytest.mark.parametrize(
    ("objective", "adapter", "passes"),
    [("dpo", "none", 1 + 2 / 6), ("dpo", "lora", 1 + 2 / 4), ("reward", "none", 1.0), ("reward", "lora", 1.0)],
)
def test_a_pair_is_two_sequences_and_a_reference_one_forward_pass(objective, adapter, passes):
    """Forward is 2 FLOPs per weight and token, of 6 with all weights trained and of 4 with an adapter."""
    short = FIXED.replace("full", "none")
    sft, other = (fit(job(o, adapter, more=short).replace("h: 4000", "h: 1000")) for o in ("sft", objective))
    assert other.speed.compute_s == pytest.approx(2 * sft.speed.compute_s * passes, rel=0.02)
    assert plan(job(objective, adapter), P5).facts.tokens == pytest.approx(2 * plan(job("sft", adapter), P5).facts.tokens)


def test_the_answers_of_a_pair_share_a_micro_batch():
    searched = plan(job("dpo", more="parallelism: {zero: 3}"), P5)
    assert {f.candidate.parallelism.micro_batch % 2 for f in searched.fits} == {0}
    alone = plan(job("dpo", more="parallelism: {micro_batch: 1}"), P5)
    assert not alone.fits


def rl(objective: str = "grpo", adapter: str = "none", rollout: str = ROLLOUT, batch: int = 64) -> SizingPlan:
    return plan(job(objective, adapter, "{samples: 6400}", f"{FIXED}, {rollout}").replace("batch_size: 64", f"batch_size: {batch}"), P5)


def test_the_run_is_the_rollouts_and_the_training_of_every_step():
    """100 steps of 64 prompts with 8 answers each."""
    chosen = rl().chosen
    work = chosen.duration_s.p50 * chosen.goodput.share
    assert chosen.speed.step_s * 100 == pytest.approx(work - 900, rel=0.1), "15 min of start-up are paid, too"
    assert 0 < chosen.speed.rollout_s < chosen.speed.step_s
    answers = 64 * 8 * 1500
    assert 20_000 < answers / chosen.speed.rollout_s < 160_000, "tokens/s that 8 H100 generate in 16 bit"


def test_longer_answers_take_longer_to_generate():
    longer = ROLLOUT.replace("mean: 1500", "mean: 3000")
    assert rl(rollout=longer).chosen.speed.rollout_s > 1.8 * rl().chosen.speed.rollout_s


def test_a_value_model_doubles_the_trained_states():
    grpo, ppo = rl().chosen.memory, rl("ppo").chosen.memory
    assert ppo.optimizer_bytes == pytest.approx(2 * grpo.optimizer_bytes)
    assert ppo.gradients_bytes == pytest.approx(2 * grpo.gradients_bytes)


def test_reference_and_reward_model_are_in_memory():
    without = rl(rollout=ROLLOUT.replace("}}", "}, reference: false}")).chosen.memory.weights_bytes
    scored = rl(rollout=ROLLOUT.replace("}}", "}, reward_model: {base: llama-3.1-8b}}")).chosen.memory.weights_bytes
    plain = rl().chosen.memory.weights_bytes
    assert (plain - without, scored - plain) == pytest.approx((2 * N.trunk / 8, 2 * N.trunk / 8))


def test_reinforcement_learning_has_no_measured_run():
    chosen = rl().chosen
    assert chosen.evidence == "prior only"
    assert chosen.duration_s.p90 / chosen.duration_s.p50 > 1.8


def test_an_engine_without_room_beside_the_trainer_rejects_the_machine():
    """States of 18 bytes per parameter on one H100 leave 80 - 135 GiB."""
    one = plan(
        job("grpo", "none", "{samples: 6400}", f"{ROLLOUT}"), AWS.replace("regions:", "pin: {instance: p5.4xlarge, nodes: 1}, regions:")
    )
    assert not one.fits
    assert {r.reason for x in one.rejected for r in x.rejections} >= {Reason.TRAINING_MEMORY}


def test_supervised_fine_tuning_is_unchanged():
    assert plan(job("sft"), P5).facts.objective == ""
    assert SFT.sequences == SFT.trained_models == 1


def test_dora_keeps_the_outputs_that_it_scales():
    plain, dora = (
        fit(job("sft", f"lora, variant: {v}", more="parallelism: {recompute: none, micro_batch: 1}")).memory for v in ("plain", "dora")
    )
    same = fit(job("sft", "lora, variant: rslora", more="parallelism: {recompute: none, micro_batch: 1}")).memory
    assert dora.activations_bytes > plain.activations_bytes
    assert same == plain


@pytest.mark.parametrize("objective", ["sft", "dpo"])
def test_unpacked_samples_cost_their_own_tokens_and_padding(objective):
    """20,000 samples of 300 tokens, in sequences of 512 or 4,096: 6 million tokens, 1.3 times that padded. Half a sequence was counted."""
    data = "{samples: 20000, tokens_per_sample: 300, packed: false}"
    short, long = (
        plan(job(objective, data=data, more="").replace("h: 4000", f"h: {n}").replace(", }", "}"), P5).facts for n in (512, 4096)
    )
    sequences = 2 if objective == "dpo" else 1
    assert short.tokens == pytest.approx(long.tokens, rel=0.01)
    assert long.tokens == pytest.approx(1.3 * sequences * 6e6, rel=0.01)


def test_the_parts_of_a_step_are_within_it():
    for found in (rl(), rl("ppo")):
        speed = found.chosen.speed
        assert speed.compute_s + speed.communication_s + speed.bubble_s + speed.rollout_s <= speed.step_s * 1.001
