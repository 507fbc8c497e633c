from dataclasses import replace

import numpy as np
import pytest
from rackwright.estimator.calibration.coefficients import calibration
from rackwright.estimator.case import TrainingCase, stack_cases
from rackwright.estimator.config.configuration import TrainingConfig
from rackwright.estimator.config.resolve import training_case
from rackwright.estimator.training.tpu_step import MODELS, TpuCoefficients, step_seconds, tokens_per_s_per_accelerator

K = calibration().of("tpu_step", TpuCoefficients)


def case(chip: str = "TPU v6e", count: int = 256, model: str = "llama-3.1-70b", per_chip: int = 4, slices: int = 1, **more) -> TrainingCase:
    config = {
        "model": model, "hardware": {"accelerator": chip, "count": count, "slices": slices}, "engine": {"name": "MaxText"},
        "sequence": 8192, "layout": {"shard": "fsdp"}, "micro_batch": per_chip, "micro_batches": 1,
    }  # fmt: skip
    return training_case(TrainingConfig.model_validate(config | more), checked=False)


def rate(c: TrainingCase) -> float:
    return float(tokens_per_s_per_accelerator(c, K))


@pytest.mark.parametrize(
    ("chip", "model", "more", "printed"),
    [
        ("TPU v6e", "llama-3.1-8b", {}, 7207.3),
        ("TPU v6e", "llama-3.1-70b", {}, 960.2),
        ("TPU v7", "llama-3.1-70b", {"count": 64}, 2687.0),
        ("TPU v7", "llama-3.1-70b", {"count": 64, "numbers": "fp8"}, 4127.6),
        ("TPU v5p", "llama-2-70b", {"count": 512, "sequence": 4096}, 692.0),
    ],
)
def test_published_rates_of_three_generations_are_predicted(chip, model, more, printed):
    """MaxText's tables and recipe logs: TP0050, TP0073, TP0103, TP0104, TP0055."""
    assert rate(case(chip, model=model, **more)) == pytest.approx(printed, rel=0.12)


def test_attention_runs_in_bf16_for_every_matrix_format():
    """TP0107, TP0108: 131,072 tokens gain 13 % from fp8 where 8,192 gain 54 %."""
    gain = {s: rate(case("TPU v7", numbers="fp8", sequence=s)) / rate(case("TPU v7", sequence=s)) for s in (8192, 131072)}
    assert gain[131072] < 1.25 < 1.4 < gain[8192] < 2


def test_utilization_never_exceeds_the_roofline():
    for chip in ("TPU v4", "TPU v5e", "TPU v5p", "TPU v6e", "TPU v7"):
        c = case(chip)
        assert 0.25 < rate(c) * 6 * c.network.matmul / c.chip.peak_flops < 0.85


def test_more_memory_bandwidth_or_faster_links_never_slow_a_step():
    c = case()
    for faster in (
        replace(c, chip=replace(c.chip, bandwidth_bytes_per_s=2 * c.chip.bandwidth_bytes_per_s)),
        replace(c, links=replace(c.links, scale_up_bytes_per_s=2 * c.links.scale_up_bytes_per_s)),
    ):
        assert step_seconds(faster, K).total < step_seconds(c, K).total


def test_one_chip_has_no_communication():
    terms = step_seconds(case(count=1, model="llama-3.1-8b"), K)
    assert terms.data_total == 0
    assert terms.total == terms.compute


def test_slices_add_data_center_network_time():
    """MaxText's v5e table: 32 slices keep 90 % of one slice's rate, 2 slices 97 %."""
    one, two, many = (rate(case("TPU v5e", 256 * s, "llama-3.1-8b", slices=s)) for s in (1, 2, 32))
    assert one > two > many > 0.85 * one


def test_link_traffic_matches_a_hand_calculation():
    """8.03e9 weights: 3 gathers x 2 bytes over 360 GB/s; fp32 gradients of a 256th over 918e12 / 73,000 = 12.6 GB/s, in both directions."""
    gathered = 3 * 2 * 8.03e9 * 255 / 256 / 360e9
    one = step_seconds(case(model="llama-3.1-8b"), K)
    assert one.data_total == pytest.approx(gathered, rel=0.01)
    assert one.data_exposed == pytest.approx(0.2 * gathered, rel=0.01)
    two = step_seconds(case(count=512, model="llama-3.1-8b", slices=2), K)
    assert two.data_total - one.data_total == pytest.approx(4 * 8.03e9 / 256 / 12.58e9, rel=0.02)


def test_full_recompute_costs_less_than_a_whole_forward_pass():
    none, full = (float(step_seconds(case(recompute=r), K).total) for r in ("none", "full"))
    assert 1.03 < full / none < 1.2


def test_more_tokens_per_chip_overlap_the_gathers():
    assert rate(case(per_chip=8)) > rate(case(per_chip=1))


def test_a_token_that_goes_to_more_experts_takes_longer():
    c = case("TPU v5p", model="mixtral-8x7b")
    routed = replace(c, network=replace(c.network, top_k=4))
    assert step_seconds(routed, K).expert_exposed == pytest.approx(2 * step_seconds(c, K).expert_exposed)
    assert step_seconds(case(), K).expert_exposed == 0


def test_arrays_of_cases_agree_with_single_cases():
    cases = [case(), case("TPU v5p", 64), case("TPU v7", model="mixtral-8x7b", numbers="fp8")]
    assert np.allclose(tokens_per_s_per_accelerator(stack_cases(cases), K), [rate(c) for c in cases])


def test_mixtures_of_experts_do_not_use_intervals_of_dense_models():
    (model,) = MODELS
    assert model.classes(case()) == ("dense", "all")
    assert "all" not in model.classes(case(model="mixtral-8x7b"))
    assert model.applies(case())
    assert not model.applies(case("H100"))
