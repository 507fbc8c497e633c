"""Options of a model server: each changes memory, latency or rate of the chosen replica, and the plan shows by how much."""

import pytest
from rackwright.sizing.economics.serving import serving_job
from rackwright.sizing.plan import SizingPlan
from rackwright.wording.option_effects import option_text

from tests.sizing.helpers import AWS, plan, serve, spec_of

GOALS = "ttft: {target: 1 s}, tpot: {target: 40 ms}"
LONG = (
    "{name: chat, kind: serve, model: {base: llama-3.1-8b}, requests_per_second: 1, input_tokens: {mean: 12000, p95: 24000}, "
    "output_tokens: {mean: 200}, ttft: {target: 5 s}, tpot: {target: 60 ms}, parallelism: {tensor: 1, pipeline: 1}, "
)
PINNED = AWS.replace("regions", "pin: {instance: p5.48xlarge}, regions")


def effect(more: str, workload: str = "", place: str = AWS):
    found = plan(f"{workload}{more}}}" if workload else serve(more=f"{GOALS}, {more}"), place)
    (only,) = found.options
    return only


@pytest.mark.parametrize("numbers", ["fp8", "int8"])
def test_a_narrow_cache_holds_more_tokens_and_is_read_faster(numbers):
    it = effect(f"kv_dtype: {numbers}")
    scales = 4 / 128 if numbers == "int8" else 0.0
    assert it.after.kv_tokens / it.before.kv_tokens == pytest.approx(2 / (1 + scales), rel=1e-3)
    assert it.after.tpot_s < it.before.tpot_s
    assert it.after.requests_per_s > it.before.requests_per_s


@pytest.mark.parametrize("numbers", ["awq", "gptq", "fp8"])
def test_narrow_weights_take_less_memory_and_leave_more_cache(numbers):
    it = effect(f"quantization: {numbers}")
    assert it.after.weights_bytes < it.before.weights_bytes
    assert it.after.kv_tokens > it.before.kv_tokens


def test_prefix_hits_save_prompts():
    it = effect("prefix_cache_hit_rate: 50 %")
    assert it.after.ttft_s < it.before.ttft_s
    assert it.after.requests_per_s > it.before.requests_per_s


def test_drafts_raise_the_rate():
    it = effect("speculation: {acceptance: 70 %}")
    assert it.after.requests_per_s > it.before.requests_per_s


def test_whole_prompts_start_sooner_and_pause_other_answers():
    """A prompt of 12,000 tokens is 2 iterations of 8,192 tokens, or one; an iteration then holds the longest request."""
    it = effect("chunked_prefill: false", LONG, PINNED)
    assert it.after.ttft_s < it.before.ttft_s
    assert it.after.pause_s > it.before.pause_s
    assert it.after.activations_bytes > it.before.activations_bytes
    assert it.after.kv_tokens < it.before.kv_tokens
    opposite = effect("chunked_prefill: true", LONG, PINNED)
    assert (opposite.before.pause_s, opposite.after.kv_tokens) == (it.after.pause_s, it.before.kv_tokens)


def test_small_parts_pause_less_and_start_later():
    it = effect("max_batched_tokens: 1024", LONG, PINNED)
    assert it.after.pause_s < it.before.pause_s
    assert it.after.ttft_s > it.before.ttft_s
    assert it.after.activations_bytes < it.before.activations_bytes


def test_separate_pools_pause_no_answer_and_wait_for_the_transfer():
    it = effect("disaggregation: auto", LONG, PINNED)
    assert it.after.pause_s < it.before.pause_s
    assert it.after.tpot_s < it.before.tpot_s


def test_pools_are_searched_or_set():
    searched, given = (plan(serve(more=f"{GOALS}, disaggregation: {pools}")).chosen for pools in ("auto", "{prefill: 2, decode: 3}"))
    assert 0 < searched.speed.prefill_replicas < searched.candidate.replicas
    assert (given.speed.prefill_replicas, given.candidate.replicas) == (2, 5)


def test_pools_that_do_not_carry_the_traffic_break_a_goal():
    found = plan(
        serve(rate=500, more=f"{GOALS}, disaggregation: {{prefill: 1, decode: 1}}"),
        AWS.replace("regions", "pin: {instance: g6.xlarge}, regions"),
    )
    assert found.chosen.overruled
    assert found.options[0].after.ttft_s is None


def test_the_text_has_the_figures_before_and_after():
    text = option_text(effect("kv_dtype: int8"))
    assert text.startswith("kv_dtype int8: KV cache ")
    assert "requests/s to" in text


@pytest.mark.parametrize(
    ("option", "value", "text"),
    [
        ("speculation: {draft: 4, acceptance: 70 %}", {"draft": 4, "acceptance": 0.7}, "speculation 4 drafts, 70% accepted: "),
        ("prefix_cache_hit_rate: 50 %", 0.5, "prefix_cache_hit_rate 50%: "),
        ("disaggregation: {prefill: 2, decode: 3}", {"prefill": 2, "decode": 3}, "disaggregation 2 prefill, 3 decode: "),
        ("chunked_prefill: false", False, "chunked_prefill false: "),
        ("max_batched_tokens: 1024", 1024, "max_batched_tokens 1024: "),
    ],
)
def test_an_effect_holds_the_value_of_the_spec_and_wording_formats_it(option, value, text):
    found = plan(serve(more=f"{GOALS}, {option}"))
    (it,) = found.options
    given = {key: it.value[key] for key in value} if isinstance(value, dict) else it.value
    assert given == pytest.approx(value)
    assert option_text(it).startswith(text)
    assert SizingPlan.from_json(found.to_json()).options == found.options


def test_pools_that_sizing_chose_are_beside_the_mode():
    it = effect("disaggregation: auto", LONG, PINNED)
    assert it.value == "auto"
    assert option_text(it).startswith(f"disaggregation auto ({it.searched['prefill']} prefill, {it.searched['decode']} decode): ")


def test_a_plan_without_options_lists_none():
    assert not plan(serve(more=GOALS)).options


@pytest.mark.parametrize(("engine", "rank"), [("vllm", 32), ("sglang", 24)])
def test_adapters_have_the_rank_that_the_server_allocates(engine, rank):
    """vLLM supports 16 and 32, none between; SGLang is started with the rank of the spec."""
    job = serving_job(spec_of(serve(more=f"engine: {engine}, loras: {{count: 4, rank: 24}}")).workload)
    assert (job.loras, job.lora_rank) == (4, rank)
