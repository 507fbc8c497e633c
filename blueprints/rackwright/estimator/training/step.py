"""Time of one training step on GPUs by term: compute (kernels.py), communication (communication.py) and pipeline bubble.

T = m * slowest stage + (all stages - slowest) / v + exposed gradient and optimizer time. Source: Narayanan et al. 2021 (arXiv 2104.04473)
for the bubble over v chunks, with the head on the last stage. TPU: tpu_step.py. Does not depend on the catalog or the spec.
"""

from dataclasses import dataclass, replace

import numpy as np

from rackwright.estimator.calibration.coefficients import FittedModel, fitted
from rackwright.estimator.case import Num, TrainingCase, lookup_by_label
from rackwright.estimator.result import StepTerms
from rackwright.estimator.training import communication
from rackwright.estimator.training.activations import layer_activation_bytes
from rackwright.estimator.training.adapter_memory import FULL_FINETUNING_TRAINERS
from rackwright.estimator.training.kernels import expert_input_width, micro_batch_time

STATE_PASSES = 2.0
"""Passes over the optimizer state in an update: read and written. The gradient is read once and the weight written once."""
HOST_UPDATE_BYTES_PER_S = 25e9
"""Host memory bandwidth per accelerator while Adam runs on the host: 200 GB/s of a two-socket server over 8."""
PIPELINE_EXPOSED = 0.5
"""Exposed share of traffic between stages: sends overlap with the next micro-batch, receives do not. Fitted at 0.45 to 0.5, then fixed."""
SPLIT_BACKWARD_FILL = {"zero-bubble": 1 / 3, "dualpipe": 1 / 3}
"""Pipeline fill and drain over that of 1F1B for schedules that delay weight gradients: (p - 1)(F + B - 2W) of (p - 1)(F + B), and
(p/2 - 1)(F&B + B - 3W), with forward : backward : weights 1 : 2 : 1 (arXiv 2401.10241; arXiv 2412.19437, table 2)."""
CONTEXT_EXPOSED = 0.3
"""Exposed share of context-parallel traffic: each ring step except the first overlaps with attention (arXiv 2310.01889)."""
BACKWARD_SHARE = 2 / 3
"""Share of a micro-batch's time in the backward pass, during which gradients of the last micro-batch are sent."""
PER_MATRIX_GATHER_TRAINERS = {"deepspeed": 1.0}
"""Trainers whose ZeRO-3 gathers matrix by matrix (deepspeedai/DeepSpeed#5047). The messages are too small for rings over all NICs of a
node, so each accelerator's NIC carries the whole volume. GPT-3 on A100 (arXiv 2104.04473, table 2) takes 49 s per step on 768 and on 1,536
accelerators, which is 1,048 GB at 21 GB/s of a 25 GB/s NIC."""
GATHERS_PER_LAYER = 3.0
"""Collectives per layer and micro-batch with ZeRO-3: forward, backward, and scattered gradient."""
MASTER_BYTES = 4.0
"""Bytes of a weight without a separate master copy; an update reads and writes it."""
WEIGHT_READS = 2.0
"""Reads per micro-batch of weights stored on the host: forward and backward."""
STRAGGLER_FREE_ACCELERATORS = 8.0
"""Number of accelerators up to which no straggler time is added."""


