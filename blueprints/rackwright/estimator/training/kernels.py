"""Time of one micro-batch on one accelerator, kernel by kernel, before anything is sent. Numbers or arrays in, seconds out.

Kernels run one after the other, so their times add: matrix products and attention at the rates they keep up, and what only reads and
writes memory (norms, activations, operands, weights). Forms: the roofline (Williams et al. 2009), byte counts as in Korthikanti et al.
2022 (arXiv 2205.05198, section 4). Knows neither catalog nor spec.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rackwright.estimator.case import Num, TrainingCase, lookup_by_label
from rackwright.estimator.model.dimensions import ModelDimensions
from rackwright.estimator.model.flops import attention_flops
from rackwright.estimator.training.sustained_rates import SustainedRates, software_slowdown, sustained_rates

PASSES = 3.0
"""Forward, gradient of the input, gradient of the weight; of a norm or an activation: forward, and twice as much backward."""
ELEMENT_BYTES = 2.0
"""Of an activation: 16 bit."""
FLASH_SINCE = 2023.75
"""Year from which trainers that have FlashAttention use it unasked: Megatron-LM's flag is of January 2023, Transformer Engine's fused
attention of its 1.0, autumn 2023. Moved from the start of 2023 because eight rows of that year (TT0702 to TT0713) fit better."""
TILE_COLUMNS = 256.0
"""Columns of a product's tile; widths are paid up to the next multiple (cuBLAS and CUTLASS on Hopper and later: 128 x 256)."""
PADDED_PRODUCTS = 2 / 3
"""Of the three products of a weight, those whose tiles run over one of its widths."""
NARROW_PEAK_RATIO = 1.2
"""Peak over the bf16 peak from which operands are cast to a narrower format first."""
CAST_PASSES = {"mxfp8": 4.0}
"""16-bit passes over the operands of a narrow product; 1: read 2 bytes, write 1. Finer scales than tensor cores know take maxima first: 4
is a guess after four row-wise rows of torchtitan."""
FINE_FROM_FLOPS = 1500e12
"""Peak (bf16) from which tensor cores take scales by block: Blackwell, CDNA 4."""
WIDTH_MULTIPLE = 8.0
"""Widths are multiples of this; what is over are biases."""
SCORE_BYTES = 16.0
"""Per attention score without FlashAttention: scale, mask, softmax and their gradients, 16 bit, read and written."""
ACCUMULATE_BYTES = 8.0
"""Per weight and micro-batch: its fp32 gradient read and written."""
DEQUANTISE_BYTES = 4.0
"""Written and read again per pass where a frozen weight is held in fewer than 16 bits."""
LOGIT_BYTES, FUSED_LOGIT_BYTES = 24.0, 8.0
"""Per logit, forward and backward: 16-bit logits, fp32 copy, log-softmax, gradients; in one kernel: written and read twice in 16 bit."""
SCAN_WIDTHS = 36.0
"""Hidden vectors a state-space layer reads and writes forward beside its products (convolution, scan, gate, norm). Not counted from
kernels: of 12, 24, 36 and 60 tried on ten Nemotron 3 rows 36 was kept, by the grouped folds; 30 to 42 score alike."""
SCAN_WINDOW = 64.0
"""A local window this short stands for a state-space layer (reading/shape.py)."""
OPERATOR_SELECTIVE = {"torchtitan": 0.5, "fsdp": 0.5}
"""Of the forward products, what selective recompute runs again in trainers that keep every second one. 0.2 was tried first; torchtitan's
rows fit 0.5."""


@dataclass(frozen=True)
class MicroBatchTime:
    """Seconds of one micro-batch over all stages of a pipeline together. layers: forward and backward; again: recomputed on top; head:
    output projection and loss, on the last stage alone."""

    layers: Num
    recompute: Num
    head: Num


def micro_batch_time(case: TrainingCase, k: Any) -> MicroBatchTime:
    """k: step.StepCoefficients."""
    n, r = case.network, sustained_rates(case, k)
    old = software_slowdown(case, k)
    tokens = case.tokens / case.context
    share = tokens / case.tensor
    products = share * case.passes * (_dense_flops(case) + _expert_flops(case, k, old)) / r.narrow
    attention = share * attention_flops(n, case.sequence) / r.attention
    scores = share * _score_bytes(case) / r.memory
    moved = (tokens * PASSES * ELEMENT_BYTES * _values_moved_per_token(case, k, old) + _weight_bytes(case)) / r.memory
    launches = n.layers * k.layer_s + n.moe_layers * k.expert_layer_s * old
    full = np.equal(case.recompute, 2) * case.recompute_share
    selective = np.equal(case.recompute, 1) * case.recompute_share
    return MicroBatchTime(
        layers=products + attention + scores + moved + launches,
        recompute=products * 2 / case.passes * (full + selective * lookup_by_label(case.engine, OPERATOR_SELECTIVE, 0.0))
        + (full * (attention + moved + launches) + (full + selective) * scores) / 3,
        head=share * _head_seconds(case, k, r),
    )


