"""Time of one micro-batch on one accelerator without communication, in seconds, for scalars or arrays.

Kernels run one after the other, so their times add: matrix products and attention at sustained rates, and memory traffic of norms,
activations, operands and weights. Roofline model (Williams et al. 2009), byte counts as in Korthikanti et al. 2022 (arXiv 2205.05198,
section 4). Does not depend on the catalog or the spec.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rackwright.estimator.case import Num, TrainingCase, lookup_by_label
from rackwright.estimator.model.dimensions import ModelDimensions
from rackwright.estimator.model.flops import attention_flops
from rackwright.estimator.training.adapter_kernels import adapter_seconds, dequantise_bytes, launch_seconds
from rackwright.estimator.training.sustained_rates import software_slowdown, sustained_rates

PASSES = 3.0
"""Products per weight: forward, gradient of the input, gradient of the weight. Norms and activations cost twice as much backward."""
ELEMENT_BYTES = 2.0
"""Bytes per activation: 16 bit."""
FLASH_SINCE = 2023.75
"""Year from which trainers with FlashAttention use it by default: Megatron-LM's flag is of January 2023, Transformer Engine's fused
attention of version 1.0, autumn 2023. Moved from the start of 2023 because eight rows of that year (TT0702 to TT0713) fit better."""
TILE_COLUMNS = 256.0
"""Columns of a product's tile; widths are padded to the next multiple (cuBLAS and CUTLASS on Hopper and later: 128 x 256)."""
PADDED_PRODUCTS = 2 / 3
"""Share of the three products of a weight whose tiles cover one of its widths."""
NARROW_PEAK_RATIO = 1.2
"""Peak over the bf16 peak from which operands are first cast to a narrower format."""
CAST_PASSES = {"mxfp8": 4.0}
"""16-bit passes over the operands of a narrow product; 1: read 2 bytes, write 1. Scales finer than tensor cores support need maxima first:
4 is estimated from four row-wise rows of torchtitan."""
FINE_FROM_FLOPS = 1500e12
"""Peak bf16 FLOP/s from which tensor cores support scales per block: Blackwell, CDNA 4."""
WIDTH_MULTIPLE = 8.0
"""Widths are multiples of this; the remainder of a parameter count comes from biases."""
UNALIGNED_SLOWDOWN = 1.25
"""Time of a layer whose heads are no multiple of 8 wide, without FlashAttention: tensor cores need 16-bit dimensions that are multiples of
8 (NVIDIA, Matrix Multiplication Background). BLOOM's sweep lost 10 to 30 % to awkward head widths; no run of the files shows it alone."""
SCORE_BYTES = 16.0
"""Bytes per attention score without FlashAttention: scale, mask, softmax and their gradients, 16 bit, read and written."""
ACCUMULATE_BYTES = 8.0
"""Bytes per weight and micro-batch: its fp32 gradient read and written."""
LOGIT_BYTES, FUSED_LOGIT_BYTES = 24.0, 8.0
"""Bytes per logit, forward and backward: 16-bit logits, fp32 copy, log-softmax, gradients; fused: written and read twice in 16 bit."""
SCAN_WIDTHS = 36.0
"""Hidden vectors that a state-space layer reads and writes in a forward pass besides its products (convolution, scan, gate, norm). Chosen
among 12, 24, 36 and 60 by the grouped folds on ten Nemotron 3 rows; 30 to 42 score alike."""
SCAN_WINDOW = 64.0
"""Longest local window that represents a state-space layer (dataset/columns/architecture.py)."""
OPERATOR_SELECTIVE = {"torchtitan": 0.5, "fsdp": 0.5}
"""Share of the forward products that selective recompute repeats in trainers that keep every second product. 0.2 was tried first;
torchtitan's rows fit 0.5."""


@dataclass(frozen=True)
class MicroBatchTime:
    """Seconds of one micro-batch over all pipeline stages. layers: forward and backward; recompute: recomputation; head: output projection
    and loss, on the last stage only."""

    layers: Num
    recompute: Num
    head: Num


