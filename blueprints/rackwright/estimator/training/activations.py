"""Activations kept for the backward pass, bytes per token, for scalars or arrays. Does not depend on the catalog or the spec.

Source: Korthikanti et al. 2022 (arXiv 2205.05198), equations 1 to 5, extended to grouped queries, gated networks, latent attention (arXiv
2405.04434, section 2.1) and routed experts. Agrees with the paper: 34h for GPT, 10h + 24h/t without sequence parallelism.
"""

import numpy as np

from rackwright.estimator.case import Num, TrainingCase, lookup_by_label
from rackwright.estimator.model.dimensions import ModelDimensions
from rackwright.units import GIB

NORM_BYTES = 8.0
"""Bytes per hidden unit: inputs of two norms, of the query-key-value matrices and of the feed-forward matrices, 16 bit."""
SPLIT_INPUT_BYTES = 4.0
"""Part of NORM_BYTES that are inputs of split matrices."""
DROPOUT_BYTES = 2.0
"""Bytes per hidden unit: two masks of one byte."""
UNGATED_BYTES = 4.0
"""Bytes per FFN column without a gate: input and output of the activation function."""
GATED_BYTES = 6.0
"""Bytes per FFN column: gate, up and their product; the fused kernel recomputes the activation of the gate."""
EAGER_GATED_BYTES = 8.0
"""Bytes per FFN column without the fused kernel, which also keeps the activation of the gate."""
SCORE_BYTES = 5.0
"""Bytes per head, token and position when attention stores its scores: softmax 2, dropout mask 1, dropout 2."""
DISPATCH_BYTES = 4.0
"""Bytes per hidden unit and chosen expert: the token sent and the token returned, 16 bit."""
ROUTER_BYTES = 4.0
"""Bytes of fp32 logits per token and expert."""
CHECKPOINT_BYTES = 2.0
"""Bytes per hidden unit: the input of a recomputed layer, 16 bit."""
OFFLOADED_LAYERS = 2.0
"""Layers on the device while activations or checkpoints are offloaded: the current one and the one in transfer."""
CHUNKED_LOGIT_SHARE = 0.06
"""Share of the logits that a chunked loss stores: one chunk of 16 (Liger and torchtune use 8 to 32)."""
COMMUNICATOR_BYTES = 0.3 * GIB
"""NCCL buffers of one group, outside the allocator: 0.3 to 0.4 GiB for large groups."""
UNEVEN_LAYOUT_TRAINERS = {"megatron": 1.0}
"""Trainers that distribute an uneven number of layers over two virtual stages (pipeline layouts of Megatron-Core)."""

SPLIT_BACKWARD = {"zero-bubble": 0.0, "dualpipe": 1.0}
"""Schedules that delay weight gradients -> micro-batches a stage may hold in addition to one per stage: PP and PP + 1
(DeepSeek-V3, arXiv 2412.19437, table 2; ZB-H1 of arXiv 2401.10241 has the peak of 1F1B)."""


def attention_bytes(n: ModelDimensions, tensor: Num = 1.0, up: Num = 0.0) -> Num:
    """Return the bytes per token and layer of attention: rotated queries and keys, values and output. MLA's latents are not split.

    up: 1 when MLA's queries, keys and values are recomputed from the latents.
    """
    grouped = 2 * n.head_dim * (2 * n.heads + 2 * n.kv_heads) / tensor
    made = 2 * n.heads * (2 * (n.nope_dim + n.rope_dim) + n.v_dim)
    latent = 2 * (n.q_rank + n.kv_rank + n.rope_dim) + (made * (1 - up) + 2 * n.heads * n.v_dim) / tensor
    return np.where(np.greater(n.kv_rank, 0), latent, grouped)


