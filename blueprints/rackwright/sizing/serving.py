"""Inference: cache, prefill, decode, queueing, replicas. Numbers in, numbers out: knows neither catalog nor spec.

Decode is a roofline with fitted coefficients: weights and cache read from memory, chunked prefill of other requests, a cost per layer
and one per sequence (data/decode.csv). Queueing is M/G/1 on prefill, percentiles from its exponential tail.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rackwright.estimate.flops import forward_flops_per_token
from rackwright.estimate.network import Network
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.priors import Decode

Num = Any
WEIGHT_BYTES = {"fp32": 4.0, "bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "int8": 1.01, "fp4": 0.5625, "nf4": 0.53}
"""Per quantised weight, scales included; what no 8 or 4 bit format holds stays at 2."""


def weight_bytes(n: Network, precision: str) -> float:
    each = WEIGHT_BYTES[precision]
    return n.linear * each + (n.total - n.linear) * min(max(each, 2.0), 4.0)


def kv_bytes_per_token(n: Network, tensor: Num = 1, element: float = 2.0) -> Num:
    """Of layers that see the whole context, on one accelerator. MLA's latent is replicated over tensor parallelism."""
    return n.global_layers * _kv_width(n, tensor) * element


def kv_bytes_per_sequence(n: Network, tokens: Num, tensor: Num = 1, element: float = 2.0) -> Num:
    """Cache of one sequence of `tokens` tokens: whole for global layers, at most the window for local ones."""
    local = np.minimum(tokens, n.window) if n.window else 0.0
    return (n.global_layers * tokens + n.local_layers * local) * _kv_width(n, tensor) * element


def _kv_width(n: Network, tensor: Num) -> Num:
    if n.is_mla:
        return n.kv_rank + n.rope_dim
    return 2.0 * np.maximum(n.kv_heads / tensor, 1.0) * n.head_dim


@dataclass(frozen=True)
class Engine:
    """One replica's accelerators. peak_flops, bandwidth and memory are of one accelerator; prefill runs at peak_flops * efficiency."""

    peak_flops: float
    memory_bytes: float
    bandwidth_bytes_per_s: float
    tensor: int
    link_bytes_per_s: float
    weights_bytes: float
    kv_element: float
    coefficients: Decode


@dataclass(frozen=True)
class Load:
    """What one replica sees. *_p95: of the request lengths; rate: requests per second."""

    input_tokens: float
    input_p95: float
    output_tokens: float
    output_p95: float
    rate: Num
    cached_share: float = 0.0

    @property
    def context(self) -> float:
        """Tokens in the cache of a running request, on average."""
        return self.input_tokens + self.output_tokens / 2


def cache_room_bytes(n: Network, e: Engine, a: Assumptions) -> float:
    """What is left for the cache on one accelerator; negative when the weights alone do not fit."""
    return e.memory_bytes * a.serving_max_fill - e.weights_bytes / e.tensor - workspace_bytes(n, e, a)


def workspace_bytes(n: Network, e: Engine, a: Assumptions) -> float:
    """Activations of the largest prefill chunk, scaled by width, and what the engine holds outside torch."""
    activations = a.batched_tokens * a.batched_token_bytes * n.hidden / 4096 / e.tensor
    return activations + a.serving_fixed_bytes + (a.serving_fixed_tensor_bytes if e.tensor > 1 else 0.0)


def prefill_seconds(n: Network, e: Engine, tokens: Num, a: Assumptions) -> Num:
    """Time to read a prompt of `tokens` tokens. Two all-reduces of the hidden state per layer when several accelerators share it."""
    flops = tokens * forward_flops_per_token(n, tokens)
    efficiency = a.prefill_efficiency * tokens / (tokens + a.prefill_half_tokens)
    send = 4.0 * (e.tensor - 1) / e.tensor * tokens * n.hidden * 2.0 * n.layers / (e.link_bytes_per_s * a.link_efficiency)
    return flops / (e.tensor * e.peak_flops * efficiency) + n.layers * e.coefficients.layer_s + send


def read_share(n: Network, running: Num) -> Num:
    """Part of the weights a decode step touches: all of a dense model, of the experts those that any running sequence chose."""
    if not n.is_moe:
        return 1.0
    touched = 1 - (1 - n.top_k / n.experts) ** running
    return ((n.total - n.routed) + n.routed * touched) / n.total


