"""Maximum throughput of a server with a full queue, and of separate prefill and decode pools. Per replica, in seconds.

In steady state R requests run at once, limited by the cache, each for `output` iterations, with their prompts in between:
tokens/s = R * output / (output * iteration + R * request). An iteration reads every weight and cached token once and launches its layers; a
request passes input + output tokens through the matrices. Roofline model as in arXiv 2402.16363.
Does not depend on the catalog or the spec.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace

import numpy as np

from rackwright.estimator.calibration.coefficients import FittedModel, architecture_classes, fitted
from rackwright.estimator.case import Num
from rackwright.estimator.model.flops import attention_flops
from rackwright.estimator.serving import memory, platforms
from rackwright.estimator.serving.case import ServingCase

READ_SHARE = 0.92
"""Bandwidth of long reads over nameplate memory bandwidth: about 0.9 on Ampere, Ada and Hopper (arXiv 2402.13499)."""
LINK_SHARE = 0.7
"""Bandwidth of an exchange of tens of megabytes over the scale-up line rate. Large exchanges reach 370 of 450 GB/s on 8 x H100 (nccl-tests
#212); the lower value is an assumption of rackwright, 2026-11."""
ATTENTION_SHARE = 0.5
"""FLOP/s of attention over a prompt over the 16-bit peak (FlashAttention-2 on A100: 50 to 73 %, arXiv 2307.08691)."""
RAMP_LOSS = 0.2
"""Waves of requests lost to filling and draining: between 0 (long runs) and 0.5 (no overlap). Assumption of rackwright, 2026-11."""
LAYER_TRAFFIC_BYTES = 20.0
"""Bytes per hidden value, token and layer besides the matrices: residual and norm read and written twice, quantized inputs (10 x 2)."""
GRAPH_BATCH = 32.0
"""Sequences per rank at which half the iterations are launched kernel by kernel, because they contain a prompt or exceed the captured
graphs of 128 to 512 sequences. Assumption of rackwright, 2026-11."""
PYTORCH_RELEASE = 100.0
"""TensorRT-LLM 1.0, which launches from Python with PyTorch by default; earlier releases run a compiled engine from C++."""
RATE_MATCHING_LOSS = 0.08
"""Rate lost because prefill and decode pools do not match exactly: 5 to 10 % (AIConfigurator, arXiv 2601.06288)."""
POWER_EXPONENT = 0.5
"""Exponent of power cap over design power in the rate of matrix products: the prior of training, whose fit is 0.58. No measurement of a
power-capped server is published."""
ADAPTER_LAYER_S = 60e-6
"""Time per layer of gathered products of many adapters: 2 ms per token of a 7B model with 32 layers (Punica, arXiv 2310.18547)."""


@dataclass(frozen=True)
class OfflineCoefficients:
    """Coefficients of offline throughput. Reference accelerator: 1 PFLOP/s in the format of its matrix products."""

    matmul_share: float = fitted(0.6, 0.2, 1.0, "of peak, what matrix products of a full batch reach on the reference accelerator", "", 0.3)
    peak_slope: float = fitted(0.2, 0.0, 0.6, "loss of that share per e-fold of peak: faster accelerators are fed worse")
    layer_s: float = fitted(20e-6, 1e-6, 2e-4, "per layer and iteration, whatever the batch", "s")
    expert_slowdown: float = fitted(1.4, 1.0, 4.0, "time of expert products over dense products of the same FLOPs", "x", 0.3)
    launch_s: float = fitted(1e-4, 0.0, 1e-3, "per expert layer and iteration, where kernels are launched from Python", "s", 1.0)
    dispatch_s: float = fitted(3e-8, 0.0, 1e-6, "per token and expert layer: routing, sorting, gathering", "s", 1.0)
    stage_wait: float = fitted(
        0.05, 0.0, 0.3, "of the time of decoding, what each further pipeline stage waits for the fullest batch", "", 1.0
    )
    sequence_s: float = fitted(3e-6, 0.0, 5e-5, "per request and iteration: sampling, scheduling", "s", 1.0)
    hop_s: float = fitted(3e-7, 0.0, 5e-6, "of an all-reduce per hop, 2 (g - 1) hops between g ranks", "s", 1.0)
    platform: platforms.PlatformCoefficients = field(default=platforms.PlatformCoefficients(), metadata=platforms.NESTED)


@dataclass(frozen=True)
class OfflineCycle:
    """Seconds from first to last token of `running` requests on one replica, by term. stages: waiting for an uneven pipeline."""

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
        """Seconds of the whole cycle."""
        return sum(getattr(self, f.name) for f in fields(self) if f.name != "running")


DEFAULT_CACHE = memory.CacheCoefficients()


def max_running_requests(case: ServingCase, pool: memory.CacheCoefficients = DEFAULT_CACHE) -> Num:
    """Return the requests in flight in one replica, limited by concurrency, number of requests, cache and engine."""
    total = np.where(np.greater(case.requests, 0), case.requests, np.inf)
    return np.maximum(np.minimum(np.minimum(case.concurrency, total), memory.max_sequences(case, pool)), 1.0)


def offline_cycle(case: ServingCase, k: OfflineCoefficients, pool: memory.CacheCoefficients = DEFAULT_CACHE) -> OfflineCycle:
    """Return the seconds of `output` iterations and of the prompts between them, by term."""
    batch = max_running_requests(case, pool)
    steps = case.output / case.accepted_tokens
    iterations = steps * (1 + case.draft_share)
    prompt, written = case.input * (1 - case.cached_share), steps * (1 + case.draft_tokens)
    tokens = batch * (prompt + written)
    read = case.chip.bandwidth_bytes_per_s * READ_SHARE
    cached_bytes = memory.kv_bytes_per_sequence(case, case.input + case.output / 2)
    at_once = batch * (1 + case.draft_tokens) / case.pipeline
    held = weight_bytes_read(with_active_adapters(case, batch), at_once) + expert_imbalance_bytes(case, at_once)
    weights = iterations * case.pipeline * held / read
    cache = iterations * batch / case.attention_data * cached_bytes / read
    layers = iterations * (_layers_s(case, k, batch / (case.attention_data * case.pipeline)) + batch * k.sequence_s)
    multiplied = batch * (prompt + written * platforms.decode_product_factor(case, k.platform))
    matrices, links = multiplied * _matrix_s(case, k) + tokens * _traffic_s(case), tokens * _link_s(case)
    dispatch = tokens * case.network.moe_layers * k.dispatch_s / case.accelerators
    decoding = weights + cache + layers + (matrices + links + dispatch) * written / (prompt + written)
    attention_rate = case.accelerators * case.chip.base_peak_flops * ATTENTION_SHARE
    return OfflineCycle(
        running=batch, weights=weights, cache=cache, layers=layers, matrices=matrices, dispatch=dispatch, links=links,
        attention=batch * (prompt * attention_flops(case.network, prompt, 2.0) / attention_rate)
        + iterations * batch * (1 + case.draft_tokens) * (latent_flops(case) * (case.input + case.output / 2) / attention_rate),
        stages=k.stage_wait * (case.pipeline - 1) * decoding,
    )  # fmt: skip


def offline_tokens_per_s(case: ServingCase, k: OfflineCoefficients, pool: memory.CacheCoefficients = DEFAULT_CACHE) -> Num:
    """Return the output tokens per second of one replica. A finite run loses time to filling and draining."""
    cycle = offline_cycle(case, k, pool)
    waves = np.where(np.greater(case.requests, 0), np.maximum(case.requests, 1) / cycle.running, np.inf)
    lost = (RAMP_LOSS + np.greater(case.varied, 0) * k.platform.tail) / np.maximum(waves, 1)
    return cycle.running * case.output / cycle.total / (1 + lost) / platforms.vendor_factor(case, k.platform)


def offline_tokens_per_s_per_accelerator(case: ServingCase, k: OfflineCoefficients) -> Num:
    """Return the output tokens per second of one accelerator, at most the offered rate."""
    offered = np.where(np.greater(case.rate, 0), case.rate * case.output, np.inf)
    return np.minimum(offline_tokens_per_s(case, k), offered) / case.accelerators


def closed_loop_tokens_per_s(case: ServingCase, ttft_s: Num, tpot_s: Num) -> Num:
    """Return the output tokens per second of one replica with a fixed number of requests in flight."""
    return case.concurrency * case.output / (ttft_s + (case.output - 1) * tpot_s)


@dataclass(frozen=True)
class DisaggregatedRates:
    """Rates of a disaggregated deployment over all replicas. bottleneck: "prefill" or "decode", the pool that limits the rate."""

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
    """Return the rates of both pools at the rate of the slower one, less RATE_MATCHING_LOSS.

    prefill_s: seconds of one prompt on one prefill replica; tpot_s: seconds per token of one decode replica at the case's concurrency, or
    as many requests as its cache holds when the concurrency is inf.
    """
    full = replace(decode, concurrency=max_running_requests(decode, pool))
    prompt_s, token_s, transfer_s = prefill_s(prefill), tpot_s(full), kv_transfer_seconds(prefill, decode)
    prefill_rate = prefill.replicas / prompt_s
    decode_rate = decode.replicas * full.concurrency / (transfer_s + np.maximum(decode.output - 1, 1) * token_s)
    rate = np.minimum(prefill_rate, decode_rate) * (1 - RATE_MATCHING_LOSS)
    return DisaggregatedRates(
        requests_per_s=rate, output_tokens_per_s=rate * decode.output, ttft_s=prompt_s + transfer_s + token_s, tpot_s=token_s,
        kv_transfer_s=transfer_s, bottleneck=np.where(prefill_rate < decode_rate, "prefill", "decode"),
    )  # fmt: skip


def kv_transfer_seconds(prefill: ServingCase, decode: ServingCase) -> Num:
    """Return the seconds to transfer the KV cache of one prompt from a prefill to a decode replica.

    The transfer uses the scale-out links of the smaller group of ranks. Latents that several ranks hold are sent once.
    """
    held = memory.kv_bytes_per_sequence(replace(prefill, tensor=1.0, pipeline=1.0), prefill.input)
    lanes = np.minimum(prefill.tensor * prefill.pipeline, decode.tensor * decode.pipeline)
    return held / (lanes * np.minimum(prefill.links.scale_out_bytes_per_s, decode.links.scale_out_bytes_per_s))


def weight_bytes_read(case: ServingCase, batch: Num) -> Num:
    """Return the bytes of weights one accelerator reads per iteration of `batch` tokens: dense weights without embedding table and tower,
    and the experts chosen by at least one token."""
    n = case.network
    experts = n.routed * case.linear_bytes / case.accelerators
    not_read = (np.where(np.greater(n.head, 0), n.embedding, 0.0) + n.tower / case.pipeline) * 2.0 / case.tensor
    active = np.where(np.greater(n.experts, 0), _active_expert_share(case, batch), 1.0)
    return memory.weight_bytes(case) - not_read - experts * (1 - active)


def expert_imbalance_bytes(case: ServingCase, batch: Num) -> Num:
    """Return the extra bytes read by the expert-parallel rank with the most chosen experts.

    Expected maximum of x binomials: mean + sqrt(2 ln x) standard deviations, at most all experts. Applies to offline throughput only:
    published latencies do not show it (error of experts' TPOT in grouped folds: 18 % without, 22 % with).
    """
    n, chosen, ranks = case.network, _active_expert_share(case, batch), np.maximum(case.expert, 1)
    more = np.sqrt(2 * np.log(ranks) * chosen * (1 - chosen) * ranks / np.maximum(n.experts, 1))
    return n.routed * case.linear_bytes / case.accelerators * np.minimum(more, 1 - chosen)


def _active_expert_share(case: ServingCase, batch: Num) -> Num:
    """Return the share of the experts chosen by at least one of `batch` tokens."""
    n = case.network
    return 1 - (1 - n.top_k / np.maximum(n.experts, 1)) ** np.minimum(batch, 1e6)


def with_active_adapters(case: ServingCase, batch: Num) -> ServingCase:
    """Return the case with the adapters that `batch` requests use, at most one each. Draft steps are counted separately."""
    return replace(case, adapters=np.minimum(case.adapters, batch), draft_share=0.0)


def power_cap_factor(case: ServingCase) -> Num:
    """Return the factor by which a power cap slows matrix products."""
    return case.chip.power_share**POWER_EXPONENT


def adapter_seconds(case: ServingCase) -> Num:
    """Return the seconds of one iteration for the products of adapters."""
    return np.greater(case.adapters, 0) * case.network.layers * ADAPTER_LAYER_S


def _layers_s(case: ServingCase, k: OfflineCoefficients, batch: Num) -> Num:
    """Return the seconds of launches and latency per iteration of `batch` sequences per rank. Small batches run from captured graphs."""
    n = case.network
    launches_from_python = np.not_equal(case.engine, "trtllm") | np.less(case.release, 1) | np.greater_equal(case.release, PYTORCH_RELEASE)
    launched = n.moe_layers * k.launch_s * launches_from_python * batch / (batch + GRAPH_BATCH)
    eager = np.where(np.greater(case.compiled, 0), 0.0, n.layers * k.platform.eager_us * 1e-6)
    hops = np.greater(case.tensor * case.attention_data, 1) * 2 * (case.tensor * case.attention_data - 1)
    joined = all_reduces(case) * hops * k.hop_s
    scheduled = platforms.scheduling_seconds(case, k.platform, batch)
    return np.maximum(n.layers * k.layer_s + launched, eager) + joined + adapter_seconds(case) + scheduled


def _matrix_s(case: ServingCase, k: OfflineCoefficients) -> Num:
    """Return the seconds of matrix products per token, spread over the replica. The rate is limited by the largest measured product."""
    n, peak, experts = case.network, case.chip.peak_flops, platforms.computed_experts(case)
    reached = np.minimum(k.matmul_share * (peak / 1e15) ** -k.peak_slope, case.chip.sustained_share) * power_cap_factor(case)
    products = 2 * (n.matmul - n.active_routed + experts * k.expert_slowdown) / (case.accelerators * peak * reached)
    return products * platforms.product_factor(case, k.platform)


def _traffic_s(case: ServingCase) -> Num:
    """Return the seconds of memory traffic per token for norms and residuals, which every tensor-parallel rank repeats."""
    moved = case.network.layers * case.network.hidden * LAYER_TRAFFIC_BYTES
    return moved / (case.attention_data * case.pipeline * case.chip.bandwidth_bytes_per_s * READ_SHARE)


def latent_flops(case: ServingCase) -> Num:
    """Return the FLOPs per decoded token and context token of absorbed latent attention: every head reads the shared latent, 2 kv_rank +
    rope_dim products each (DeepSeek-V2, arXiv 2405.04434, section 2.1.2); 0 without it."""
    n = case.network
    return 2 * n.layers * n.heads * (2 * n.kv_rank + n.rope_dim) * np.greater(n.kv_rank, 0)


def all_reduces(case: ServingCase) -> Num:
    """Return the all-reduces of one pass: two per layer with tensor parallelism; with attention data parallelism one gather and scatter of
    all ranks' tokens per expert layer."""
    return np.where(np.greater(case.attention_data, 1), case.network.moe_layers, 2 * case.network.layers)


def _link_s(case: ServingCase) -> Num:
    """Return the seconds on the links per token: each all-reduce moves 2 (g - 1) / g of its 16-bit hidden values, over the node's network
    when the group exceeds the scale-up domain."""
    links, group = case.links, case.tensor * case.attention_data
    volume = (
        all_reduces(case) / case.pipeline * case.network.hidden * 2.0 * 2 * (group - 1) / group * platforms.host_contention(case, group)
    )
    inside = links.scale_up_bytes_per_s * np.where(np.greater(links.is_linked, 0), LINK_SHARE, 1.0)
    return volume / np.where(np.greater(group, links.domain), np.minimum(inside, links.scale_out_bytes_per_s), inside)


MODELS: tuple[FittedModel, ...] = (
    FittedModel(
        "offline", metric="output_tok_s_per_accel", csv=("inference_throughput",), kind=OfflineCoefficients,
        predict=offline_tokens_per_s_per_accelerator, classes=architecture_classes, applies=lambda case: True,
    ),
)  # fmt: skip
