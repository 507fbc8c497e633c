"""Time of one decode iteration and of one prompt, and the requests in flight, per replica. Scalars or arrays, in seconds.

An iteration reads every weight and cached token once, multiplies one token per request, launches its layers and runs the all-reduces of a
replica (roofline model; arXiv 2402.16363 section 3). Does not depend on the catalog or the spec.
"""

from dataclasses import dataclass, field

import numpy as np

from rackwright.estimator.calibration.coefficients import fitted
from rackwright.estimator.case import Num, has_label
from rackwright.estimator.model.flops import attention_flops
from rackwright.estimator.serving import platforms, throughput
from rackwright.estimator.serving.case import ServingCase
from rackwright.estimator.serving.memory import kv_bytes_per_sequence

COMPILED_ENGINES = ("trtllm", "fastertransformer", "gpt-fast")
"""Engines whose iteration is one captured graph or compiled program. All others are scheduled from Python."""
LOCKSTEP_SHARE = 0.5
"""Share of the other prompts that a request waits for when all requests start together."""
LOCKSTEP_TOKENS = 400.0
"""Answer length beyond which LOCKSTEP_SHARE falls as its inverse. SGLang computes waiting prompts first, so requests of equal length start
and end together; longer answers differ more in length. Assumption of rackwright, 2026-11."""
FIXED_POINT_ROUNDS = 12
"""Fixed-point rounds for load and latency of an open loop; each round halves the difference."""


@dataclass(frozen=True)
class DecodeCoefficients:
    read_share: float = fitted(0.8, 0.5, 1.0, "of memory bandwidth, what reading weights reaches", "", 0.15)
    cache_share: float = fitted(0.8, 0.3, 1.0, "of memory bandwidth, what reading the cache reaches", "", 0.25)
    compute_share: float = fitted(0.9, 0.3, 1.2, "of what a large matrix product sustains, what a server's products reach", "", 0.25)
    link_share: float = fitted(0.5, 0.1, 1.0, "of link bandwidth, what all-reduces of decode steps reach", "", 0.4)
    layer_us: float = fitted(50.0, 5.0, 120.0, "per layer and iteration, whatever the batch", "us", 0.3)
    python: float = fitted(1.1, 0.8, 2.0, "that time in engines scheduled from Python over compiled ones", "x", 0.2)
    expert_layer_us: float = fitted(50.0, 0.0, 200.0, "more per layer of experts: route, sort, gather, scatter", "us", 0.8)
    join_us: float = fitted(4.0, 0.5, 40.0, "of a small all-reduce; two a layer", "us", 0.7)
    sequence_us: float = fitted(6.0, 0.0, 40.0, "per request and iteration: sampling, scheduling, detokenising", "us", 0.5)
    prompt_link_share: float = fitted(0.6, 0.1, 1.0, "of link bandwidth, what all-reduces of prompts reach", "", 0.4)
    hop_us: float = fitted(0.35, 0.0, 5.0, "of an all-reduce per hop, 2 (g - 1) hops between g ranks", "us", 1.0)
    narrow: float = fitted(0.9, 0.4, 1.0, "exponent of the extra peak of formats below 16 bit: the part of it that products keep", "", 0.2)
    platform: platforms.PlatformCoefficients = field(default=platforms.PlatformCoefficients(), metadata=platforms.NESTED)


def iteration_seconds(case: ServingCase, k: DecodeCoefficients, batch: Num) -> Num:
    """Return the seconds of one decode step of `batch` requests without prompts, draft tokens included.

    Each pipeline stage processes batch / pipeline requests at a time. Reads and products overlap partly: their times add as a hypotenuse.
    """
    chip, context = case.chip, case.input + case.output / 2
    tokens, local = batch * (1 + case.draft_tokens), batch / case.attention_data
    weights = throughput.weight_bytes_read(throughput.with_active_adapters(case, batch), tokens / case.pipeline) * case.pipeline
    read = weights / (chip.bandwidth_bytes_per_s * k.read_share) * platforms.read_factor(case, k.platform, k.read_share)
    product = tokens * _matrix_s(case, k) * platforms.decode_product_factor(case, k.platform)
    cache = local * kv_bytes_per_sequence(case, context) / (chip.bandwidth_bytes_per_s * k.cache_share)
    latent = tokens * throughput.latent_flops(case) * context / (case.accelerators * chip.base_peak_flops * throughput.ATTENTION_SHARE)
    share = platforms.decode_link_share(case, k.platform, k.link_share)
    joined = tokens / case.pipeline * (_all_reduce_s(case, share) + _traffic_s(case, k)) + local * k.sequence_us * 1e-6
    scheduled = platforms.scheduling_seconds(case, k.platform, local) + platforms.expert_loop_seconds(case, k.platform)
    device = np.hypot(read, product) + cache + latent + joined + _launch_s(case, k)
    return (platforms.launched_from_python(case, k.platform, device) + scheduled) * platforms.vendor_factor(case, k.platform)


