"""Whole samples: sustained rates by power, peak and memory bandwidth, compared with a published ratio."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rackwright.catalog.models import library
from rackwright.estimator import samples
from rackwright.estimator.config import accelerators
from rackwright.estimator.estimate import estimate
from rackwright.estimator.model.dimensions import ModelDimensions
from rackwright.estimator.model.from_architecture import model_dimensions
from rackwright.units import GIB

REPORTED = {"T4": 8.0, "L4": 3.0}
"""A TPU chip over each, an SDXL + LoRA service: a published field report that names neither date nor TPU generation."""


def images_per_s(accelerator: str) -> float:
    found = estimate({"kind": "samples", "model": "sdxl", "hardware": {"accelerator": accelerator}, "passes": 50}).samples_per_s
    assert found
    return found.p50


@pytest.mark.parametrize(("card", "ratio"), REPORTED.items())
def test_the_reported_tpu_ratio_is_within_a_factor_of_two(card, ratio):
    ours = images_per_s("TPU v5e") / images_per_s(card)
    assert ratio / 2 < ours < ratio * 2


def test_a_70_watt_card_does_not_sustain_its_peak():
    """T4: 65 TFLOP/s at 70 W would be more per watt than an A100 of the next process node; V100 sustains 29."""
    t4, v100_per_watt = accelerators.chip(accelerators.find("T4")), 125e12 / 300
    assert samples.sustained_flops(t4) == pytest.approx(70 * v100_per_watt)
    assert samples.sustained_flops(t4) < 0.5 * t4.peak_flops


def test_unpublished_power_sets_no_limit():
    v5e = accelerators.chip(accelerators.find("TPU v5e"))
    assert samples.sustained_flops(v5e) == pytest.approx(0.9 * 197e12)


def test_half_the_width_costs_half_the_energy():
    l4 = accelerators.find("L4")
    assert samples.sustained_flops(accelerators.chip(l4, "fp8")) == pytest.approx(2 * samples.sustained_flops(accelerators.chip(l4)))


@given(st.sampled_from(["T4", "L4", "A100-80GB", "H100", "TPU v6e"]), st.floats(1.01, 4), st.sampled_from(["peak", "bandwidth", "watts"]))
def test_better_hardware_never_slows_a_pass(name, more, what):
    row = library.find("sdxl")
    assert row
    n, chip = model_dimensions(row.architecture), accelerators.chip(accelerators.find(name))
    changed = {
        "peak": {"peak_flops": chip.peak_flops * more, "base_peak_flops": chip.base_peak_flops * more},
        "bandwidth": {"bandwidth_bytes_per_s": chip.bandwidth_bytes_per_s * more},
        "watts": {"watts": chip.watts * more},
    }[what]
    assert samples.pass_seconds(n, replace(chip, **changed), 2) <= samples.pass_seconds(n, chip, 2) * (1 + 1e-9)


@given(st.integers(1, 64))
def test_a_batch_takes_between_one_pass_and_its_size_times_one_pass(batch):
    row = library.find("sdxl")
    assert row
    n, chip = model_dimensions(row.architecture), accelerators.chip(accelerators.find("L4"))
    one, many = samples.pass_seconds(n, chip, 1), samples.pass_seconds(n, chip, batch)
    assert one <= many <= batch * one * (1 + 1e-9)


VIDEO = ModelDimensions(total=14e9, trunk=14e9, flops_per_sample=6.8e15)
"""A video transformer of which only parameters and FLOPs are known: 75,600 tokens at 720p and 81 frames (Wan 2.1, arXiv 2503.20314)."""


def test_a_forward_pass_of_a_video_model_keeps_layers_of_tokens_not_a_share_of_its_flops():
    """A tenth of the FLOPs' bytes would be 3,000 GiB; one layer of 75,600 tokens has 12 GiB."""
    live = float(samples.live_bytes(VIDEO, 1.0)) / GIB
    assert 5 < live < 40
    assert live < float(samples.activation_bytes(VIDEO, 1.0)) / GIB / 10


def test_activations_of_a_transformer_follow_its_tokens():
    row = library.find("flux.1-dev")
    assert row
    n = model_dimensions(row.architecture)
    longer = replace(n, sample_tokens=2 * n.sample_tokens, flops_per_sample=3 * n.flops_per_sample)
    assert samples.activation_bytes(longer, 1.0) == pytest.approx(2 * samples.activation_bytes(n, 1.0))
