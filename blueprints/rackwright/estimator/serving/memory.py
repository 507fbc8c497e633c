"""Memory of a server on its fullest accelerator, and its KV cache capacity. Per replica, scalars or arrays.

Weights and cache are counted, not fitted: one key and one value per KV head, layer and token (latent attention: arXiv 2405.04434, section
2.1.2). The memory budget follows each engine's documentation. Does not depend on the catalog or the spec.
"""

from dataclasses import dataclass

import numpy as np

from rackwright.estimator.calibration.coefficients import FittedModel, fitted
from rackwright.estimator.case import Chip, Num, has_label, lookup_by_label
from rackwright.estimator.result import MemoryTerms
from rackwright.estimator.serving.case import ServingCase
from rackwright.units import GIB

ACTIVATION_BYTES = 2.0
"""Bytes per activation: 16 bit for all weight formats."""
HIDDEN_COPIES, FFN_COPIES = 3.0, 3.0
"""Tensors alive at the peak of a forward pass: residual, input and output of a layer; gate, up and their product. Agrees to 1 % with two
logs that print the peak: 110.6 KB per token of Llama 3.1 8B (vLLM #10517)."""
EXPERT_CHUNK = 65536.0
"""Tokens processed by the experts at once: VLLM_FUSED_MOE_CHUNK_SIZE; TensorRT-LLM's max_num_tokens of 8192 on eight ranks."""
MAX_SAMPLED_SEQUENCES = 256.0
"""Sequences sampled at once in a profile run: vLLM's max_num_seqs on a server."""
LOGIT_BYTES = 10.0
"""Bytes per logit: 16 bit, a 32-bit copy, and the sampler's sorted copy."""
COMMUNICATOR_BYTES = 0.4 * GIB
"""NCCL buffers of one large group, 0.3 to 0.4 GiB. Assumption of rackwright, 2026-11."""
DEFAULT_MAX_SEQUENCES = {"trtllm": 2048.0, "vllm": 1024.0}
"""Default limit of running sequences: TensorRT-LLM max_batch_size; vLLM max_num_seqs of its LLM class on 70 GiB and more."""
SMALL_VLLM_SEQUENCES = 256.0
"""max_num_seqs of vLLM below 70 GiB and on A100, and of all releases before 0.8 (vllm/engine/arg_utils.py, _set_default_args)."""
SMALL_VLLM_BATCHED_TOKENS = 2048.0
"""max_num_batched_tokens of a vLLM server below 70 GiB and on A100; its offline class has 8,192 there (as above)."""
SMALL_VLLM_BYTES, VLLM_V1_RELEASE = 70 * GIB, 8.0
UNLIMITED_SEQUENCES = 1e9
WINDOW_CACHE_RELEASE = {"vllm": 21.0, "sglang": 4.0, "trtllm": 1e9}
"""First release in which local layers cache only their window: vLLM 0.21 (#43308: 9.5 times the tokens of 0.20 for Gemma 4), SGLang 0.4;
TensorRT-LLM only when max_attention_window is set by hand. An unknown release counts as newer."""
RESERVED_OUTPUT = {"trtllm": 1.0}
"""Share of a request's output for which cache is reserved at its start: TensorRT-LLM's GUARANTEED_NO_EVICT reserves all of it. Engines that
allocate block by block hold half on average."""
DEFAULT_RESERVED_OUTPUT = 0.5
ENGINES_WITHOUT_POOL = ("hf", "gpt-fast")
"""Engines without a cache pool; their cache grows with the batch."""
CACHE_COPIES = {"hf": 2.0}
"""Peak cache over final cache. Transformers grows its cache by concatenation, so old and new copy coexist and the allocator keeps both.
Agrees with 18 published peaks of a 7B model within 7 % (mean), 1 to 100 sequences, 16 and 8 bit."""
MIN_CACHE_SHARE = 0.02
"""Lower bound of the cache over device memory. A server with less does not start."""


@dataclass(frozen=True)
class CacheCoefficients:
    """Coefficients of the cache budget."""

    fixed_gib: float = fitted(1.0, 0.25, 4.0, "CUDA context, graphs and workspaces of a server process", "GiB")


def weight_bytes(case: ServingCase) -> Num:
    """Return the bytes of weights per accelerator. Experts are spread over the replica; attention data parallelism repeats the rest."""
    n = case.network
    ends = np.where(np.greater(case.pipeline, 1), np.maximum(n.embedding, n.head), n.embedding + n.head)
    dense = (n.linear - n.routed) * case.linear_bytes + (n.total - n.linear - n.embedding - n.head) * 2.0
    experts = n.routed * case.linear_bytes / case.accelerators
    # a draft step reads the draft model's weights once, so its share of the step time is its share of weights
    draft_share = case.draft_share / np.maximum(case.draft_tokens, 1)
    draft = draft_share * n.active * case.linear_bytes / (case.tensor * case.pipeline)
    return dense / (case.tensor * case.pipeline) + ends * 2.0 / case.tensor + experts + _adapter_bytes(case) + draft