@dataclass(frozen=True)
class StepCoefficients:
    """Coefficients of the step. Shares refer to Chip.sustained_share: 1 is the rate of a single large product."""

    matrix_share: float = fitted(0.8, 0.3, 1.0, "of the sustained matrix rate, products within a model", spread=0.1)
    power_exponent: float = fitted(0.5, 0.0, 1.0, "of the power cap over nameplate power in that rate", spread=0.4)
    tuned_gain: float = fitted(1.2, 0.9, 1.5, "of kernels made for the generation, Hopper and later, over general ones", spread=0.12)
    narrow_share: float = fitted(0.85, 0.2, 1.0, "of the added speed of FP8 and FP4 that products keep", spread=0.15)
    attention_share: float = fitted(0.55, 0.1, 1.0, "of the sustained rate that attention reaches on A100", spread=0.15)
    triton_share: float = fitted(0.6, 0.2, 1.0, "of that, the first FlashAttention in Triton", spread=0.2)
    attention_lag: float = fitted(0.45, 0.0, 1.0, "exponent by which attention falls behind faster matrices", spread=0.3)
    tuned_attention_share: float = fitted(0.45, 0.1, 0.9, "of the sustained rate, attention made for the generation", spread=0.12)
    head_half: float = fitted(32.0, 0.0, 256.0, "head width at which attention reaches half its rate", "numbers")
    eager_passes: float = fitted(1.2, 0.1, 5.0, "over the byte count of norms and activations, kernel by kernel", spread=0.3)
    fused_passes: float = fitted(0.6, 0.05, 5.0, "the same fused or compiled", spread=0.4)
    shard_half: float = fitted(50.0, 0.0, 1000.0, "hidden width of a shard, or tokens, at which products reach half their rate", spread=0.8)
    operand_passes: float = fitted(0.7, 0.0, 3.0, "over the byte count of the operands of products", spread=0.4)
    loss_passes: float = fitted(1.3, 0.0, 5.0, "over the byte count of logits and loss", spread=0.4)
    layer_s: float = fitted(1e-4, 0.0, 2e-3, "of a layer and micro-batch, whatever its size: launches and gaps", "s", spread=0.8)
    expert_share: float = fitted(0.8, 0.3, 1.2, "of the product rate, grouped products of wide experts", spread=0.2)
    expert_half: float = fitted(600.0, 0.0, 5000.0, "width or tokens of an expert at which they reach half that", spread=0.8)
    dispatch_passes: float = fitted(1.5, 0.0, 6.0, "over the byte count of sorting tokens to experts and back")
    expert_layer_s: float = fitted(5e-4, 0.0, 5e-3, "of a layer with experts and micro-batch: routing, sizes read back", "s", spread=0.6)
    expert_gain_per_year: float = fitted(0.5, 0.0, 1.5, "by which software for experts gets faster each year", "1/year", spread=0.6)
    expert_exposed: float = fitted(0.2, 0.05, 1.0, "of all-to-all traffic that is waited for", spread=0.4)
    tensor_exposed: float = fitted(0.7, 0.0, 1.5, "of tensor-parallel traffic that is waited for", spread=0.4)
    data_hidden: float = fitted(0.88, 0.5, 1.0, "of gradient and weight traffic that can hide behind work", spread=0.1)
    adapter_reuse: float = fitted(7.0, 1.0, 100.0, "of low-rank products per byte they move through memory", "FLOP/byte", spread=0.6)
    adapter_passes: float = fitted(6.0, 0.0, 40.0, "passes over the inputs of adapted matrices: casts, scales, sums", spread=0.6)
    dequantise_passes: float = fitted(1.5, 0.5, 8.0, "over the bytes that dequantizing a 4-bit weight moves", spread=0.5)
    launch_s: float = fitted(1.0e-3, 0.0, 1e-2, "of a layer and pass: launching the kernels of an eager trainer", "s", spread=0.4)
    adapter_launches: float = fitted(0.4, 0.0, 2.0, "of those kernels, added by adapters", spread=0.6)
    straggler: float = fitted(0.01, 0.0, 0.1, "added to a step each time the nodes double: waiting for the slowest", spread=1.0)
    attention_gain_kept, fp4_cast_passes = 1.0, 3.0
    """Constants, chosen among alternatives inside the folds (benchmarks/forms.py). Exponent of Chip.attention_gain, and 16-bit passes over
    the operands of an FP4 product: maxima of two levels of scales, Hadamard transform, stochastic rounding (arXiv 2509.25149)."""


