from dataclasses import replace

import numpy as np
import pytest
from rackwright.estimator.calibration.coefficients import calibration
from rackwright.estimator.case import TrainingCase, stack_cases
from rackwright.estimator.config import accelerators
from rackwright.estimator.config.configuration import TrainingConfig
from rackwright.estimator.config.resolve import training_case
from rackwright.estimator.dataset.columns.cells import PrintedRow, UnsupportedRow
from rackwright.estimator.dataset.columns.time_to_train import run_case
from rackwright.estimator.dataset.columns.training import training_config
from rackwright.estimator.result import PredictionInterval
from rackwright.estimator.training import run_time
from rackwright.estimator.training.run_time import RunCase, RunCoefficients, evaluation_seconds, goodput, run_seconds, step_seconds

K = calibration().of("finish", RunCoefficients)
TEXTS = {
    "row_id": "R1", "hardware": "B200", "accel_count": "8", "nodes": "1", "model": "Llama-2-70B", "params_b": "68.98", "layers": "80",
    "hidden": "8192", "heads": "64", "kv_heads": "8", "head_dim": "128", "ffn": "28672", "vocab": "32000", "method": "lora",
    "framework": "NVIDIA NeMo Framework Release 25.04", "seq_len": "8192", "global_batch": "8", "grad_accum": "1", "peft_rank": "16",
    "tokens_total": "25165824", "samples_to_target": "3072", "as_of": "2025-06", "metric_kind": "MLPerf Training v5.0 result",
}  # fmt: skip
PRETRAIN_405B = {
    "hardware": "GB200", "accel_count": "512", "nodes": "128", "model": "Llama-3.1-405B", "params_b": "405.85", "layers": "126",
    "hidden": "16384", "heads": "128", "ffn": "53248", "vocab": "128256", "method": "pretrain", "peft_rank": "",
    "global_batch": "1152", "grad_accum": "144", "tokens_total": "2717908992", "samples_to_target": "331776", "as_of": "2025-11",
    "framework": "NVIDIA NeMo Framework Release 25.09",
}  # fmt: skip


def run(**cells: str) -> RunCase:
    row = PrintedRow("time_to_train", 2, TEXTS | cells)
    return run_case(row, training_config(row)[0])


def dense(count: int = 8, **more) -> TrainingCase:
    config = {
        "model": "llama-3.1-8b", "hardware": {"accelerator": "H100", "count": count}, "engine": {"name": "Megatron"},
        "sequence": 8192, "global_batch": 1024,
    }  # fmt: skip
    return training_case(TrainingConfig.model_validate(config | more))


def seconds(case: TrainingCase, k: RunCoefficients = K, **more) -> float:
    return float(step_seconds(RunCase(case, 1e9, **more), k))


@pytest.mark.parametrize(
    ("cells", "step_s", "minutes"),
    [
        ({}, 1.5247, 11.115),
        ({"hardware": "GB300", "accel_count": "512", "nodes": "128", "global_batch": "64", "tokens_total": "56623104"}, 0.1832, 0.402),
        (PRETRAIN_405B, 17.2612, 84.94),
    ],
)
def test_published_step_times_give_the_published_run_time(cells, step_s, minutes):
    """TD0069, TD0149, TD0160: the time between the steps is evaluation only."""
    assert run_seconds(run(**cells), step_s) / 60 == pytest.approx(minutes, rel=0.02)


def test_benchmark_evaluations_match_a_hand_calculation():
    """3,072 sequences: eight evaluations less the three excluded ones, each 173 sequences in 22 batches of 8 at half of LoRA's step."""
    assert evaluation_seconds(run(), 1.0) == 5 * 22 / 2
    pretraining = 331_776 / 46_080 * 5760 / 8 / 144 / 3
    assert evaluation_seconds(run(**PRETRAIN_405B), 1.0) == pytest.approx(pretraining)


