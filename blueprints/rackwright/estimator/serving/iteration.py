"""One iteration of a server, one prompt, and how many requests it keeps running. Formulas alone: knows neither catalog nor spec.

An iteration reads every weight and cached token once, multiplies one token per request, launches its layers and joins the ranks of a
replica (roofline form; arXiv 2402.16363 section 3). Of one replica, seconds, numbers or arrays.
"""

from dataclasses import dataclass

import numpy as np

from rackwright.estimator.calibration.coefficients import fitted
from rackwright.estimator.case import Num
from rackwright.estimator.model.flops import attention_flops
from rackwright.estimator.serving.case import ServingCase
from rackwright.estimator.serving.memory import kv_bytes_per_sequence
from rackwright.estimator.serving.throughput import (
    ATTENTION_SHARE,
    EAGER_LAYER_S,
    adapter_seconds,
    max_running_requests,
    power_cap_factor,
    weight_bytes_read,
    with_active_adapters,
)

LAYER_TRAFFIC_BYTES = 20.0
"""Per hidden number, token and layer beside the matrices: residual and norm read and written twice, inputs quantised (10 x 2 bytes)."""
COMPILED_ENGINES = ("trtllm", "fastertransformer", "gpt-fast")
"""Engines whose iteration is one captured graph or compiled program; all others are scheduled from Python."""
LOCKSTEP_SHARE = 0.5
"""Requests that start together wait, on average, for half of the others' prompts."""
LOCKSTEP_TOKENS = 400.0
"""SGLang computes waiting prompts before it goes on, so that requests of like length start and end together. Longer answers differ
more and fall out of step: beyond so many tokens the share falls as their inverse. rackwright's choice 2026-11."""
FIXED_POINT_ROUNDS = 12
"""Rounds in which an open loop's load and latency agree; each halves the difference."""


@dataclass(frozen=True)
class DecodeCoefficients:
    read_share: float = fitted(0.8, 0.5, 1.0, "of memory bandwidth, what reading weights reaches", "", 0.15)
    cache_share: float = fitted(0.8, 0.3, 1.0, "of memory bandwidth, what reading the cache reaches", "", 0.25)
    compute_share: float = fitted(0.9, 0.3, 1.2, "of what a large matrix product sustains, what a server's products reach", "", 0.25)
    link_share: float = fitted(0.5, 0.1, 1.0, "of link bandwidth, what all-reduces reach", "", 0.4)
    layer_us: float = fitted(50.0, 5.0, 120.0, "per layer and iteration, whatever the batch", "us", 0.3)
    python: float = fitted(1.1, 0.8, 2.0, "that time in engines scheduled from Python over compiled ones", "x", 0.2)
    expert_layer_us: float = fitted(50.0, 0.0, 200.0, "more per layer of experts: route, sort, gather, scatter", "us", 0.8)
    join_us: float = fitted(4.0, 0.5, 40.0, "of a small all-reduce; two a layer", "us", 0.7)
    sequence_us: float = fitted(20.0, 0.0, 100.0, "per request and iteration: sampling, scheduling, detokenising", "us", 0.8)


def iteration_seconds(case: ServingCase, k: DecodeCoefficients, batch: Num) -> Num:
    """One step for each of `batch` requests, no prompts between: a token, and those of a draft that it checks. Pipeline stages take
    turns at batch / pipeline requests each. Reads and products overlap in part, so they join as the sides of a right angle."""
    chip, context = case.chip, case.input + case.output / 2
    tokens, local = batch * (1 + case.draft_tokens), batch / case.attention_data
    read = (
        weight_bytes_read(with_active_adapters(case, batch), tokens / case.pipeline)
        * case.pipeline
        / (chip.bandwidth_bytes_per_s * k.read_share)
    )
    product = tokens * _matrix_s(case, k)
    cache = local * kv_bytes_per_sequence(case, context) / (chip.bandwidth_bytes_per_s * k.cache_share)
    latent = tokens * _latent_flops(case) * context / (case.accelerators * chip.base_peak_flops * ATTENTION_SHARE)
    joined = tokens / case.pipeline * (_all_reduce_s(case, k) + _traffic_s(case, k)) + local * k.sequence_us * 1e-6
    return np.hypot(read, product) + cache + latent + joined + _launch_s(case, k)


def prefill_seconds(case: ServingCase, k: DecodeCoefficients, tokens: Num | None = None) -> Num:
    """Of a prompt of `tokens` (the case's input), less what the prefix cache holds, computed among others in full batches."""
    n, chip = case.network, case.chip
    whole = case.input if tokens is None else tokens
    new = whole * (1 - case.cached_share)
    attention = attention_flops(n, 2 * whole - new, 2.0) / (case.accelerators * chip.base_peak_flops * ATTENTION_SHARE)
    return new * (_matrix_s(case, k) + attention + (_all_reduce_s(case, k) + _traffic_s(case, k)) / case.pipeline)