def step_seconds(case: TrainingCase, k: StepCoefficients) -> StepTerms:
    """Return the seconds of one optimizer step by term. Communication totals include overlapped time."""
    w, m, stages = micro_batch_time(case, k), case.micro_batches, case.pipeline
    tensor, context, expert, between = _micro_batch_traffic(case)
    layers = w.layers + w.recompute + k.tensor_exposed * tensor + CONTEXT_EXPOSED * context + k.expert_exposed * expert
    by_stage = np.ceil(case.network.layers / stages)
    last = np.maximum(case.network.layers - (stages - 1) * by_stage, 0)  # an uneven division leaves fewer layers beside the head
    one = layers / np.maximum(case.network.layers, 1)
    slowest = np.where(np.greater(stages, 1), np.maximum(one * by_stage, one * last + w.head), layers + w.head)
    whole = layers + w.head
    data, data_exposed = _data_seconds(case, whole / stages, k)
    optimizer, offload = _update_seconds(case, whole / stages, k)
    share = m / stages
    bubble = m * slowest + (whole - slowest) / case.virtual * lookup_by_label(case.schedule, SPLIT_BACKWARD_FILL, 1.0) - share * whole
    between_exposed = m * PIPELINE_EXPOSED * between
    all_but_waiting = share * whole + bubble + between_exposed + data_exposed + optimizer + offload
    straggling = k.straggler * np.log2(np.maximum(case.accelerators / STRAGGLER_FREE_ACCELERATORS, 1)) * all_but_waiting
    return StepTerms(
        compute=share * (w.layers + w.head),
        recompute=share * w.recompute,
        bubble=bubble,
        optimizer=optimizer,
        offload=offload,
        tensor_exposed=share * k.tensor_exposed * tensor,
        context_exposed=share * CONTEXT_EXPOSED * context,
        expert_exposed=share * k.expert_exposed * expert,
        pipeline_exposed=between_exposed,
        data_exposed=data_exposed + straggling,
        tensor_total=share * tensor,
        context_total=share * context,
        expert_total=share * expert,
        pipeline_total=m * between,
        data_total=data,
    )


def tokens_per_s_per_accelerator(case: TrainingCase, k: StepCoefficients) -> Num:
    """Return the rate in tokens of samples, without padding and soft prompts."""
    computed = replace(case, sequence=case.padded_tokens + case.virtual_tokens)
    sequences = case.micro_batch * case.micro_batches * case.replicas
    counted = np.where(np.greater(case.counts_padding, 0), case.padded_tokens, case.mean_tokens)
    return sequences * counted / case.accelerators / step_seconds(computed, k).total


def _micro_batch_traffic(case: TrainingCase) -> tuple[Num, Num, Num, Num]:
    """Return the communication seconds of one micro-batch: tensor, context and expert over all stages, and one stage boundary."""
    n, tensor, links = case.network, case.tensor, case.links
    tokens, passes = case.local_tokens, 2 + case.full_recompute_share
    latency = 2 * passes * communication.ring_latency_s(tensor, links.domain)
    kv_width = np.where(np.greater(n.kv_rank, 0), n.kv_rank + n.rope_dim, n.kv_heads * n.head_dim / tensor)
    experts = communication.expert_bytes(case.expert, tokens / tensor, expert_input_width(n), n.top_k, links.domain)
    boundary = communication.pipeline_bytes(case.pipeline, tokens / case.sequence_split, n.hidden) * case.virtual
    return (
        n.layers * (communication.group_seconds(communication.tensor_bytes(tensor, tokens, n.hidden, passes), tensor, links) + latency),
        communication.group_seconds(communication.context_bytes(case.context, tokens, kv_width) * n.layers, case.context * tensor, links),
        communication.expert_seconds(experts, links) * n.moe_layers * case.moe_imbalance,
        communication.group_seconds(boundary, case.accelerators, links),
    )


def _data_seconds(case: TrainingCase, micro_batch_s: Num, k: StepCoefficients) -> tuple[Num, Num]:
    """Return the seconds per step of data-parallel communication: total and exposed."""
    n, group = case.network, case.replicas * case.context
    dense = (n.trunk - n.routed) / (case.tensor * case.pipeline)
    sets = np.maximum(group * case.tensor / (case.expert * case.expert_tensor), 1)
    experts = n.routed / (case.pipeline * case.expert * case.expert_tensor)
    trained = np.where(np.greater(case.adapter, 0), case.trainable / np.maximum(n.trunk, 1), 1.0)
    reduced = trained * (
        communication.reduce_bytes(group, dense, case.gradient_bytes) + communication.reduce_bytes(sets, experts, case.gradient_bytes)
    )
    inside = np.minimum(sets, case.shards)
    gathered = communication.gather_bytes(case.shards, dense) + communication.gather_bytes(inside, experts)
    across = communication.reduce_bytes(group / case.shards, dense / case.shards, case.gradient_bytes) * trained
    window = micro_batch_s * np.where(np.greater(case.virtual, 1), np.minimum(case.micro_batches, case.pipeline), BACKWARD_SHARE)
    sharded = np.greater_equal(case.zero_stage, 3)
    once = communication.sharded_collective_seconds(np.where(sharded, across, reduced), group, case.tensor, case.links)
    copies = np.where(np.greater(lookup_by_label(case.engine, PER_MATRIX_GATHER_TRAINERS, 0.0), 0), case.links.per_node, case.tensor)
    calls = GATHERS_PER_LAYER * n.layers / case.pipeline * communication.ring_latency_s(case.shards, case.links.domain) / 2
    gather = communication.sharded_collective_seconds(gathered, case.shards, copies, case.links, span=case.shards * case.tensor)
    each = np.where(sharded, gather + calls, 0.0)
    shown = case.micro_batches * communication.exposed_seconds(each, k.data_hidden, micro_batch_s) + communication.exposed_seconds(
        once, k.data_hidden, window
    )
    return case.micro_batches * each + once, shown


