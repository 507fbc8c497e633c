"""Most tokens a server makes when requests never run out, and prefill and decode on pools of their own. Formulas alone.

In steady state R requests run at once (what the cache holds), each for `output` iterations, and their prompts are computed in between:
tokens/s = R * output / (output * iteration + R * request). An iteration reads every weight and cached token once and launches its
layers; a request passes input + output tokens through the matrices. Roofline form as in arXiv 2402.16363; per replica, seconds.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np

from rackwright.estimator.calibration.coefficients import FittedModel, fitted
from rackwright.estimator.case import Num
from rackwright.estimator.model.flops import attention_flops
from rackwright.estimator.serving import memory
from rackwright.estimator.serving.case import ServingCase

READ_SHARE = 0.92
"""Of nameplate memory bandwidth, what long reads reach: about nine tenths on Ampere, Ada and Hopper (arXiv 2402.13499)."""
LINK_SHARE = 0.7
"""Of a scale-up link's line rate, what an exchange of tens of megabytes reaches: large ones reach 370 of 450 GB/s on 8 x H100 (nccl-tests
#212); the rest is rackwright's choice 2026-11."""
ALL_REDUCE_S = 5e-6
"""Of a small all-reduce inside a node: a one-shot kernel and two hops of 1 to 3 us: rackwright's choice 2026-11."""
ATTENTION_SHARE = 0.5
"""Of the 16-bit peak, what attention over a prompt reaches (FlashAttention-2 on A100: 50 to 73 %, arXiv 2307.08691)."""
RAMP_LOSS = 0.2
"""Of one wave of requests, what filling and draining adds to a run: rackwright's choice 2026-11 between 0 (long) and 0.5 (no overlap)."""
EAGER_LAYER_S = 1e-3
"""A layer launched kernel by kernel from Python: some 40 launches and their Python at 25 us each (reported LitGPT and HF tables)."""
GRAPH_BATCH = 32.0
"""Sequences of a rank at which half the iterations are launched kernel by kernel, because a prompt is among them or the batch is larger
than any captured graph (engines capture up to 128 to 512): rackwright's choice 2026-11."""
PYTORCH_RELEASE = 100.0
"""TensorRT-LLM 1.0 made PyTorch, which launches from Python, its default; before, a compiled engine ran from C++."""
RATE_MATCHING_LOSS = 0.08
"""Of a disaggregated pair's rate, lost because pools never match: 5 to 10 % (the rate matching of AIConfigurator, arXiv 2601.06288)."""
POWER_EXPONENT = 0.5
"""Of the power cap over nameplate power, in what matrix products keep up: the prior of training, whose fit finds 0.58; no capped server
is published."""
ADAPTER_LAYER_S = 60e-6
"""Per layer, gathered products of many adapters: 2 ms a token of a 7B model of 32 layers (Punica, arXiv 2310.18547, abstract)."""


@dataclass(frozen=True)
class OfflineCoefficients:
    """Coefficients. Reference accelerator: 1 PFLOP/s in the format it multiplies in."""

    matmul_share: float = fitted(0.6, 0.2, 1.0, "of peak, what matrix products of a full batch reach on the reference accelerator", "", 0.3)
    peak_slope: float = fitted(0.2, 0.0, 0.6, "loss of that share per e-fold of peak: faster accelerators are fed worse")
    layer_s: float = fitted(20e-6, 1e-6, 2e-4, "per layer and iteration, whatever the batch", "s")
    expert_slowdown: float = fitted(1.4, 1.0, 4.0, "time of expert products over dense products of the same FLOPs", "x", 0.3)
    launch_s: float = fitted(1e-4, 0.0, 1e-3, "per expert layer and iteration, where kernels are launched from Python", "s", 1.0)
    dispatch_s: float = fitted(3e-8, 0.0, 1e-6, "per token and expert layer: routing, sorting, gathering", "s", 1.0)
    stage_wait: float = fitted(
        0.05, 0.0, 0.3, "of the time of decoding, what each further pipeline stage waits for the fullest batch", "", 1.0
    )