def decode_seconds(n: Network, e: Engine, running: Num, load: Load, a: Assumptions) -> Num:
    """Time per output token with `running` sequences. TPOT = wW/B + qRCk/B + r(2 N R in/out)/P + c0 L + c1 R.

    The fitted c0 contains the all-reduces over NVLink; only what a slower link adds to them is counted beside it.
    """
    c = e.coefficients
    weights = c.weight * e.weights_bytes * read_share(n, running) / e.tensor / e.bandwidth_bytes_per_s
    cache = c.cache * running * kv_bytes_per_sequence(n, load.context, e.tensor, e.kv_element) / e.bandwidth_bytes_per_s
    fresh = load.input_tokens * (1 - load.cached_share)
    prefill = c.prefill * 2 * n.matmul * running * fresh / load.output_tokens / (e.tensor * e.peak_flops)
    slower = max(1 / e.link_bytes_per_s - 1 / a.fitted_link_bytes_per_s, 0.0) * (e.tensor > 1)
    send = 2 * n.layers * 2.0 * running * n.hidden * 2.0 * slower
    return weights + cache + prefill + c.layer_s * n.layers + c.sequence_s * running + send


def running_at(n: Network, e: Engine, load: Load, a: Assumptions, first_token_s: Num = 0.0) -> Num:
    """Sequences in flight by Little's law, R = rate * (TTFT + out * TPOT(R)); inf where decode cannot keep up.

    TPOT is a line in R for dense models, so one step solves it; with experts the intercept grows with R and a few steps settle it.
    """
    per_sequence = _slope(n, e, load, a)
    busy = load.rate * load.output_tokens * per_sequence
    running: Num = np.maximum(np.asarray(load.rate, dtype=float), 1.0)
    for _ in range(5 if n.is_moe else 1):
        base = decode_seconds(n, e, running, load, a) - per_sequence * running
        solved = load.rate * (first_token_s + load.output_tokens * base) / np.maximum(1 - busy, 1e-9)
        running = np.where(busy < 1, np.minimum(solved, 1e9), 1e9)
    return np.where(running >= 1e9, np.inf, running)


def _slope(n: Network, e: Engine, load: Load, a: Assumptions) -> float:
    """Seconds that one more running sequence adds to a decode step, weights left out."""
    dense = replace(n, experts=0)
    return float(decode_seconds(dense, e, 2.0, load, a) - decode_seconds(dense, e, 1.0, load, a))


def lognormal_sigma(mean: float, p95: float) -> float:
    """Spread of request lengths from mean and 95th percentile; 0 when they are equal. ln(p95 / mean) = 1.645 s - s^2 / 2."""
    ratio = math.log(max(p95 / mean, 1.0))
    return 1.645 - math.sqrt(max(1.645**2 - 2 * ratio, 0.0))


@dataclass(frozen=True)
class FirstToken:
    """Utilisation of prefill and the wanted percentile of the time to the first token."""

    utilisation: Num
    seconds: Num


def first_token(n: Network, e: Engine, load: Load, percentile: float, decode_s: Num, a: Assumptions) -> FirstToken:
    """M/G/1 on prefill (Pollaczek-Khinchine), exponential tail of the wait; a prompt also waits for the decode step that runs."""
    keep = 1 - load.cached_share
    mean_s = float(prefill_seconds(n, e, load.input_tokens * keep, a))
    own_s = float(prefill_seconds(n, e, (load.input_p95 if percentile >= 90 else load.input_tokens) * keep, a))
    utilisation = np.asarray(load.rate * mean_s, dtype=float)
    scatter = math.exp(lognormal_sigma(load.input_tokens, load.input_p95) ** 2)
    free = np.maximum(1 - utilisation, 1e-6)
    tail_s = mean_s * scatter / (2 * free)  # mean wait of those who wait
    waiting = np.maximum(tail_s * np.log(np.maximum(utilisation / (1 - percentile / 100), 1.0)), 0.0)
    return FirstToken(utilisation, own_s + waiting + decode_s)


def peak_running(running: Num, percentile: float) -> Num:
    """Sequences in flight that are exceeded in only (100 - percentile) % of the time: Poisson occupancy of an infinite server."""
    z = {50: 0.0, 90: 1.282, 95: 1.645, 99: 2.326}[int(percentile)]
    return running + z * np.sqrt(np.maximum(running, 0.0))
