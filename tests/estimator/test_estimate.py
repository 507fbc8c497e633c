"""The estimate of a pinned configuration: properties, published runs, launch flags."""

from dataclasses import asdict, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rackwright.estimator.calibration.coefficients import calibration
from rackwright.estimator.estimate import estimate
from rackwright.estimator.result import Estimate, PredictionInterval

from tests.estimator.configs import serving_data, training_data

GIB = 2**30
PRIOR_ONLY = {
    "Trainium 2": serving_data(hardware={"accelerator": "Trainium2"}, model="llama-3.2-1b", layout={}, weight_numbers="bf16"),
    "Ironwood": serving_data(hardware={"accelerator": "Ironwood"}, model="llama-3.2-1b", layout={}, weight_numbers="bf16"),
    "T4 training": training_data(hardware={"accelerator": "T4"}, model="llama-3.2-1b", numbers="fp16", sequence=1024, global_batch=8),
    "diffusion": {"kind": "samples", "model": "sdxl", "hardware": {"accelerator": "Trainium2"}, "passes": 30},
    "vision": {"kind": "samples", "model": "vit-l-16", "hardware": {"accelerator": "TPU v5p"}, "batch": 64, "train": True},
}
SAMPLES = {
    "diffusion": {"kind": "samples", "model": "sdxl", "hardware": {"accelerator": "L4"}, "passes": 30},
    "vision": {"kind": "samples", "model": "vit-l-16", "hardware": {"accelerator": "H100"}, "batch": 64, "train": True},
}


def bands(e: Estimate) -> dict[str, PredictionInterval]:
    return {name: value for name, value in vars(e).items() if isinstance(value, PredictionInterval)}


@pytest.mark.parametrize("data", [training_data(), serving_data(), serving_data(concurrency=None), *PRIOR_ONLY.values(), *SAMPLES.values()])
def test_intervals_are_in_order(data):
    for name, b in bands(estimate(data)).items():
        assert 0 < b.p10 <= b.p50 <= b.p90, name


def test_terms_sum_to_the_headline():
    e = estimate(training_data(layout={"pipeline": 2}, global_batch=16))
    assert e.memory.total == pytest.approx(e.peak_memory_bytes.p50)
    assert e.step is not None
    assert e.step_s is not None
    assert e.step.total == pytest.approx(e.step_s.p50)
    assert max(t.total for t in e.memory_stages) == pytest.approx(e.memory.total)
    assert len(e.memory_stages) == 2


def test_rates_agree_with_the_step():
    e = estimate(training_data(tokens=1e9))
    assert e.step_s
    assert e.tokens_per_s
    assert e.tokens_per_s_per_accelerator
    assert e.samples_per_s
    assert e.time_to_train_s
    assert e.tokens_per_s.p50 == pytest.approx(16 * 8192 / e.step_s.p50)
    assert e.tokens_per_s.p90 == pytest.approx(16 * 8192 / e.step_s.p10)
    assert e.tokens_per_s_per_accelerator.p50 * 8 == pytest.approx(e.tokens_per_s.p50)
    assert e.samples_per_s.p50 * 8192 == pytest.approx(e.tokens_per_s.p50)
    assert e.time_to_train_s.p50 > 1e9 / e.tokens_per_s.p50


@pytest.mark.parametrize("name", PRIOR_ONLY)
def test_estimates_without_measured_runs_are_prior_only_with_a_factor_of_two(name):
    e = estimate(PRIOR_ONLY[name])
    assert e.evidence.startswith("prior only")
    b = e.step_s or e.tpot_s
    assert b is not None
    assert b.n == 0
    assert b.p90 / b.p50 >= 2
    assert b.p50 / b.p10 >= 2


@pytest.mark.parametrize("name", ["T4", "L4", "A10G", "Gaudi2", "Inferentia2", "MI300X"])
def test_serving_on_small_cards_and_other_vendors_is_measured(name):
    e = estimate(serving_data(hardware={"accelerator": name}, model="llama-3.2-1b", layout={}, weight_numbers="fp16", input_tokens=200))
    assert "measured runs" in e.evidence
    assert e.tpot_s.n > 0


def test_one_accelerator_has_no_communication():
    e = estimate(training_data(hardware={"accelerator": "H100"}, model="llama-3.2-1b", global_batch=4))
    assert e.step is not None
    assert {name: value for name, value in asdict(e.step).items() if "_exposed" in name or "_total" in name or name == "bubble"} == {
        name: 0.0 for name in asdict(e.step) if "_exposed" in name or "_total" in name or name == "bubble"
    }