def ffn_bytes(n: ModelDimensions, eager: Num = 0.0, mlp: Num = 0.0, act: Num = 0.0, expert_tensor: Num = 1.0, imbalance: Num = 1.0,
              dispatch: Num = DISPATCH_BYTES) -> Num:  # fmt: skip
    """Return the bytes per token of feed-forward networks, mean over the layers, before tensor parallelism.

    mlp: 1 when the dense network is recomputed; act: 1 when the activation function of experts is recomputed. A token is copied to each of
    its experts, and to every accelerator with a part of the expert.
    """
    column = np.where(n.gated, GATED_BYTES + (EAGER_GATED_BYTES - GATED_BYTES) * eager, UNGATED_BYTES)
    dense = column * n.ffn * (1 - mlp)
    expert_column = column - 2.0 * act
    moe = (
        n.top_k * (dispatch * n.hidden * expert_tensor + expert_column * n.expert_ffn) * imbalance
        + ROUTER_BYTES * n.experts
        + column * n.shared_ffn
    )
    return dense + (moe - dense) * n.moe_layers / np.maximum(n.layers, 1)


def layer_activation_bytes(
    n: ModelDimensions, tensor: Num = 1.0, *, sequence_parallel: Num = 1.0, dropout: Num = 0.0, eager: Num = 0.0, norms: Num = 0.0,
    mlp: Num = 0.0, act: Num = 0.0, up: Num = 0.0, expert_tensor: Num = 1.0, imbalance: Num = 1.0, dispatch: Num = DISPATCH_BYTES,
    gathered: Num = 0.0,
) -> Num:  # fmt: skip
    """Return the bytes per token and layer with flash attention.

    eager: kept share of the unfused gate's activation; norms, mlp, act, up: 1 when selective recompute includes the part; gathered: kept
    share of the gathered inputs of split matrices, 1 when they are not gathered again in the backward pass.
    """
    hidden = (NORM_BYTES * (1 - norms / 2) + DROPOUT_BYTES * dropout) * n.hidden
    split = np.where(np.greater(sequence_parallel, 0), tensor, 1.0)
    hidden = hidden / split + gathered * SPLIT_INPUT_BYTES * n.hidden * (1 - 1 / split)
    ffn = ffn_bytes(n, eager, mlp, act, expert_tensor, imbalance, dispatch)
    return hidden + attention_bytes(n, tensor, up) + ffn / tensor


def attention_score_bytes(case: TrainingCase) -> Num:
    """Return the bytes of s x s attention scores per token and layer; 0 with flash attention."""
    return SCORE_BYTES * case.network.heads * case.sequence / case.tensor * (1 - case.flash)


def kept_score_bytes(case: TrainingCase) -> Num:
    """Return the bytes of attention scores kept for the backward pass. Selective recompute drops them."""
    return attention_score_bytes(case) * np.where(np.equal(case.recompute, 1), 1 - case.recompute_share, 1.0)


def in_flight_layers(case: TrainingCase, layers: Num, stage: Num) -> Num:
    """Return the layers of a pipeline stage times its micro-batches in flight.

    1F1B: min(m, p - i). Interleaved: 2(p - 1 - i) + (v - 1)p + 1 chunks of layers / v (arXiv 2104.04473, section 2.2). Schedules that split
    the backward pass hold as many on every stage as on the first.
    """
    p = case.pipeline
    uneven = np.greater(np.mod(case.network.layers, np.maximum(p, 1)), 0) * lookup_by_label(case.engine, UNEVEN_LAYOUT_TRAINERS, 0.0)
    v = np.maximum(case.virtual, 1 + uneven)
    chunks = np.where(np.greater(v, 1), 2 * (p - 1 - stage) + (v - 1) * p + 1, p - stage)
    split = lookup_by_label(case.schedule, SPLIT_BACKWARD, -1.0)
    chunks = np.where(np.greater_equal(split, 0) & np.greater(p, 1), (p + split) * v, chunks)
    return layers / v * np.maximum(np.minimum(chunks, case.micro_batches * v), 1)
