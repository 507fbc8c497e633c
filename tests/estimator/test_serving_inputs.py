"""Every field of a serving configuration changes the estimate in the physical direction, or is refused with its path."""

import math

import pytest
from rackwright.diagnostics.errors import UserError
from rackwright.estimator.config.configuration import HardwareConfig, ServingConfig, ServingLayout
from rackwright.estimator.estimate import estimate
from rackwright.estimator.result import Estimate

from tests.estimator.configs import serving_data

EXPERTS = {"model": "qwen3-235b-a22b", "hardware": {"accelerator": "H200", "count": 8}, "layout": {"tensor": 8}}
OFFLINE = {"concurrency": None}
OPEN = {"concurrency": None, "requests_per_s": 2.0}
TWO = {"hardware": {"accelerator": "H200", "count": 8}}
POOLS = {**TWO, "prefill": {"accelerators": 4, "layout": {"tensor": 4}}, "decode": {"accelerators": 4, "layout": {"tensor": 4}}}
LATENTS = {"model": "deepseek-v3", "hardware": {"accelerator": "H200", "count": 16}, "layout": {"tensor": 16}}
FULL = {"concurrency": 4096.0}


def h200(**said):
    return {"accelerator": "H200", "count": 4, **said}


def pools(prefill: int, decode: int):
    sides = {name: {"accelerators": n, "layout": {"tensor": 4}} for name, n in (("prefill", prefill), ("decode", decode))}
    return {"hardware": {"accelerator": "H200", "count": prefill + decode}, "concurrency": 2000.0, **sides}


HALF = {"hardware": h200(count=2), "layout": {"tensor": 2}}


def draft(tokens: int = 3, acceptance: float = 0.7, share: float = 0.05):
    return {"speculation": {"draft": tokens, "acceptance": acceptance, "draft_share": share}}


FEELS = {
    "ttft": lambda e: e.ttft_s.p50,
    "tpot": lambda e: e.tpot_s.p50,
    "rate": lambda e: e.output_tokens_per_s.p50,
    "tokens": lambda e: e.kv_tokens.p50,
    "running": lambda e: e.concurrency,
    "longest": lambda e: e.largest_context,
    "weights": lambda e: e.memory.weights,
    "cache": lambda e: e.memory.kv,
    "work": lambda e: e.memory.activations,
    "fixed": lambda e: e.memory.fixed,
    "fits": lambda e: e.fits,
    "each": lambda e: e.output_tokens_per_s_per_accelerator.p50,
}
"""Of an estimate, by a short name."""