def _update_seconds(case: TrainingCase, micro_batch_s: Num, k: StepCoefficients) -> tuple[Num, Num]:
    """Return the seconds of the optimizer update and the exposed seconds of offloading.

    Transfers of an offloaded optimizer are fully exposed; transfers of activations and weights overlap with compute.
    """
    n = case.network
    held = (n.trunk - n.routed) / (case.tensor * case.pipeline) + n.routed / (case.pipeline * case.expert * case.expert_tensor)
    trained = np.where(np.greater(case.adapter, 0), case.trainable / (case.tensor * case.pipeline), held)
    shard = trained / np.where(np.greater_equal(case.zero_stage, 1), case.shards, 1.0)
    away = np.greater(case.offload_optimizer, 0)
    crossing = shard * (case.gradient_bytes + communication.ELEMENT_BYTES) / case.chip.host_bytes_per_s
    whole = layer_activation_bytes(n, case.tensor, sequence_parallel=case.sequence_parallel, imbalance=case.moe_imbalance)
    again = case.full_recompute_share  # inputs of recomputed layers are offloaded, all activations of the others
    each = again * communication.ELEMENT_BYTES * n.hidden / case.sequence_split + (1 - again) * whole
    kept = np.where(np.greater(case.offload_activations, 0), 2 * (case.local_tokens * each * n.layers / case.pipeline), 0.0)
    resting = held * communication.ELEMENT_BYTES / np.where(np.greater_equal(case.zero_stage, 3), case.shards, 1.0)
    kept = kept + np.where(np.greater(case.offload_parameters, 0), WEIGHT_READS * resting, 0.0)
    waited = case.micro_batches * communication.exposed_seconds(kept / case.chip.host_bytes_per_s, k.data_hidden, micro_batch_s)
    weight = case.weight_bytes * np.where(np.greater_equal(case.weight_bytes, MASTER_BYTES), STATE_PASSES, 1.0)
    update = shard * (STATE_PASSES * case.optimizer_bytes + case.gradient_bytes + weight)
    return (
        np.where(away, update / HOST_UPDATE_BYTES_PER_S, update / case.chip.bandwidth_bytes_per_s),
        np.where(away, crossing, 0.0) + waited,
    )


def residual_classes(case: TrainingCase) -> tuple[str, ...]:
    """Return the residual classes. Experts, narrow formats and trainers for few accelerators have larger errors. Adapters of mixtures of
    experts have no measured runs."""
    if case.adapter:
        return ("not measured",) if case.network.is_moe else ("fine-tuning",)
    if case.network.is_moe:
        return ("moe", "all")
    if lookup_by_label(case.engine, FULL_FINETUNING_TRAINERS, 0.0):
        return ("fine-tuning", "all")
    return (*(("dense narrow",) if case.chip.peak_flops > case.chip.base_peak_flops else ()), "dense", "all")


MODELS = (
    FittedModel(
        "step", metric="tokens_per_s_per_accel", csv=("training_throughput", "finetune_memory", "training_more"), kind=StepCoefficients,
        predict=tokens_per_s_per_accelerator, classes=residual_classes, applies=lambda case: not case.chip.is_tpu, prior_spread_scale=0.7,
    ),
)  # fmt: skip