def expert_input_width(n: ModelDimensions) -> Num:
    """Width that experts take in: the hidden size, or less where tokens are projected down first (latent experts)."""
    each = n.moe_layers * n.experts * n.expert_ffn * (2.0 + n.gated)
    return np.where(np.greater(each, 0), np.round(n.routed / np.maximum(each, 1) / WIDTH_MULTIPLE) * WIDTH_MULTIPLE, n.hidden)


def tile_padding(width: Num) -> Num:
    """What is paid for a width over the width itself."""
    return (np.ceil(np.maximum(width, 1) / TILE_COLUMNS) * TILE_COLUMNS / np.maximum(width, 1)) ** PADDED_PRODUCTS


def _dense_flops(case: TrainingCase) -> Num:
    """Weights that multiply every token, less head and experts: per pass and token, tiles filled up."""
    n = case.network
    return np.maximum(n.matmul - n.vocab * n.hidden - _active_expert_weights(case), 0.0) * tile_padding(n.hidden)


def _expert_flops(case: TrainingCase, k: Any, old: Num) -> Num:
    """The same of the experts a token goes to, over what grouped products of their shape reach (a product's reuse: 1/m + 1/n + 1/k)."""
    n = case.network
    width, hidden = np.maximum(n.expert_ffn, 1), np.maximum(expert_input_width(n), 1)
    each = np.maximum(case.tokens / case.context * n.top_k * case.expert / np.maximum(n.experts, 1), 1)
    filled = k.expert_share / (1 + k.expert_half * old * (1 / width + 1 / hidden + 1 / each))
    return _active_expert_weights(case) * case.moe_imbalance * tile_padding(hidden) * tile_padding(width) / filled


def _active_expert_weights(case: TrainingCase) -> Num:
    n = case.network
    return n.routed * n.top_k / np.maximum(n.experts, 1)


def _score_bytes(case: TrainingCase) -> Num:
    """Per token, all layers; nothing with FlashAttention."""
    n = case.network
    before = np.greater(case.released, 0) & np.less(case.released, FLASH_SINCE)
    return np.where(np.greater(case.flash, 0) & ~before, 0.0, SCORE_BYTES * n.heads * case.sequence * n.layers)


def _values_moved_per_token(case: TrainingCase, k: Any, old: Num) -> Num:
    """Numbers read and written per token in a forward pass of all layers, on one accelerator."""
    n, tensor = case.network, case.tensor
    heads = (n.heads + n.kv_heads) * np.where(np.greater(n.kv_rank, 0), n.nope_dim + n.rope_dim, n.head_dim)
    gated, inner = 2.0 + n.gated, expert_input_width(n)
    ffn = ((n.layers - n.moe_layers) * n.ffn + n.moe_layers * n.shared_ffn) * gated / tensor
    split = np.where(np.greater(case.sequence_parallel, 0), tensor, 1.0)
    scans = np.where(np.greater(n.window, 0) & np.less_equal(n.window, SCAN_WINDOW), n.local_layers, 0)
    norms = n.layers * (10 * n.hidden / split + 2 * heads / tensor) + ffn + scans * SCAN_WIDTHS * n.hidden / tensor
    chosen = n.moe_layers * n.top_k / tensor
    operands = n.layers * (4 * n.hidden + 2 * heads / tensor) + ffn + chosen * (2 * inner + gated * n.expert_ffn)
    moved = np.where(np.greater(case.compiled, 0), k.fused_passes, k.eager_passes) * norms
    dispatched = k.dispatch_passes * old * chosen * (4 * inner + 3 * n.expert_ffn)
    return moved + dispatched + (k.operand_passes + _cast_passes(case)) * operands


def _cast_passes(case: TrainingCase) -> Num:
    chip = case.chip
    fine = np.where(np.greater(chip.base_peak_flops, FINE_FROM_FLOPS), 1.0, lookup_by_label(case.numbers, CAST_PASSES, 1.0))
    return np.where(np.greater(chip.peak_flops, NARROW_PEAK_RATIO * chip.base_peak_flops), fine, 0.0)


def _weight_bytes(case: TrainingCase) -> Num:
    """Read in every pass, gradients accumulated where they are trained, frozen ones unpacked where they are held in few bits."""
    n = case.network
    held = (n.layer_parameters - n.routed) / case.tensor + n.routed / (case.expert * case.expert_tensor)
    packed = np.where(np.greater(case.adapter, 0) & np.less(case.frozen_bytes, ELEMENT_BYTES), DEQUANTISE_BYTES, 0.0)
    return held * (case.passes / 2 * (ELEMENT_BYTES + packed) + ACCUMULATE_BYTES * (1 - case.adapter))


def _head_seconds(case: TrainingCase, k: Any, r: SustainedRates) -> Num:
    """Per token: the output projection stays in 16 bit."""
    n = case.network
    logit = np.where(np.greater(case.fused_loss, 0), FUSED_LOGIT_BYTES, LOGIT_BYTES) * k.loss_passes
    return n.vocab * (case.passes * n.hidden / r.matrix + logit / r.memory)