CASES = [
    ("model", {}, {"model": "llama-3.1-8b"}, "weights- tpot- ttft- tokens+ rate+"),
    ("hardware.accelerator", {}, {"hardware": {"accelerator": "B200", "count": 4}}, "tpot- ttft- tokens+"),
    ("hardware.count", {}, TWO, "rate+ tpot-"),
    ("hardware.count", OFFLINE, TWO, "rate+ each="),
    ("hardware.memory_gib", {}, {"hardware": h200(memory_gib=96)}, "tokens- cache-"),
    ("hardware.power_watts", {}, {"hardware": h200(power_watts=350)}, "ttft+ tpot+ rate-"),
    ("hardware.power_watts", OFFLINE, {"hardware": h200(power_watts=350)}, "rate-"),
    ("hardware.scale_up_gb_s", {}, {"hardware": h200(scale_up_gb_s=50)}, "ttft+ tpot+ rate-"),
    ("hardware.scale_up_domain", {}, {"hardware": h200(scale_up_domain=2)}, "ttft+ tpot+ rate-"),
    ("hardware.scale_out_gb_s", POOLS, {"hardware": {"accelerator": "H200", "count": 8, "scale_out_gb_s": 1}}, "ttft+"),
    ("hardware.per_node", {"hardware": h200(scale_up_domain=2, per_node=8)}, {"hardware": h200(per_node=0)}, "refused"),
    ("engine.name", {}, {"engine": {"name": "TensorRT-LLM 0.20"}}, "tpot- tokens+"),
    ("engine.release", {"model": "gemma-3-27b"}, {"engine": {"name": "vLLM", "release": "0.21"}}, "tokens+"),
    ("engine.compiled", {}, {"engine": {"name": "vLLM 0.12.0", "compiled": False}}, "tpot+ rate-"),
    ("engine.attention", {}, {"engine": {"name": "vLLM 0.12.0", "attention": "eager"}}, "refused"),
    ("engine.loss", {}, {"engine": {"name": "vLLM 0.12.0", "loss": "fused"}}, "refused"),
    ("input_tokens", {}, {"input_tokens": 8192}, "ttft+ tpot+ rate-"),
    ("input_tokens", {}, {"input_tokens": 131072}, "refused"),
    ("output_tokens", OFFLINE, {"output_tokens": 2048}, "rate+ running-"),
    ("output_tokens", {}, {"output_tokens": 131072}, "refused"),
    ("layout.tensor", HALF, {"hardware": h200(), "layout": {"tensor": 4}}, "tpot- ttft- weights-"),
    ("layout.tensor", {}, {"layout": {"tensor": 3}, "hardware": {"accelerator": "H200", "count": 3}}, "refused"),
    ("layout.tensor", {}, {"layout": {"tensor": 8}}, "refused"),
    ("layout.pipeline", {"layout": {"tensor": 2}}, {"layout": {"tensor": 2, "pipeline": 2}}, "weights- cache+"),
    ("layout.pipeline", {**TWO, "layout": {}}, {**TWO, "layout": {"pipeline": 81}}, "refused"),
    ("layout.expert", {**EXPERTS, **OFFLINE, "max_sequences": 16}, {"layout": {"tensor": 8, "expert": 8}}, "rate- weights="),
    ("layout.expert", {}, {"layout": {"tensor": 4, "expert": 4}}, "refused"),
    ("layout.expert", EXPERTS, {"layout": {"tensor": 8, "expert": 16}}, "refused"),
    ("layout.expert", {**EXPERTS, "layout": {"tensor": 8}}, {"layout": {"tensor": 4, "attention_data": 2, "expert": 3}}, "refused"),
    ("layout.attention_data", {**LATENTS, **OFFLINE}, {"layout": {"attention_data": 16}}, "running+ weights+"),
    ("layout.attention_data", LATENTS, {"layout": {"attention_data": 5}}, "refused"),
    ("layout.replicas", TWO, {"layout": {"tensor": 4, "replicas": 2}}, "rate= tpot="),
    ("layout.replicas", TWO, {"layout": {"tensor": 4, "replicas": 3}}, "refused"),
    ("concurrency", {}, {"concurrency": 64}, "tpot+ ttft+ rate+ running+"),
    ("concurrency", OPEN, {"concurrency": 64}, "refused"),
    ("requests_per_s", OPEN, {"requests_per_s": 8.0}, "tpot+ ttft+ rate+ running+"),
    ("requests", OFFLINE, {"requests": 50}, "rate- running-"),
    ("varied_lengths", {**OFFLINE, "requests": 50}, {"varied_lengths": True}, "rate-"),
    ("requests", FULL, {"requests": 8}, "tpot- ttft- running-"),
    ("requests", OPEN, {"requests": 50}, "refused"),
    ("weight_numbers", {}, {"weight_numbers": "bf16"}, "weights+ tokens- tpot+ ttft+ rate-"),
    ("weight_numbers", {}, {"weight_numbers": "int4"}, "weights- tokens+ ttft+"),
    ("weight_numbers", {}, {"weight_numbers": "fp4"}, "weights- tokens+"),
    ("weight_numbers", {"hardware": {"accelerator": "TPU v6e"}}, {"weight_numbers": "fp4"}, "refused"),
    ("kv_numbers", {**OFFLINE, "input_tokens": 16384}, {"kv_numbers": "fp8"}, "tokens+ running+ rate+"),
    ("kv_numbers", {}, {"kv_numbers": "fp8"}, "tokens+ tpot- cache="),
    ("kv_numbers", {}, {"kv_numbers": "nf4"}, "refused"),
    ("kv_numbers", {}, {"kv_numbers": "fp4"}, "refused"),
    ("memory_share", OFFLINE, {"memory_share": 0.7}, "cache- tokens- running- rate- longest="),
    ("memory_share", {}, {"memory_share": 0.0}, "refused"),
    ("max_context", {}, {"max_context": 4096}, "longest-"),
    ("max_context", {"hardware": h200(memory_gib=24)}, {"max_context": 131072}, "fits-"),
    ("max_context", {}, {"max_context": 1024}, "refused"),
    ("max_context", {}, {"max_context": 200_000}, "refused"),
    ("max_batched_tokens", {}, {"max_batched_tokens": 65536}, "work+ tokens- cache-"),
    ("max_batched_tokens", {"max_sequences": 64}, {"max_batched_tokens": 32}, "refused"),
    ("max_sequences", OFFLINE, {"max_sequences": 8}, "running- rate- tpot-"),
    ("prefix_hit_rate", {}, {"prefix_hit_rate": 0.8}, "ttft- tpot- rate+ tokens="),
    ("prefix_hit_rate", OFFLINE, {"prefix_hit_rate": 0.8}, "rate+"),
    ("speculation.draft", {"concurrency": 1}, draft(3), "tpot- rate+ weights+ tokens-"),
    ("speculation.draft", {**OFFLINE, "input_tokens": 128}, draft(6, 0.1), "rate-"),
    ("speculation.acceptance", draft(3, 0.3), draft(3, 0.9), "tpot- rate+ weights="),
    ("speculation.draft_share", draft(3, 0.7, 0.0), draft(3, 0.7, 0.2), "tpot+ rate- weights+"),
    ("loras", {}, {"loras": 16}, "weights+ tokens- tpot+ rate-"),
    ("loras", OFFLINE, {"loras": 16}, "weights+ tokens- rate-"),
    ("lora_rank", {"loras": 16}, {"lora_rank": 128}, "weights+ tokens- tpot+"),
    ("prefill.accelerators", pools(4, 8), pools(8, 8), "rate+ ttft-"),
    ("decode.accelerators", {**pools(16, 4), "input_tokens": 64}, {**pools(16, 8), "input_tokens": 64}, "rate+ tpot-"),
    ("decode.layout", POOLS, {"decode": {"accelerators": 4, "layout": {"tensor": 2}}}, "weights+ tokens-"),
    ("decode.layout", POOLS, {"decode": {"accelerators": 4, "layout": {"tensor": 8}}}, "refused"),
    ("prefill.layout", POOLS, {"prefill": {"accelerators": 4, "layout": {"tensor": 3}}}, "refused"),
    ("prefill", POOLS, {"prefill": {"accelerators": 8, "layout": {"tensor": 4}}}, "refused"),
    ("prefill", {}, {"prefill": {"accelerators": 4}}, "refused"),
]  # fmt: skip
"""Field, what is said beside it, the flip, and what follows: each name with what it does (+ - =)."""