def activation_bytes(case: ServingCase, tokens: Num | None = None) -> Num:
    """Return the peak activation bytes of a forward pass, of sampling or of a vision tower, whichever is largest.

    vLLM's profile run also computes images of as many tokens as an iteration has, even if no request has one (vllm-project/vllm,
    v1/worker/gpu_model_runner.py, profile_run). They are counted on every rank; no measurement is published.

    tokens: tokens of the pass, default the engine's batch. The experts of a rank reserve space for the tokens of all attention
    data-parallel ranks, up to one chunk.
    """
    n = case.network
    batch = case.batched_tokens if tokens is None else tokens
    dense = batch * FFN_COPIES * (n.ffn + n.shared_ffn) / case.tensor
    gathered = np.minimum(batch * case.attention_data, np.maximum(EXPERT_CHUNK, batch))
    routed = gathered * n.top_k * (2 * n.hidden + FFN_COPIES * n.expert_ffn / np.minimum(case.tensor, 8))
    widest = np.where(np.greater(n.experts, 0), np.maximum(routed, dense), dense)
    sampled = np.minimum(batch, MAX_SAMPLED_SEQUENCES) * n.vocab * LOGIT_BYTES / case.tensor
    images = np.where(_engine_is(case, "vllm"), batch * n.tower_values, 0.0)
    return np.maximum(ACTIVATION_BYTES * np.maximum(batch * HIDDEN_COPIES * n.hidden + widest, images), sampled)


def kv_bytes_per_token(case: ServingCase) -> Num:
    """Return the cache bytes per accelerator of the fullest stage for one more token of a sequence longer than every window."""
    growing = np.where(_caches_windows(case), case.network.global_layers, _cached_layers(case))
    return _layer_token_bytes(case) * _fullest_stage_layers(case, growing)


def kv_bytes_per_sequence(case: ServingCase, tokens: Num) -> Num:
    """Return the cache bytes per accelerator of the fullest stage for one sequence of `tokens`. A linear-attention layer is modelled as a
    local layer whose window has the size of its state."""
    n = case.network
    local = np.where(_caches_windows(case), np.minimum(tokens, n.window), tokens)
    values = _fullest_stage_layers(case, n.global_layers) * tokens + _fullest_stage_layers(case, n.local_layers) * local
    return _layer_token_bytes(case) * values


def cache_bytes(case: ServingCase, k: CacheCoefficients) -> Num:
    """Return the bytes of the cache pool per accelerator.

    vLLM: share of all memory, less all other terms; SGLang: share of the memory beside fixed parts, less weights; TensorRT-LLM: share of
    the memory that is free after weights and activations.
    """
    memory, weights, work = case.chip.memory_bytes, weight_bytes(case), activation_bytes(case)
    fixed = fixed_bytes(case, k)
    of_all = case.memory_share * memory - weights - work - fixed
    of_free = case.memory_share * (memory - weights - work - fixed)
    static = case.memory_share * (memory - fixed) - weights
    left = np.where(_engine_is(case, "trtllm"), of_free, np.where(_engine_is(case, "sglang"), static, of_all))
    return np.maximum(left, MIN_CACHE_SHARE * memory)


def fixed_bytes(case: ServingCase, k: CacheCoefficients) -> Num:
    """Return the bytes of the driver context and communicators per accelerator."""
    return k.fixed_gib * GIB + COMMUNICATOR_BYTES * np.greater(case.accelerators, 1)


def max_sequences(case: ServingCase, k: CacheCoefficients) -> Num:
    """Return the maximum number of running requests of one replica, at least 1."""
    share = lookup_by_label(case.engine, RESERVED_OUTPUT, DEFAULT_RESERVED_OUTPUT)
    held = kv_bytes_per_sequence(case, case.input + case.output * share)
    default = lookup_by_label(case.engine, DEFAULT_MAX_SEQUENCES, UNLIMITED_SEQUENCES)
    is_early = np.greater(case.release, 0) & np.less(case.release, VLLM_V1_RELEASE)
    default = np.where(_engine_is(case, "vllm") & (is_early | has_small_vllm_defaults(case.chip)), SMALL_VLLM_SEQUENCES, default)
    limit = np.where(np.greater(case.max_sequences, 0), case.max_sequences, default)
    return np.maximum(np.minimum(cache_bytes(case, k) / np.maximum(held, 1.0), limit) * case.attention_data, 1.0)


def has_small_vllm_defaults(chip: Chip) -> Num:
    """Return whether vLLM selects its defaults for small GPUs: below 70 GiB, and on A100."""
    return np.less(chip.memory_bytes, SMALL_VLLM_BYTES) | np.equal(chip.generation, "ampere")