def prefill_seconds(case: ServingCase, k: DecodeCoefficients, tokens: Num | None = None) -> Num:
    """Return the seconds of one prompt without its cached prefix, computed in full batches. tokens: prompt length, default case.input."""
    n, chip = case.network, case.chip
    whole = case.input if tokens is None else tokens
    new = whole * (1 - case.cached_share)
    attention = attention_flops(n, 2 * whole - new, 2.0) / (case.accelerators * chip.base_peak_flops * throughput.ATTENTION_SHARE)
    joined = (_all_reduce_s(case, k.prompt_link_share) + _traffic_s(case, k)) / case.pipeline
    return new * (_matrix_s(case, k) + attention + joined) * platforms.vendor_factor(case, k.platform)


def token_seconds(case: ServingCase, k: DecodeCoefficients, batch: Num, prompt_s: Num | None = None) -> Num:
    """Return the seconds per output token of a request in a batch: decode iterations and prompts of the other requests.

    Accepted draft tokens save iterations. Prompts that delay the first token (`share_before_first_token`) do not delay later tokens.
    prompt_s: `prefill_seconds` of the case, which does not depend on the batch; computed when None.
    """
    iteration = iteration_seconds(case, k, batch) * (1 + case.draft_share) / case.accepted_tokens
    prompt_s = prefill_seconds(case, k) if prompt_s is None else prompt_s
    prompt = prompt_s + platforms.prompt_iterations(case, k.platform) * iteration
    others = np.maximum(batch - 1, 0) * (1 - share_before_first_token(case, batch)) * prompt
    return iteration + others / np.maximum(case.output, 1.0)


def share_before_first_token(case: ServingCase, batch: Num) -> Num:
    """Return the share of the other prompts that delay a request's first token because requests run in lockstep: with SGLang, and in the
    first wave of an offline run."""
    late = np.minimum(1.0, LOCKSTEP_TOKENS / np.maximum(case.output, 1.0))
    wave = np.where(np.isinf(case.concurrency) & np.greater(case.requests, 0), batch / np.maximum(case.requests, 1), 0.0)
    return LOCKSTEP_SHARE * np.maximum(np.where(np.equal(case.engine, "sglang"), late, 0.0), np.minimum(wave, 1.0))


def running_requests(case: ServingCase, k: DecodeCoefficients) -> Num:
    """Return the requests in flight in one replica, limited by load and cache. Open loop: Little's law, rate times time in the server."""
    limit = throughput.max_running_requests(case)
    if not np.any(case.open_loop):
        return limit
    running, prompt_s = np.minimum(limit, 1.0), prefill_seconds(case, k)
    for _ in range(FIXED_POINT_ROUNDS):
        stay = prompt_s + case.output * token_seconds(case, k, np.maximum(running, 1.0), prompt_s)
        running = (running + np.minimum(case.rate * stay, limit)) / 2
    return np.where(np.greater(case.open_loop, 0), np.maximum(running, 1.0), limit)


def _launch_s(case: ServingCase, k: DecodeCoefficients) -> Num:
    """Return the seconds of an iteration that do not depend on the batch: launches, latency of all-reduces, hops between stages."""
    n, group = case.network, case.tensor * case.attention_data
    slower = np.where(has_label(case.engine, COMPILED_ENGINES), 1.0, k.python)
    layers = (k.layer_us * slower * n.layers + k.expert_layer_us * n.moe_layers) * platforms.layer_factor(case, k.platform) * 1e-6
    each = platforms.join_seconds(case, k.platform, k.join_us) + 2 * (group - 1) * k.hop_us * 1e-6
    joined = np.greater(group, 1) * throughput.all_reduces(case) * each + (case.pipeline - 1) * k.join_us * 1e-6
    return layers + throughput.adapter_seconds(case) + joined


def _all_reduce_s(case: ServingCase, share: Num) -> Num:
    """Return the seconds on the links per token.

    share: of the link bandwidth that is reached. An all-reduce moves 2 (g - 1) / g of its 16-bit hidden values (arXiv 1909.08053, section
    3). Groups beyond the scale-up domain use the node's network.
    """
    links, group = case.links, case.tensor * case.attention_data
    inside = links.scale_up_bytes_per_s
    link = np.where(np.greater(group, links.domain), np.minimum(inside, links.scale_out_bytes_per_s), inside)
    return (
        throughput.all_reduces(case)
        * case.network.hidden
        * 2.0
        * 2
        * (group - 1)
        / group
        / (link * share)
        * platforms.host_contention(case, group)
    )


def _matrix_s(case: ServingCase, k: DecodeCoefficients) -> Num:
    """Return the seconds of matrix products per token, spread over the replica."""
    peak = case.chip.base_peak_flops * (case.chip.peak_flops / case.chip.base_peak_flops) ** k.narrow
    sustained = case.accelerators * peak * case.chip.sustained_share * throughput.power_cap_factor(case) * k.compute_share
    weights = case.network.matmul - case.network.active_routed + platforms.computed_experts(case)
    return 2 * weights / sustained * platforms.product_factor(case, k.platform)


def _traffic_s(case: ServingCase, k: DecodeCoefficients) -> Num:
    """Return the seconds of memory traffic per token for norms and residuals, which every tensor-parallel rank repeats."""
    n = case.network
    return n.layers * n.hidden * throughput.LAYER_TRAFFIC_BYTES / (case.attention_data * case.chip.bandwidth_bytes_per_s * k.read_share)