@dataclass(frozen=True)
class OfflineCycle:
    """`running` requests from first to last token, one replica: seconds by what takes them. stages: waiting for an uneven pipeline."""

    running: Num
    weights: Num
    cache: Num
    layers: Num
    matrices: Num
    attention: Num
    dispatch: Num
    links: Num
    stages: Num

    @property
    def total(self) -> Num:
        return sum(getattr(self, f.name) for f in fields(self) if f.name != "running")


DEFAULT_CACHE = memory.CacheCoefficients()


def max_running_requests(case: ServingCase, pool: memory.CacheCoefficients = DEFAULT_CACHE) -> Num:
    """Requests in flight in one replica: what is offered, what there is, what the cache and the engine's limit hold."""
    waiting = np.where(np.greater(case.requests, 0), case.requests, np.inf)
    return np.maximum(np.minimum(np.minimum(case.concurrency, waiting), memory.max_sequences(case, pool)), 1.0)


def offline_cycle(case: ServingCase, k: OfflineCoefficients, pool: memory.CacheCoefficients = DEFAULT_CACHE) -> OfflineCycle:
    """Seconds of `output` iterations and of the prompts between them."""
    batch = max_running_requests(case, pool)
    steps = case.output / case.accepted_tokens
    iterations = steps * (1 + case.draft_share)
    prompt, written = case.input * (1 - case.cached_share), steps * (1 + case.draft_tokens)
    tokens = batch * (prompt + written)
    read = case.chip.bandwidth_bytes_per_s * READ_SHARE
    seen = memory.kv_bytes_per_sequence(case, case.input + case.output / 2)
    at_once = batch * (1 + case.draft_tokens) / case.pipeline
    weights = (
        iterations
        * case.pipeline
        * (weight_bytes_read(with_active_adapters(case, batch), at_once) + expert_imbalance_bytes(case, at_once))
        / read
    )
    cache = iterations * batch / case.attention_data * seen / read
    layers = iterations * _layers_s(case, k, batch / (case.attention_data * case.pipeline))
    matrices, links = tokens * _matrix_s(case, k), tokens * _link_s(case)
    dispatch = tokens * case.network.moe_layers * k.dispatch_s / case.accelerators
    decoding = weights + cache + layers + (matrices + links + dispatch) * written / (prompt + written)
    return OfflineCycle(
        running=batch, weights=weights, cache=cache, layers=layers, matrices=matrices, dispatch=dispatch, links=links,
        attention=batch * _attention_s(case, prompt) + iterations * batch * (1 + case.draft_tokens) * _latent_s(case),
        stages=k.stage_wait * (case.pipeline - 1) * decoding,
    )  # fmt: skip


def offline_tokens_per_s(case: ServingCase, k: OfflineCoefficients, pool: memory.CacheCoefficients = DEFAULT_CACHE) -> Num:
    """Output tokens per second of one replica; a run of few requests fills and drains once."""
    taken = offline_cycle(case, k, pool)
    waves = np.where(np.greater(case.requests, 0), np.maximum(case.requests, 1) / taken.running, np.inf)
    return taken.running * case.output / taken.total / (1 + RAMP_LOSS / np.maximum(waves, 1))


def offline_tokens_per_s_per_accelerator(case: ServingCase, k: OfflineCoefficients) -> Num:
    """Output tokens per second of one accelerator; no more than is asked for where requests arrive at a rate."""
    asked = np.where(np.greater(case.rate, 0), case.rate * case.output, np.inf)
    return np.minimum(offline_tokens_per_s(case, k), asked) / case.accelerators


def closed_loop_tokens_per_s(case: ServingCase, ttft_s: Num, tpot_s: Num) -> Num:
    """Output tokens per second of one replica when every answer is followed by the next question."""
    return case.concurrency * case.output / (ttft_s + (case.output - 1) * tpot_s)


