"""Rates of whole samples: published anchors, order of engines and formats, arrays, intervals and their evidence."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rackwright.estimator.calibration.coefficients import calibration
from rackwright.estimator.config import accelerators
from rackwright.estimator.estimate import estimate
from rackwright.estimator.model.from_architecture import architecture_of, model_dimensions
from rackwright.estimator.predict_samples import SamplePrediction
from rackwright.estimator.sample_case import SampleCase


def case(model: str = "vit-l-16", accelerator: str = "L4", numbers: str = "bf16", **fields) -> SampleCase:
    n, chip = model_dimensions(architecture_of(model)), accelerators.chip(accelerators.find(accelerator), numbers)
    return SampleCase(**{"network": n, "chip": chip, "batch": 1.0, "numbers": numbers, **fields})


def rate(*args, **fields) -> float:
    return float(SamplePrediction.of(case(*args, **fields), calibration()).samples_per_s_per_accelerator)


@pytest.mark.parametrize(("batch", "images_per_s"), [(1, 115.0), (128, 350.0)])
def test_reported_rates_of_vit_large_on_l4_are_in_the_interval(batch, images_per_s):
    """About 115 images/s at batch 1 and 350 at batch 128, a field report that does not print the engine."""
    found = estimate({"kind": "samples", "model": "vit-l-16", "hardware": {"accelerator": "L4"}, "batch": batch}).samples_per_s
    assert found
    assert found.p10 < images_per_s < found.p90


def test_stored_scores_and_windows_cost_traffic_and_launches():
    fused, stored = (rate(batch=b, fused_attention=1.0) / rate(batch=b, fused_attention=0.0) for b in (128.0, 1.0))
    assert fused > 1.1
    assert stored > 1.1


def test_replayed_graphs_have_shorter_gaps_on_faster_clocks():
    """ResNet-50 at batch 1 in MLPerf: 0.48 ms on A100 at 1.41 GHz (NV0057), 0.28 ms on L40 at 2.49 GHz (NV0318)."""
    replayed, plain = (rate("resnet-50", "A100-80GB", "int8", engine="tensorrt", replayed=r) for r in (1.0, 0.0))
    assert replayed > 1.1 * plain
    assert rate("resnet-50", "L40", "int8", engine="tensorrt", replayed=1.0) > 1.3 * replayed


def test_geforce_cards_come_nearer_to_their_halved_peak():
    """ViT-H in timm: 82 % of 165 TFLOP/s on RTX 4090 (NV0553), a share that no card with the full rate reaches."""
    share = {name: rate("vit-l-16", name, "fp16", batch=512.0) / accelerators.find(name).peak("fp16") for name in ("RTX4090", "L40S")}
    assert share["RTX4090"] > 1.2 * share["L40S"]


@pytest.mark.parametrize("task", ["inference", "training"])
def test_boxes_cost_host_time_in_reference_scripts_only(task):
    script = [rate("resnet-50", "A100-80GB", "fp16", batch=8.0, engine="reference", task=task, boxes=x) for x in (0.0, 1.0)]
    own = [rate("resnet-50", "A100-80GB", "fp16", batch=8.0, task=task, boxes=x) for x in (0.0, 1.0)]
    assert script[1] < script[0]
    assert own[0] == own[1]


def test_queued_batches_hide_the_gaps_of_neuron_cores():
    plain, queued = (rate("vit-l-16", "Inferentia2", batch=2.0, queued=q) for q in (0.0, 1.0))
    assert queued > plain


def test_a_larger_batch_is_faster_and_saturates():
    one, many, more = (rate(batch=b) for b in (1.0, 64.0, 128.0))
    assert one < many <= more < 1.1 * many


@pytest.mark.parametrize("model", ["vit-l-16", "resnet-50"])
def test_engines_are_in_order_at_batch_one(model):
    eager, compiled, engine = rate(model), rate(model, compiled=1.0), rate(model, engine="tensorrt")
    assert eager < compiled < engine


def test_formats_are_in_order():
    wide, half, narrow = (rate(numbers=f, batch=128.0, engine="tensorrt") for f in ("fp32", "fp16", "int8"))
    assert wide < half < narrow


def test_guidance_costs_a_second_sample_and_steps_a_pass_each():
    plain, guided = rate("sdxl", "H100", passes=30.0, batch=4.0), rate("sdxl", "H100", passes=30.0, batch=4.0, guidance=2.0)
    assert 1.7 < plain / guided <= 2.05
    assert rate("sdxl", "H100", passes=60.0) == pytest.approx(rate("sdxl", "H100", passes=30.0) / 2)


def test_training_costs_three_passes_and_an_adapter_two():
    forward, adapter, full = (rate("sdxl", "A100-80GB", batch=8.0, task=t) for t in ("inference", "adapter", "training"))
    assert forward > 1.5 * adapter > 1.5 * full
    assert rate("sdxl", "A100-80GB", batch=8.0, task="training", recompute=1.0) < full


def test_a_case_of_arrays_equals_its_cases():
    batch = np.array([1.0, 8.0, 64.0])
    found = SamplePrediction.of(case(batch=batch), calibration())
    assert found.samples_per_s_per_accelerator == pytest.approx([rate(batch=b) for b in batch])
    assert found.memory.activations.shape == (3,)


@given(st.sampled_from(["T4", "L4", "A100-80GB", "H100", "TPU v6e"]), st.floats(1.01, 4), st.sampled_from(["bandwidth", "watts"]))
def test_better_hardware_is_never_slower(name, more, what):
    base = case("resnet-50", name, batch=32.0)
    chip = base.chip
    field = {"bandwidth": "bandwidth_bytes_per_s", "watts": "watts"}[what]
    better = replace(base, chip=replace(chip, **{field: getattr(chip, field) * more}))
    slow, fast = (SamplePrediction.of(c, calibration()).pass_s for c in (base, better))
    assert fast <= slow * (1 + 1e-9)


def test_the_interval_comes_from_measured_runs():
    found = estimate({"kind": "samples", "model": "sdxl", "hardware": {"accelerator": "H100"}, "passes": 30, "numbers": "fp8"})
    assert found.samples_per_s
    assert found.samples_per_s.n > 100
    assert found.evidence == f"{found.samples_per_s.n} measured runs of this class"
    assert 1.3 < found.samples_per_s.p90 / found.samples_per_s.p10 < 6


def test_an_accelerator_without_runs_is_prior_only():
    found = estimate({"kind": "samples", "model": "resnet-50", "hardware": {"accelerator": "Trainium2"}})
    assert found.samples_per_s
    assert found.samples_per_s.is_prior_only
    assert found.samples_per_s.p90 / found.samples_per_s.p50 >= 2


def test_the_nearest_run_is_of_the_same_task_and_operation():
    (run,) = estimate(
        {"kind": "samples", "model": "resnet-50", "hardware": {"accelerator": "A100-80GB"}, "batch": 256, "train": True}
    ).nearest
    assert "A100" in run.hardware
    assert "ResNet" in run.model
    assert run.predicted
    assert 0.4 < run.predicted / run.measured < 2.5


def test_a_catalog_network_takes_its_published_layers_and_activations():
    """ResNet-50 by name, and by its parameters and FLOPs alone: the same FLOPs, usual activations."""
    named = {"kind": "samples", "model": "resnet-50", "hardware": {"accelerator": "A100-80GB"}, "batch": 64}
    fields = {"kind": "vision", "parameter_count": 25_557_032, "flops_per_sample": 8.18e9}
    one, other = (estimate({**named, "model": m}).samples_per_s for m in ("resnet-50", fields))
    assert one
    assert other
    assert one.p50 == pytest.approx(other.p50, rel=0.1)


def test_a_single_request_runs_on_one_neuron_core():
    """AWS Neuron: each core has its own batch, so two requests on the two cores of Inferentia2 take little longer than one."""
    one, two = rate("vit-l-16", "Inferentia2", batch=1.0), rate("vit-l-16", "Inferentia2", batch=2.0)
    assert 1.5 < two / one < 2.2


@pytest.mark.parametrize(("accelerator", "gains"), [("T4", False), ("V100", False), ("A100-80GB", True), ("L4", True)])
def test_a_compiler_gains_from_ampere_on(accelerator, gains):
    plain, compiled = (rate("sdxl", accelerator, "fp16", batch=4.0, compiled=c) for c in (0.0, 1.0))
    assert (compiled > 1.05 * plain) is gains
    assert compiled >= plain


def test_matrix_units_with_fewer_vector_units_reach_a_smaller_share():
    """SD 1.5 at batch 16 reaches 98 TFLOP/s on A100 (312) and on RTX 4090 (165): NV1214, NV1270."""
    a100, card = (rate("sdxl", name, "fp16", batch=16.0, compiled=1.0) for name in ("A100-80GB", "RTX4090"))
    assert a100 < 1.5 * card


@pytest.mark.parametrize(("name", "tflops"), [("RTX3090", 35.6), ("A6000", 38.7), ("A40", 37.4), ("A30", 10.3), ("A10G", 35)])
def test_cards_with_a_bridge_have_their_published_fp32_peak(name, tflops):
    assert accelerators.find(name).peak("fp32") == pytest.approx(tflops * 1e12)