def token_seconds(case: ServingCase, k: DecodeCoefficients, batch: Num) -> Num:
    """Per output token of a request among `batch`: iterations (fewer than tokens where drafts are accepted), and the prompts of the
    others. Work is conserved: what of them stands before one's first token (`before_first`) does not stand between the others."""
    iteration = iteration_seconds(case, k, batch) * (1 + case.draft_share) / case.accepted_tokens
    others = np.maximum(batch - 1, 0) * (1 - share_before_first_token(case, batch)) * prefill_seconds(case, k)
    return iteration + others / np.maximum(case.output, 1.0)


def share_before_first_token(case: ServingCase, batch: Num) -> Num:
    """Share of the others' prompts that stands before one's own first token because requests come in step: those of SGLang, and the
    first wave of a run whose requests are all there at the start."""
    late = np.minimum(1.0, LOCKSTEP_TOKENS / np.maximum(case.output, 1.0))
    wave = np.where(np.isinf(case.concurrency) & np.greater(case.requests, 0), batch / np.maximum(case.requests, 1), 0.0)
    return LOCKSTEP_SHARE * np.maximum(np.where(np.equal(case.engine, "sglang"), late, 0.0), np.minimum(wave, 1.0))


def running_requests(case: ServingCase, k: DecodeCoefficients) -> Num:
    """In one replica: what is offered and what the cache holds. Open loop: Little's law, arrivals per second times seconds of stay."""
    most = max_running_requests(case)
    if not np.any(case.open_loop):
        return most
    found = np.minimum(most, 1.0)
    for _ in range(FIXED_POINT_ROUNDS):
        stay = prefill_seconds(case, k) + case.output * token_seconds(case, k, np.maximum(found, 1.0))
        found = (found + np.minimum(case.rate * stay, most)) / 2
    return np.where(np.greater(case.open_loop, 0), np.maximum(found, 1.0), most)


def _launch_s(case: ServingCase, k: DecodeCoefficients) -> Num:
    """What does not depend on the batch: launches, small all-reduces, hops between stages."""
    n, group = case.network, case.tensor * case.attention_data
    slower = np.where(np.isin(case.engine, COMPILED_ENGINES), 1.0, k.python)
    fused = (k.layer_us * slower * n.layers + k.expert_layer_us * n.moe_layers) * 1e-6
    layers = np.where(np.greater(case.compiled, 0), fused, np.maximum(fused, n.layers * EAGER_LAYER_S))
    return layers + adapter_seconds(case) + (2 * n.layers * np.greater(group, 1) + case.pipeline - 1) * k.join_us * 1e-6


def _all_reduce_s(case: ServingCase, k: DecodeCoefficients) -> Num:
    """Of one token over the links: two all-reduces a layer of 16-bit hidden numbers, each 2 (g - 1) / g times (arXiv 1909.08053
    section 3); one gather and scatter per expert layer under attention data parallelism. Beyond the domain, over the node's network."""
    n, wires, group = case.network, case.wires, case.tensor * case.attention_data
    joins = np.where(np.greater(case.attention_data, 1), n.moe_layers, 2 * n.layers)
    inside = wires.scale_up_bytes_per_s
    link = np.where(np.greater(group, wires.domain), np.minimum(inside, wires.scale_out_bytes_per_s), inside)
    return joins * n.hidden * 2.0 * 2 * (group - 1) / group / (link * k.link_share)


def _matrix_s(case: ServingCase, k: DecodeCoefficients) -> Num:
    """Of one token, spread over the replica."""
    chip = case.chip
    return 2 * case.network.matmul / (case.accelerators * chip.peak_flops * chip.sustained_share * power_cap_factor(case) * k.compute_share)


def _traffic_s(case: ServingCase, k: DecodeCoefficients) -> Num:
    """Of one token, what norms and residuals read and write; every tensor-parallel rank does all of it."""
    n = case.network
    return n.layers * n.hidden * LAYER_TRAFFIC_BYTES / (case.attention_data * case.chip.bandwidth_bytes_per_s * k.read_share)


def _latent_flops(case: ServingCase) -> Num:
    """Per decoded token and token of context, absorbed latent attention (DeepSeek-V2, arXiv 2405.04434 section 2.1.2)."""
    n = case.network
    return 2 * n.layers * n.heads * (2 * n.kv_rank + n.rope_dim) * np.greater(n.kv_rank, 0)