@dataclass(frozen=True)
class DisaggregatedRates:
    """A disaggregated deployment, all replicas of both pools. bottleneck: "prefill" or "decode", the pool that sets the rate."""

    requests_per_s: Num
    output_tokens_per_s: Num
    ttft_s: Num
    tpot_s: Num
    kv_transfer_s: Num
    bottleneck: Num


def disaggregated_rates(
    prefill: ServingCase,
    decode: ServingCase,
    prefill_s: Callable[[ServingCase], Num],
    tpot_s: Callable[[ServingCase], Num],
    pool: memory.CacheCoefficients = DEFAULT_CACHE,
) -> DisaggregatedRates:
    """Both pools at the rate of the slower, less HAND_OVER_LOSS. prefill_s: of one prompt alone on one prefill replica; tpot_s: of one
    decode replica at the concurrency its case says, which is what its cache holds where nobody says."""
    full = replace(decode, concurrency=max_running_requests(decode, pool))
    prompt_s, token_s, crossing = prefill_s(prefill), tpot_s(full), kv_transfer_seconds(prefill, decode)
    made = prefill.replicas / prompt_s
    used = decode.replicas * full.concurrency / (crossing + np.maximum(decode.output - 1, 1) * token_s)
    rate = np.minimum(made, used) * (1 - RATE_MATCHING_LOSS)
    return DisaggregatedRates(
        rate, rate * decode.output, prompt_s + crossing + token_s, token_s, crossing, np.where(made < used, "prefill", "decode")
    )


def kv_transfer_seconds(prefill: ServingCase, decode: ServingCase) -> Num:
    """Seconds in which the cache of one prompt crosses from a prefill to a decode replica, over the scale-out links of the smaller
    group of ranks that hold it. Ranks that hold the same latents send them once."""
    held = memory.kv_bytes_per_sequence(replace(prefill, tensor=1.0, pipeline=1.0), prefill.input)
    lanes = np.minimum(prefill.tensor * prefill.pipeline, decode.tensor * decode.pipeline)
    return held / (lanes * np.minimum(prefill.wires.scale_out_bytes_per_s, decode.wires.scale_out_bytes_per_s))


def weight_bytes_read(case: ServingCase, batch: Num) -> Num:
    """Bytes one accelerator reads in one iteration of `batch` tokens: every dense weight but table and tower, and the experts
    that some token chose."""
    n = case.network
    experts = n.routed * case.linear_bytes / case.accelerators
    looked_up = (np.where(np.greater(n.head, 0), n.embedding, 0.0) + n.tower / case.pipeline) * 2.0 / case.tensor
    return (
        memory.weight_bytes(case) - looked_up - experts * (1 - np.where(np.greater(n.experts, 0), _active_expert_share(case, batch), 1.0))
    )


def expert_imbalance_bytes(case: ServingCase, batch: Num) -> Num:
    """Bytes more that the rank reads on which most experts were chosen, where whole ones are spread over `expert` ranks: the largest of
    x binomials, mean + sqrt(2 ln x) standard deviations, all of them at most. Offline alone: published latencies of batches that
    are in step do not show it (grouped folds of experts' TPOT: 18 % without, 22 % with)."""
    n, chosen, ranks = case.network, _active_expert_share(case, batch), np.maximum(case.expert, 1)
    more = np.sqrt(2 * np.log(ranks) * chosen * (1 - chosen) * ranks / np.maximum(n.experts, 1))
    return n.routed * case.linear_bytes / case.accelerators * np.minimum(more, 1 - chosen)


def _active_expert_share(case: ServingCase, batch: Num) -> Num:
    """Share of the experts that some of `batch` tokens chose."""
    n = case.network
    return 1 - (1 - n.top_k / np.maximum(n.experts, 1)) ** np.minimum(batch, 1e6)


def with_active_adapters(case: ServingCase, batch: Num) -> ServingCase:
    """With what an iteration of `batch` requests reads: one adapter each at most; the drafter's steps are counted apart."""
    return replace(case, adapters=np.minimum(case.adapters, batch), draft_share=0.0)