@settings(max_examples=20, deadline=None)
@given(st.sampled_from([2, 4, 8]), st.sampled_from(["scale_up_gb_s", "scale_out_gb_s"]), st.floats(1.05, 4))
def test_more_bandwidth_never_slows_a_step(tensor, link, more):
    slow = {"accelerator": "H100-80GB", "count": 32, "scale_up_gb_s": 300, "scale_out_gb_s": 12}
    fast = slow | {link: slow[link] * more}
    one, other = (estimate(training_data(hardware=h, layout={"tensor": tensor}, global_batch=64)) for h in (slow, fast))
    assert one.step_s
    assert other.step_s
    assert other.step_s.p50 <= one.step_s.p50 * (1 + 1e-9)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 4), st.sampled_from(["none", "selective", "full"]))
def test_doubling_replicas_at_a_fixed_batch_keeps_step_tokens(power, recompute):
    def of(count: int) -> float:
        e = estimate(training_data(hardware={"accelerator": "H100-80GB", "count": count}, global_batch=256, recompute=recompute))
        assert e.tokens_per_s
        assert e.step_s
        return e.tokens_per_s.p50 * e.step_s.p50

    assert of(8 * 2**power) == pytest.approx(of(8)) == pytest.approx(256 * 8192)


@pytest.mark.parametrize("model", ["llama-3.1-8b", "mixtral-8x7b"])
def test_the_largest_micro_batch_fits_and_the_next_does_not(model):
    data = training_data(
        model=model, hardware={"accelerator": "H200", "count": 64}, sequence=2048, global_batch=64 * 1024, recompute="full"
    )
    most = estimate(data).largest_micro_batch
    assert most is not None
    assert most > 1
    assert estimate(data | {"micro_batch": most, "global_batch": 64 * most}).fits
    assert not estimate(data | {"micro_batch": most + 1, "global_batch": 64 * (most + 1)}).fits


def test_recompute_reduces_memory_and_takes_time():
    none, full = (estimate(training_data(recompute=r)) for r in ("none", "full"))
    assert full.memory.activations < none.memory.activations
    assert full.step
    assert none.step
    assert full.step.recompute > none.step.recompute == 0


SPEAKS_OF = {
    "step": training_data(),
    "tpu_step": training_data(hardware={"accelerator": "v5p", "count": 8}, engine={"name": "MaxText"}),
    "memory": training_data(),
    "adapter_memory": training_data(adapter={"type": "lora"}, engine={"name": "HF"}),
    "decode": serving_data(),
    "ttft": serving_data(),
    "offline": serving_data(concurrency=None),
    "kv_capacity": serving_data(),
    "samples": SAMPLES["vision"],
    "denoising": SAMPLES["diffusion"],
    "platform": serving_data(hardware={"accelerator": "L4", "count": 4}, model="llama-3.1-8b", weight_numbers="bf16"),
}


@pytest.mark.parametrize("model", SPEAKS_OF)
def test_a_changed_coefficient_changes_the_estimate(model):
    shipped = calibration()
    changed = {name: value * 1.5 for name, value in shipped.models[model].items()}
    other = replace(shipped, models={**shipped.models, model: changed})
    assert estimate(SPEAKS_OF[model]).to_dict() != estimate(SPEAKS_OF[model], other).to_dict()


def test_every_fitted_model_has_an_estimate_test():
    assert set(calibration().models) - set(SPEAKS_OF) == {"finish"}, "finish is for runs without a layout"


def test_prefix_hits_reduce_time_to_first_token():
    cold, warm = (estimate(serving_data(prefix_hit_rate=share)) for share in (0.0, 0.9))
    assert cold.ttft_s
    assert warm.ttft_s
    assert warm.ttft_s.p50 < cold.ttft_s.p50


def test_accepted_drafts_reduce_tpot_and_rejected_drafts_increase_it():
    plain = estimate(serving_data())
    good, bad = (estimate(serving_data(speculation={"draft": 3, "acceptance": a, "draft_share": 0.1})) for a in (0.8, 0.0))
    assert plain.tpot_s
    assert good.tpot_s
    assert bad.tpot_s
    assert good.tpot_s.p50 < plain.tpot_s.p50 < bad.tpot_s.p50


def test_drafts_widen_the_interval_by_the_range_of_their_acceptance():
    plain, drafted = estimate(serving_data()), estimate(serving_data(speculation={"draft": 3, "acceptance": 0.7, "draft_share": 0.1}))
    assert plain.tpot_s
    assert drafted.tpot_s
    assert plain.output_tokens_per_s
    assert drafted.output_tokens_per_s
    for before, after in ((plain.tpot_s, drafted.tpot_s), (plain.output_tokens_per_s, drafted.output_tokens_per_s)):
        assert after.p90 / after.p50 > before.p90 / before.p50
        assert after.p10 / after.p50 < before.p10 / before.p50


def test_an_acceptance_above_published_ones_gives_a_warning():
    high, usual = (estimate(serving_data(speculation={"draft": 3, "acceptance": a, "draft_share": 0.1})) for a in (0.95, 0.9))
    assert any("acceptance of drafts above 90%" in text for text in high.warnings)
    assert not usual.warnings