def micro_batch_time(case: TrainingCase, k: Any) -> MicroBatchTime:
    """Return the time of one micro-batch. k: step.StepCoefficients."""
    n, r = case.network, sustained_rates(case, k)
    slowdown = software_slowdown(case, k)
    tokens = case.local_tokens
    share = tokens / case.tensor
    dense = np.maximum(n.matmul - n.vocab * n.hidden - n.active_routed, 0.0) * tile_padding(n.hidden)
    dense = dense * (1 + k.shard_half * (case.tensor / np.maximum(n.hidden, 1) + 1 / np.maximum(tokens, 1)))
    products = share * case.passes * (dense + _expert_flops(case, k, slowdown)) / r.narrow
    attention = share * attention_flops(n, case.sequence) / r.attention
    has_flash = np.greater(case.flash, 0) & ~(np.greater(case.released, 0) & np.less(case.released, FLASH_SINCE))
    scores = share * np.where(has_flash, 0.0, SCORE_BYTES * n.heads * case.sequence * n.layers) / r.memory
    unaligned = np.where(has_flash | np.equal(np.mod(n.head_dim, WIDTH_MULTIPLE), 0), 1.0, UNALIGNED_SLOWDOWN)
    products, attention, scores = products * unaligned, attention * unaligned, scores * unaligned
    moved = (tokens * PASSES * ELEMENT_BYTES * _values_moved_per_token(case, k, slowdown) + _weight_bytes(case, k)) / r.memory
    moved = moved + adapter_seconds(case, r, k)
    launches = n.layers * k.layer_s + n.moe_layers * k.expert_layer_s * slowdown
    full = case.full_recompute_share
    selective = np.equal(case.recompute, 1) * case.recompute_share
    logit = np.where(np.greater(case.fused_loss, 0), FUSED_LOGIT_BYTES, LOGIT_BYTES) * k.loss_passes
    layers = products + attention + scores + moved + launches
    recompute = products * 2 / case.passes * (full + selective * lookup_by_label(case.engine, OPERATOR_SELECTIVE, 0.0))
    recompute = recompute + (full * (attention + moved + launches) + (full + selective) * scores) / 3
    return MicroBatchTime(
        layers=np.maximum(layers, launch_seconds(case, k) - recompute),
        recompute=recompute,
        head=share * (n.vocab * (case.passes * n.hidden / r.matrix + logit / r.memory)),
    )


def expert_input_width(n: ModelDimensions) -> Num:
    """Return the input width of experts: the hidden size, or less when tokens are projected down first (latent experts)."""
    each = n.moe_layers * n.experts * n.expert_ffn * (2.0 + n.gated)
    return np.where(np.greater(each, 0), np.round(n.routed / np.maximum(each, 1) / WIDTH_MULTIPLE) * WIDTH_MULTIPLE, n.hidden)


def tile_padding(width: Num) -> Num:
    """Return the cost of a product with padded tiles over the cost without padding."""
    return (np.ceil(np.maximum(width, 1) / TILE_COLUMNS) * TILE_COLUMNS / np.maximum(width, 1)) ** PADDED_PRODUCTS


def _expert_flops(case: TrainingCase, k: Any, slowdown: Num) -> Num:
    """Return the weights of the chosen experts with tile padding, over the efficiency of grouped products (reuse: 1/m + 1/n + 1/k)."""
    n = case.network
    width, hidden = np.maximum(n.expert_ffn, 1), np.maximum(expert_input_width(n), 1)
    each = np.maximum(case.local_tokens * n.top_k * case.expert / np.maximum(n.experts, 1), 1)
    filled = k.expert_share / (1 + k.expert_half * slowdown * (1 / width + 1 / hidden + 1 / each))
    return n.active_routed * case.moe_imbalance * tile_padding(hidden) * tile_padding(width) / filled


def _values_moved_per_token(case: TrainingCase, k: Any, slowdown: Num) -> Num:
    """Return the values read and written per token in a forward pass of all layers on one accelerator."""
    n, tensor, chip = case.network, case.tensor, case.chip
    heads = (n.heads + n.kv_heads) * np.where(np.greater(n.kv_rank, 0), n.nope_dim + n.rope_dim, n.head_dim)
    gated, inner = 2.0 + n.gated, expert_input_width(n)
    ffn = ((n.layers - n.moe_layers) * n.ffn + n.moe_layers * n.shared_ffn) * gated / tensor
    scans = np.where(np.greater(n.window, 0) & np.less_equal(n.window, SCAN_WINDOW), n.local_layers, 0)
    norms = n.layers * (10 * n.hidden / case.sequence_split + 2 * heads / tensor) + ffn + scans * SCAN_WIDTHS * n.hidden / tensor
    chosen = n.moe_layers * n.top_k / tensor
    operands = n.layers * (4 * n.hidden + 2 * heads / tensor) + ffn + chosen * (2 * inner + gated * n.expert_ffn)
    moved = np.where(np.greater(case.compiled, 0), k.fused_passes, k.eager_passes) * norms
    dispatched = k.dispatch_passes * slowdown * chosen * (4 * inner + 3 * n.expert_ffn)
    fine = np.where(np.greater(chip.base_peak_flops, FINE_FROM_FLOPS), 1.0, lookup_by_label(case.numbers, CAST_PASSES, 1.0))
    fine = np.where(np.equal(case.numbers, "fp4"), k.fp4_cast_passes, fine)
    cast = np.where(np.greater(chip.peak_flops, NARROW_PEAK_RATIO * chip.base_peak_flops), fine, 0.0)
    return moved + dispatched + (k.operand_passes + cast) * operands


def _weight_bytes(case: TrainingCase, k: Any) -> Num:
    """Return the bytes of weight traffic per micro-batch: reads per pass, gradient accumulation, dequantization of frozen weights."""
    n = case.network
    held = (n.layer_parameters - n.routed) / case.tensor + n.routed / (case.expert * case.expert_tensor)
    return held * (case.passes / 2 * (ELEMENT_BYTES + dequantise_bytes(case, k)) + ACCUMULATE_BYTES * (1 - case.adapter))