def max_context_tokens(case: ServingCase, k: CacheCoefficients) -> Num:
    """Return the tokens of the longest single sequence, limited by cache, model and engine."""
    n, budget = case.network, cache_bytes(case, k)
    grows, all_layers = kv_bytes_per_token(case), _layer_token_bytes(case) * _fullest_stage_layers(case, _cached_layers(case))
    full = kv_bytes_per_sequence(case, n.window) - grows * n.window
    short = budget / all_layers
    long = np.where(np.greater(grows, 0), (budget - full) / np.maximum(grows, 1e-9), np.inf)
    fits = np.where(_caches_windows(case) & np.greater(short, n.window), long, short)
    for limit in (n.max_context, case.max_context):
        fits = np.where(np.greater(limit, 0), np.minimum(fits, np.maximum(limit, 1)), fits)
    return np.floor(fits)


def kv_tokens(case: ServingCase, k: CacheCoefficients) -> Num:
    """Return the cache capacity of one rank in tokens, as engines print it.

    Engines with window caches print the number of longest sequences times their length; vLLM sizes a pipeline stage as if it held every
    layer (#34076).
    """
    n, budget = case.network, cache_bytes(case, k)
    longest = np.where(np.greater(case.max_context, 0), case.max_context, np.where(np.greater(n.max_context, 0), n.max_context, 32768))
    stages = np.where(_engine_is(case, "vllm"), case.pipeline, 1.0)
    return budget * longest / (kv_bytes_per_sequence(case, longest) * stages)


def serving_memory(case: ServingCase, k: CacheCoefficients) -> MemoryTerms:
    """Return the memory terms of the fullest accelerator. kv: the cache pool, or the cache of the requests in flight without a pool."""
    running = np.minimum(case.concurrency, max_sequences(case, k)) / case.attention_data
    needed = running * kv_bytes_per_sequence(case, case.input + case.output) * lookup_by_label(case.engine, CACHE_COPIES, 1.0)
    kv = np.where(_engine_is(case, *ENGINES_WITHOUT_POOL), needed, cache_bytes(case, k))
    return MemoryTerms(weights=weight_bytes(case), activations=activation_bytes(case), kv=kv, fixed=fixed_bytes(case, k))


def _cached_layers(case: ServingCase) -> Num:
    return case.network.global_layers + case.network.local_layers


def _fullest_stage_layers(case: ServingCase, layers: Num) -> Num:
    """Return the part of `layers` on the fullest pipeline stage."""
    whole = np.maximum(_cached_layers(case), 1)
    return layers * np.ceil(whole / case.pipeline) / whole


def _layer_token_bytes(case: ServingCase) -> Num:
    """Return the cache bytes per layer and token. Every rank holds all latents, or at least one KV head."""
    n = case.network
    heads = np.maximum(np.ceil(n.kv_heads / case.tensor), 1)
    return np.where(np.greater(n.kv_rank, 0), n.kv_rank + n.rope_dim, 2 * heads * n.head_dim) * case.kv_element


def _caches_windows(case: ServingCase) -> Num:
    since = lookup_by_label(case.engine, WINDOW_CACHE_RELEASE, 0.0)
    late = np.where(np.greater(case.release, 0), case.release, 1e8)
    return np.greater(case.network.window, 0) & np.greater_equal(late, since)


def _adapter_bytes(case: ServingCase) -> Num:
    """Return the bytes of multi-LoRA adapters: both factors of every dense matrix in 16 bit.

    Each rank holds the hidden side of all seven matrices whole: A of q, k, v, gate and up, and B of o and down. The other factors are
    divided (vllm/lora/layers, fully_sharded_loras off by default; the same in sglang/srt/lora/mem_pool.py).
    """
    n = case.network
    attention = 2 * (n.hidden + n.heads * n.head_dim) + 2 * (n.hidden + n.kv_heads * n.head_dim)
    widths = attention + 3 * (n.hidden + n.ffn)
    whole = 7 * n.hidden
    each = whole + (widths - whole) / case.tensor
    return case.adapters * case.adapter_rank * n.layers * each * 2.0 / case.pipeline


def _engine_is(case: ServingCase, *families: str) -> Num:
    return has_label(case.engine, families)


def has_cache_pool(case: ServingCase) -> bool:
    """Return whether one case has a cache pool with space beside the weights, so that the engine prints a capacity."""
    return case.engine not in ENGINES_WITHOUT_POOL and _has_cache_space(case, CacheCoefficients())


def can_serve(case: ServingCase, k: CacheCoefficients, longest: float) -> bool:
    """Return whether a server starts and can cache one sequence of `longest` tokens; without a pool, whether its requests fit. One case."""
    if case.engine in ENGINES_WITHOUT_POOL:
        return bool(serving_memory(case, k).total <= case.chip.memory_bytes)
    return _has_cache_space(case, k) and bool(kv_bytes_per_sequence(case, longest) <= cache_bytes(case, k))


def _has_cache_space(case: ServingCase, k: CacheCoefficients) -> bool:
    return bool(cache_bytes(case, k) > MIN_CACHE_SHARE * case.chip.memory_bytes)


MODELS: tuple[FittedModel, ...] = (
    FittedModel(
        "kv_capacity", metric="kv_tokens", csv=("inference_memory",), kind=CacheCoefficients, predict=kv_tokens,
        classes=lambda case: ("all",), applies=has_cache_pool, loss_scale=0.3,
    ),
)  # fmt: skip