def test_small_parts_of_prompts_start_later():
    long = {"input_tokens": 8000, "concurrency": 4}
    default, small = estimate(serving_data(**long)), estimate(serving_data(**long, max_batched_tokens=512))
    assert default.ttft_s
    assert small.ttft_s
    assert small.ttft_s.p50 > default.ttft_s.p50


@pytest.mark.parametrize(("numbers", "format_"), [("fp8", "fp8"), ("int8", "int8_per_token_head")])
def test_the_cache_format_is_an_argument_of_the_server(numbers, format_):
    assert f"--kv-cache-dtype {format_}" in estimate(serving_data(kv_numbers=numbers)).launch["vllm"]


def test_adapters_take_memory_and_time_of_a_server():
    plain, many = estimate(serving_data()), estimate(serving_data(loras=16, lora_rank=64))
    assert plain.tpot_s
    assert many.tpot_s
    assert plain.kv_tokens
    assert many.kv_tokens
    assert many.tpot_s.p50 > plain.tpot_s.p50
    assert many.kv_tokens.p50 < plain.kv_tokens.p50


def test_separate_pools_keep_prompts_out_of_decoding():
    pool = {"accelerators": 4, "layout": {"tensor": 4}}
    both = serving_data(hardware={"accelerator": "H200", "count": 8}, concurrency=64)
    together, apart = estimate(both), estimate(both | {"prefill": pool, "decode": pool})
    assert together.tpot_s
    assert apart.tpot_s
    assert apart.output_tokens_per_s
    assert apart.output_tokens_per_s.p50 > 0
    assert set(apart.launch) == {"vllm-prefill", "vllm-decode"}


def test_a_server_without_memory_for_the_cache_does_not_start():
    e = estimate(serving_data(hardware={"accelerator": "H100"}, layout={}, weight_numbers="bf16"))
    assert not e.fits
    assert "does not start" in e.warnings[0]


def test_launch_flags_match_the_configuration():
    flags = estimate(
        training_data(layout={"tensor": 2, "pipeline": 2, "virtual": 2, "shard": "zero1"}, numbers="fp8", recompute="full")
    ).launch
    assert flags["torchrun"].startswith("torchrun --nnodes=1 --nproc-per-node=8 ")
    for said in ("--tensor-model-parallel-size 2", "--pipeline-model-parallel-size 2", "--num-virtual-stages-per-pipeline-rank 2",
                 "--use-distributed-optimizer", "--recompute-granularity full", "--fp8-format hybrid", "--global-batch-size 16",
                 "--seq-length 8192", "--num-query-groups 8", "--swiglu"):  # fmt: skip
        assert said in flags["megatron"]
    vllm = estimate(serving_data(kv_numbers="fp8", loras=2, prefix_hit_rate=0.5)).launch["vllm"]
    for said in ("vllm serve llama-3.1-70b", "--tensor-parallel-size 4", "--quantization fp8", "--kv-cache-dtype fp8", "--max-loras 2",
                 "--enable-prefix-caching", "--max-model-len 1536"):  # fmt: skip
        assert said in vllm


@pytest.mark.parametrize(
    ("model", "accelerator", "engine"),
    [("mixtral-8x7b", "H100", "HF PEFT"), ("llama-3.1-8b", "v6e", "MaxText"), ("mixtral-8x7b", "v6e", "MaxText")],
)
def test_runs_of_pretraining_are_no_evidence_for_adapters(model, accelerator, engine):
    """The evidence for an adapter run on a TPU was once 26 runs that trained every weight."""
    hardware = {"accelerator": accelerator, "count": 64}
    e = estimate(
        training_data(model=model, hardware=hardware, engine={"name": engine}, adapter={"type": "lora"}, global_batch=64, recompute="full")
    )
    assert e.step_s
    assert e.step_s.n == 0
    assert e.step_s.p90 / e.step_s.p50 >= 2


def test_quantized_weights_reduce_memory_of_an_image_model():
    whole, fewer = (estimate(PRIOR_ONLY["diffusion"] | {"numbers": n}).memory.weights for n in ("bf16", "int8"))
    assert whole / 2 <= fewer < whole


def test_missing_routing_is_listed_as_assumption():
    experts = {"model": "mixtral-8x7b", "hardware": {"accelerator": "H100", "count": 64}, "global_batch": 64}
    assert any("routing" in words for words in estimate(training_data(**experts)).assumptions)
    assert not any("routing" in words for words in estimate(training_data(**experts, routing="real")).assumptions)
    assert not any("routing" in words for words in estimate(training_data()).assumptions)


def test_the_nearest_run_lists_the_differences():
    e = estimate(training_data())
    run = next(r for r in e.nearest if r.metric == "tokens_per_s_per_accel")
    assert "Llama-3" in run.model
    assert run.source.startswith("http")
    assert run.measured > 0