def power_cap_factor(case: ServingCase) -> Num:
    """Of the rate of matrix products, what a power cap leaves."""
    return case.chip.power_share**POWER_EXPONENT


def adapter_seconds(case: ServingCase) -> Num:
    """Of one iteration, products of many adapters beside those of the base."""
    return np.greater(case.adapters, 0) * case.network.layers * ADAPTER_LAYER_S


def _layers_s(case: ServingCase, k: OfflineCoefficients, batch: Num) -> Num:
    """Of one iteration of `batch` sequences a rank, what its size hardly changes: small ones mostly run from captured graphs."""
    n = case.network
    is_python = np.not_equal(case.engine, "trtllm") | np.less(case.release, 1) | np.greater_equal(case.release, PYTORCH_RELEASE)
    launched = n.moe_layers * k.launch_s * is_python * batch / (batch + GRAPH_BATCH)
    eager = np.where(np.greater(case.compiled, 0), 0.0, n.layers * EAGER_LAYER_S)
    joined = np.greater(case.tensor * case.attention_data, 1) * _all_reduces(case) * ALL_REDUCE_S
    return np.maximum(n.layers * k.layer_s + launched, eager) + joined + adapter_seconds(case)


def _matrix_s(case: ServingCase, k: OfflineCoefficients) -> Num:
    """Of one token, spread over the replica; no batch beats the largest product that was measured on the accelerator."""
    n, peak = case.network, case.chip.peak_flops
    experts = n.routed * n.top_k / np.maximum(n.experts, 1)
    reached = np.minimum(k.matmul_share * (peak / 1e15) ** -k.peak_slope, case.chip.sustained_share) * power_cap_factor(case)
    return 2 * (n.matmul - experts + experts * k.expert_slowdown) / (case.accelerators * peak * reached)


def _attention_s(case: ServingCase, prompt: Num) -> Num:
    """Of one prompt over itself."""
    return prompt * attention_flops(case.network, prompt, 2.0) / (case.accelerators * case.chip.base_peak_flops * ATTENTION_SHARE)


def _latent_s(case: ServingCase) -> Num:
    """Of one decoded token with latent attention, whose every head reads the shared latent: 2 kv_rank + rope_dim products a head."""
    n = case.network
    flops = 2 * n.layers * n.heads * (2 * n.kv_rank + n.rope_dim) * (case.input + case.output / 2) * np.greater(n.kv_rank, 0)
    return flops / (case.accelerators * case.chip.base_peak_flops * ATTENTION_SHARE)


def _all_reduces(case: ServingCase) -> Num:
    """All-reduces of one pass: two a layer under tensor parallelism; under attention data parallelism a gather and a scatter, of every
    rank's tokens, per expert layer."""
    return np.where(np.greater(case.attention_data, 1), case.network.moe_layers, 2 * case.network.layers)


def _link_s(case: ServingCase) -> Num:
    """Of one token: each exchange moves 2 (g - 1) / g of its 16-bit hidden numbers; past the domain it takes the node's network."""
    wires, group = case.wires, case.tensor * case.attention_data
    volume = _all_reduces(case) / case.pipeline * case.network.hidden * 2.0 * 2 * (group - 1) / group
    inside = wires.scale_up_bytes_per_s * np.where(np.greater(wires.is_linked, 0), LINK_SHARE, 1.0)
    return volume / np.where(np.greater(group, wires.domain), np.minimum(inside, wires.scale_out_bytes_per_s), inside)


def residual_classes(case: ServingCase) -> tuple[str, ...]:
    return ("moe" if case.network.experts else "dense", "all")


MODELS: tuple[FittedModel, ...] = (
    FittedModel(
        "offline",
        "output_tok_s_per_accel",
        ("inference_throughput",),
        OfflineCoefficients,
        offline_tokens_per_s_per_accelerator,
        residual_classes,
        lambda case: True,
    ),
)