@pytest.mark.parametrize(
    ("cells", "minutes", "within"),
    [
        ({}, 11.1, 0.1),
        ({"hardware": "MI300X", "framework": "PyTorch 2.6.0, ROCm 6.4"}, 28.2, 0.15),
        ({"hardware": "H100-80GB", "grad_accum": "4", "as_of": "2024-06"}, 29.4, 0.15),
        ({"hardware": "GB200", "accel_count": "64", "nodes": "16"}, 1.86, 0.25),
        (PRETRAIN_405B, 84.9, 0.15),
    ],
)
def test_published_times_follow_from_hardware_count_and_batch(cells, minutes, within):
    """Medians of equal submissions to MLPerf Training 4.0 to 5.1."""
    assert float(run_time.time_to_train_min(run(**cells), K)) == pytest.approx(minutes, rel=within)


def test_time_is_linear_in_tokens():
    case = dense()
    one, two = (float(run_seconds(RunCase(case, t), 1.0)) - run_time.STARTUP_S for t in (1e12, 2e12))
    assert two == pytest.approx(2 * one)


def test_more_replicas_at_a_fixed_batch_shorten_each_step():
    few, many = dense(8), dense(64)
    assert few.step_tokens == many.step_tokens
    assert seconds(many) < seconds(few) < 8.01 * seconds(many)


@pytest.mark.parametrize("part", ["chip", "links"])
def test_faster_hardware_is_never_slower(part):
    case = dense(64, layout={"tensor": 8})
    for name, value in vars(getattr(case, part)).items():
        if "bytes_per_s" in name or name.endswith("flops"):
            faster = replace(case, **{part: replace(getattr(case, part), **{name: 2 * value})})
            assert seconds(faster) <= seconds(case), name


def test_one_accelerator_has_no_communication():
    case = dense(1)
    slow = replace(case, links=replace(case.links, scale_up_bytes_per_s=1.0, scale_out_bytes_per_s=1.0))
    assert seconds(slow) == seconds(case)


def test_link_traffic_matches_a_hand_calculation():
    """Of one step of 8.03e9 weights: 4 bytes each over NVLink at 450 GB/s, then an eighth of them over 50 GB/s; 8 x 7/8 hidden
    vectors of 2 bytes a layer and token, half of them exposed."""
    nothing = replace(K, matmul_efficiency=1e12, activation_passes=0.0, step_fixed_s=0.0)
    case = dense(64, global_batch=64)
    far = replace(case, chip=replace(case.chip, base_peak_flops=1e30, peak_flops=1e30))
    gradients = 4 * 8.03e9 * (1 / 450e9 + 1 / 50e9 / 8)
    assert seconds(far, nothing) == pytest.approx(gradients, rel=0.01)
    split = replace(far, tensor=8.0, replicas=8.0, micro_batches=8.0, trainable=0.0)
    assert seconds(split, nothing) == pytest.approx(8 * 0.5 * 8 * 7 / 8 * 8192 * 4096 * 2 * 32 / 450e9, rel=0.01)


def test_a_pipeline_adds_its_bubble():
    case = dense(8, layout={"pipeline": 8})
    plain = seconds(replace(case, trainable=0.0)) - K.step_fixed_s
    interleaved = seconds(replace(case, trainable=0.0, virtual=4.0)) - K.step_fixed_s
    assert plain / interleaved == pytest.approx((1024 + 7) / (1024 + 7 / 4))


def test_narrow_format_software_gets_faster_and_16_bit_does_not():
    narrow = dense(numbers="fp8")
    assert seconds(narrow, year=2024.5) > seconds(narrow, year=2025.5) > seconds(narrow, year=run_time.LATEST_YEAR)
    assert seconds(narrow, year=2030.0) == seconds(narrow, year=run_time.LATEST_YEAR)
    assert seconds(dense(), year=2024.5) == seconds(dense(), year=2025.5)


def test_goodput_falls_with_scale_and_matches_the_published_value():
    """Llama 3 405B: over 90 % effective time on 16,384 accelerators with 419 failures in 54 days."""
    assert goodput(16_384) == pytest.approx(0.91, abs=0.03)
    assert 0.999 < goodput(1) < 1
    assert goodput(8) > goodput(1024) > goodput(16_384)
    assert goodput(16_384, audited=1.0) == 1