@pytest.mark.parametrize(("field", "around", "flip", "follows"), CASES, ids=[f"{i}-{c[0]}" for i, c in enumerate(CASES)])
def test_a_field_changes_the_estimate_in_the_right_direction(field, around, flip, follows):
    if follows == "refused":
        with pytest.raises(UserError) as refused:
            estimate(serving_data(**{**around, **flip}))
        assert all(p.at and p.reason for p in refused.value.problems)
        return
    before, after = estimate(serving_data(**around)), estimate(serving_data(**{**around, **flip}))
    for word in follows.split():
        name, sign = word[:-1], word[-1]
        was, now = (float(FEELS[name](e)) for e in (before, after))
        same = math.isclose(was, now, rel_tol=2e-3) if name == "each" else was == now
        assert {"+": now > was, "-": now < was, "=": same}[sign], f"{name}: {was:g} -> {now:g}"


def test_every_serving_field_has_a_case():
    flipped = {c[0].split(".")[0] for c in CASES}
    assert set(ServingConfig.model_fields) - {"kind", "id"} <= flipped
    assert {f"layout.{name}" for name in ServingLayout.model_fields} <= {c[0] for c in CASES}
    assert {f"hardware.{name}" for name in HardwareConfig.model_fields} - {"hardware.slices"} <= {c[0] for c in CASES}


def rate(**said) -> Estimate:
    return estimate(serving_data(concurrency=None, **said))


def test_output_never_exceeds_what_a_replica_sustains():
    """The output rate of an overloaded server is independent of the offered rate."""
    calm, over, more = (rate(requests_per_s=r) for r in (1.0, 500.0, 5000.0))
    assert calm.output_tokens_per_s.p50 == pytest.approx(512)
    assert not calm.warnings
    assert any("queue" in w for w in over.warnings)
    assert more.output_tokens_per_s.p50 == pytest.approx(over.output_tokens_per_s.p50, rel=0.01)
    assert over.output_tokens_per_s.p50 < 500 * 512


def test_a_decode_pool_computes_no_prompts():
    """Long prompts slow its tokens only by the longer cache, not by the products of prompts."""
    cold, warm = (estimate(serving_data(**POOLS, prefix_hit_rate=share)) for share in (0.0, 0.9))
    assert cold.tpot_s.p50 == warm.tpot_s.p50
    assert cold.ttft_s.p50 > warm.ttft_s.p50
    together = estimate(serving_data())
    assert cold.tpot_s.p50 < together.tpot_s.p50


def test_each_pool_uses_its_layout():
    """70B in fp8 on pools of four: with the layout of the whole, tensor parallelism is 1 by default, and the model does not fit."""
    e = estimate(serving_data(**{**POOLS, "layout": {}}))
    assert e.fits
    assert e.memory.weights == estimate(serving_data()).memory.weights


def test_a_closed_loop_of_two_pools_follows_littles_law():
    e = estimate(serving_data(**pools(4, 8)))
    round_s = e.ttft_s.p50 + 511 * e.tpot_s.p50
    assert e.requests_per_s.p50 * round_s == pytest.approx(2000, rel=1e-6)


def test_a_server_without_a_cache_pool_starts_when_its_requests_fit():
    small = {
        "hardware": {"accelerator": "A100-80GB"},
        "layout": {},
        "weight_numbers": "bf16",
        "model": "llama-2-7b",
        "engine": {"name": "hf"},
    }
    assert estimate(serving_data(**small, concurrency=4)).fits
    assert not estimate(serving_data(**small, concurrency=400)).fits
