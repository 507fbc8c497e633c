"""Training memory of the fullest accelerator. Numbers in, numbers out: knows neither catalog nor spec.

Every argument named after a way to split (tensor, pipeline, ...) may be a number or a numpy array; results broadcast.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rackwright.estimate.network import Network
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.recipe import Recipe

Num = Any
"""float or numpy array of floats."""


@dataclass(frozen=True)
class StateBytes:
    """Bytes of what must stay resident between steps."""

    weights: Num
    gradients: Num
    optimizer: Num

    @property
    def total(self) -> Num:
        return self.weights + self.gradients + self.optimizer

    def __add__(self, other: "StateBytes") -> "StateBytes":
        return StateBytes(self.weights + other.weights, self.gradients + other.gradients, self.optimizer + other.optimizer)


def state_bytes(parameters: Num, shards: Num, zero_stage: Num, recipe: tuple[float, Num, float] = (2.0, 4.0, 12.0)) -> StateBytes:
    """State of `parameters` local parameters of which `shards` replicas share what the ZeRO stage splits.

    recipe: bytes per parameter of weights, gradients, optimizer; the default is bf16 with fp32 gradients and mixed-precision Adam.
    zero_stage: 0 none, 1 optimizer, 2 and gradients, 3 and weights. Source: Rajbhandari et al. 2020 (arXiv 1910.02054), table 1.
    """
    weights, gradients, optimizer = recipe
    return StateBytes(
        parameters * weights / np.where(np.greater_equal(zero_stage, 3), shards, 1),
        parameters * gradients / np.where(np.greater_equal(zero_stage, 2), shards, 1),
        parameters * optimizer / np.where(np.greater_equal(zero_stage, 1), shards, 1),
    )


def optimizer_bytes(name: str) -> float:
    """Bytes per trained parameter: fp32 master weights and the moments; 8-bit Adam keeps 1.6 % of scales (bitsandbytes)."""
    return {"adamw": 4 + 8, "adamw-8bit": 4 + 2 * 1.016, "sgd": 4 + 4}[name]


def attention_bytes(n: Network, tensor: Num = 1) -> Num:
    """Per token and layer: queries, keys, values, output in 16 bit; MLA adds its latents, which tensor parallelism does not split."""
    if n.is_mla:
        latents = 2 * (n.q_rank + n.kv_rank + n.rope_dim)
        return latents + 4 * n.heads * (n.nope_dim + n.rope_dim + n.v_dim) / tensor
    return 2 * n.head_dim * (2 * n.heads + 2 * n.kv_heads) / tensor


def ffn_bytes(n: Network, a: Assumptions) -> float:
    """Per token, mean over the layers, before tensor parallelism. A frozen base keeps them too: measured LoRA runs save nothing here."""
    per_column = a.fused_swiglu if n.gated else a.plain_ffn
    dense = per_column * n.ffn
    if not n.is_moe:
        return dense
    routed = n.top_k * (4 * n.hidden + per_column * n.expert_ffn) * a.moe_imbalance
    moe = routed + 4 * n.experts + per_column * n.shared_ffn
    return (moe * n.moe_layers + dense * (n.layers - n.moe_layers)) / n.layers


def layer_activation_bytes(n: Network, a: Assumptions, tensor: Num = 1, *, sequence_parallel: bool = True, dropout: bool = False) -> Num:
    """Per token and layer, nothing recomputed, flash attention. Source: Korthikanti et al. 2022 (arXiv 2205.05198), generalised to
    GQA, gated FFN, MLA and MoE: 34h for GPT with dropout, 10h + 24h/t without sequence parallelism."""
    norms = (8 + (2 if dropout else 0)) * n.hidden
    return norms / (tensor if sequence_parallel else 1) + attention_bytes(n, tensor) + ffn_bytes(n, a) / tensor


@dataclass(frozen=True)
class Split:
    """One way, or an array of ways, to spread the job. shards: replicas that share ZeRO state; tokens: of one micro-batch before the
    context split; recompute: 1 full, 0 none; micro_batches: per step and replica."""

    tensor: Num = 1
    pipeline: Num = 1
    context: Num = 1
    expert: Num = 1
    shards: Num = 1
    replicas: Num = 1
    zero_stage: Num = 0
    tokens: Num = 0
    micro_batches: Num = 1
    recompute: Num = 0


@dataclass(frozen=True)
class Terms:
    """Bytes on one accelerator, by term."""

    weights: Num
    gradients: Num
    optimizer: Num
    activations: Num
    head: Num
    fixed: Num

    @property
    def allocated(self) -> Num:
        return self.weights + self.gradients + self.optimizer + self.activations + self.head + self.fixed


def training_terms(n: Network, r: Recipe, s: Split, a: Assumptions) -> Terms:
    """Memory of the fullest pipeline stage: the first holds most micro-batches in flight, the last the output head."""
    first, last = (_stage(n, r, s, a, is_last) for is_last in (False, True))
    fuller = np.asarray(first.allocated >= last.allocated) & (np.asarray(s.pipeline) > 1)
    return Terms(*(np.where(fuller, getattr(first, name), getattr(last, name)) for name in Terms.__dataclass_fields__))


def _stage(n: Network, r: Recipe, s: Split, a: Assumptions, is_last: bool) -> Terms:
    only = np.equal(s.pipeline, 1)
    ends = n.head * (1 if is_last else only) + n.embedding * (only if is_last else 1)
    if n.head == 0 and is_last:
        ends = np.maximum(ends, n.embedding)  # a tied table is needed at both ends
    tower = n.tower * (only if is_last else 1)
    state = _state(n, r, s, a, ends) + state_bytes(tower / s.tensor, s.shards, s.zero_stage, (r.frozen_bytes, 0.0, 0.0))
    in_flight = 1 if is_last else np.minimum(s.micro_batches, s.pipeline)
    each = a.adapter_logit_bytes if r.is_adapter else a.logit_bytes
    head = s.tokens / s.context * n.vocab / s.tensor * each if is_last else 0 * s.tokens
    communicators = sum(np.greater(x, 1).astype(float) for x in (s.tensor, s.pipeline, s.context, s.expert, s.replicas))
    fixed = a.context_bytes + a.communicator_bytes * communicators
    return Terms(state.weights, state.gradients, state.optimizer, _activations(n, r, s, a, in_flight), head, fixed)


def _state(n: Network, r: Recipe, s: Split, a: Assumptions, ends: Num) -> StateBytes:
    stages = np.minimum(s.pipeline, max(n.layers, 1))
    layers_share = np.ceil(n.layers / stages) / n.layers if n.layers else 1.0
    expert_split = np.where(np.greater(s.expert, 1), s.expert, s.tensor)
    dense = (n.layer_parameters - n.routed) * layers_share / s.tensor + ends / s.tensor
    routed = n.routed * layers_share / expert_split
    expert_shards = np.maximum(s.shards * s.tensor / expert_split, 1)
    gathered = _gathered(n, r, s)
    if r.is_adapter:
        quantised = n.linear / max(n.trunk, 1)
        each = quantised * r.linear_bytes + (1 - quantised) * r.frozen_bytes
        frozen = state_bytes(dense, s.shards, s.zero_stage, (each, 0, 0)) + state_bytes(routed, expert_shards, s.zero_stage, (each, 0, 0))
        adapters = state_bytes(r.trainable * layers_share / s.tensor, s.shards, s.zero_stage, (2.0, 2.0, r.optimizer_bytes))
        buffer = 2.0 * n.largest_linear / s.tensor if r.linear_bytes < 2 else 0.0
        return frozen + adapters + StateBytes(gathered + buffer, 0.0, 0.0)
    sharded = max(a.gradient_bytes_sharded, r.weight_bytes)
    gradients = np.where(np.greater_equal(s.zero_stage, 2), sharded, a.gradient_bytes_unsharded)
    recipe = (r.weight_bytes, gradients, r.optimizer_bytes)
    resident = state_bytes(dense, s.shards, s.zero_stage, recipe) + state_bytes(routed, expert_shards, s.zero_stage, recipe)
    return resident + StateBytes(gathered, 0.0, 0.0)


def _gathered(n: Network, r: Recipe, s: Split) -> Num:
    """ZeRO-3 and FSDP hold two whole blocks in 16 bit while computing, one in use and one prefetched, and the head; never more than
    the model."""
    block = n.largest_block / np.where(np.greater(s.expert, 1), np.maximum(s.expert, s.tensor), s.tensor)
    units = 2.0 * block + max(n.head, n.embedding) / s.tensor
    unit = np.minimum(units, n.total / s.tensor) * 2.0 * (1 - 1 / np.maximum(s.shards, 1))
    return np.where(np.greater_equal(s.zero_stage, 3), unit, 0.0)


def sample_bytes(n: Network, flops: float, a: Assumptions) -> float:
    """Activations that training keeps of one forward pass of `flops`; transformers tell themselves by layers or positions."""
    return flops * (a.sample_transformer_bytes_per_flop if n.layers or n.sample_tokens else a.sample_activation_bytes_per_flop)


def _activations(n: Network, r: Recipe, s: Split, a: Assumptions, in_flight: Num) -> Num:
    tokens = s.tokens / s.context * r.activation_bytes / 2
    if not n.layers:
        kept = np.where(np.greater(s.recompute, 0), a.sample_recompute_share, 1.0)
        return tokens * sample_bytes(n, n.flops_per_sample, a) * kept / s.tensor  # `tokens` are samples here
    layers = np.ceil(n.layers / s.pipeline)
    whole = layer_activation_bytes(n, a, s.tensor)
    checkpoint = 2.0 * n.hidden / s.tensor
    kept = np.where(np.greater(s.recompute, 0), checkpoint * layers * in_flight + whole, whole * layers * in_flight)
    return tokens * kept