def test_an_estimate_includes_startup_evaluation_and_an_interval():
    case = dense()
    made = run_time.run_time_fields(case, 1e12, PredictionInterval(0.9, 1.0, 1.2, 40), 10)
    band = made["time_to_train_s"]
    assert band.p10 < band.p50 < band.p90
    assert made["startup_s"] == 300
    assert made["evaluation_s"] == 10 * 5760 / 8 / case.micro_batches / 3
    steps = 1e12 / case.step_tokens
    assert band.p50 == pytest.approx(steps / goodput(8) + made["evaluation_s"] + 300)
    assert run_time.run_time_fields(case, 1e12, PredictionInterval(1, 1, 1))["evaluation_s"] == 0


@pytest.mark.parametrize(("name", "share"), [("MI300X", 668.4 / 1300), ("MI350X", 1565 / 2500), ("H200 NVL", 794.5 / 989), ("L40S", 0.8)])
def test_sustained_share_is_measured_on_the_accelerator_or_its_generation(name, share):
    """MI350X uses the value of CDNA 4, H200 NVL that of Hopper; for L40S there is no measurement of an Ada accelerator."""
    assert accelerators.chip(accelerators.find(name)).sustained_share == pytest.approx(share, rel=0.002)


def test_arrays_of_runs_agree_with_single_runs():
    runs = [run(), run(**PRETRAIN_405B), RunCase(dense(), 1e12)]
    together = run_time.time_to_train_min(stack_cases(runs), K)
    assert np.allclose(together, [float(run_time.time_to_train_min(r, K)) for r in runs])


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        ({}, "fp8"),
        ({"framework": "NVIDIA NGC Pytorch 25.04 HugeCTR Nemo 25.09"}, "fp4"),
        ({"hardware": "H100-80GB", "framework": "NVIDIA NeMo Framework Release 25.09"}, "fp8"),
        ({"hardware": "MI350X", "framework": "PyTorch 2.8.0, ROCm 7.0.0"}, "fp8"),
        ({"hardware": "A100-80GB"}, "bf16"),
        ({"framework": "NGC PyTorch Release 24.01 Deepspeed N8"}, "bf16"),
        ({"metric_kind": "published wall-clock"}, "bf16"),
        ({"precision": "bf16"}, "bf16"),
    ],
)
def test_a_blank_precision_is_the_narrowest_supported_format(cells, numbers):
    assert run(**cells).step.numbers == numbers


def test_the_batch_gives_the_accelerators_per_replica():
    case = run(accel_count="64", nodes="8").step
    assert (case.tensor, case.pipeline, case.replicas, case.micro_batches) == (8, 1, 8, 1)
    case = run(**PRETRAIN_405B).step
    assert (case.tensor, case.pipeline, case.virtual, case.micro_batches) == (8, 8, 8, 144)


def test_a_model_card_without_count_and_batch_gets_usual_values():
    card = {"accel_count": "", "nodes": "", "global_batch": "", "grad_accum": "", "metric_kind": "published cumulative accelerator-hours",
            "tokens_total": "2e12", "method": "pretrain", "hardware": "A100-80GB", "peft_rank": ""}  # fmt: skip
    case = run(**card).step
    assert case.accelerators == case.tensor * case.pipeline * case.replicas == 1024
    assert case.step_tokens == pytest.approx(4e6, rel=0.1)
    assert run(**card).evaluations == run(**card).audited == 0


def test_a_run_without_tokens_is_unsupported():
    with pytest.raises(UnsupportedRow, match="tokens"):
        run(tokens_total="", samples_to_target="")
    assert run(tokens_total="").tokens == 3072 * 8192


def test_model_cards_do_not_use_intervals_of_audited_runs():
    (model,) = run_time.MODELS
    assert model.classes(run()) == ("adapters", "all")
    assert model.classes(run(**PRETRAIN_405B)) == ("pretraining", "all")
    assert model.classes(run(metric_kind="published wall-clock")) == ("published",)
    assert not model.applies(dense())
