"""Memory of fine-tuning on few accelerators: LoRA, QLoRA, prompts, and full fine-tuning with trainers other than Megatron.

States as in states.py, with a frozen base without gradients and optimizer; activations as in activations.py, except that frozen matrices
do not keep their inputs. Loss in separate operations, norms in plain PyTorch. The allocator never shrinks its segments, so samples of mixed
lengths leave blocks that later batches cannot use.
"""

from dataclasses import dataclass, replace

import numpy as np

from rackwright.estimator.calibration.coefficients import FittedModel, fitted
from rackwright.estimator.case import Num, TrainingCase, lookup_by_label
from rackwright.estimator.result import MemoryTerms
from rackwright.estimator.training import activations
from rackwright.estimator.training.memory import fuller_terms
from rackwright.estimator.training.states import gathered_bytes, gradient_bucket_bytes, resident_state, stage_parameters, state_bytes
from rackwright.estimator.training.sustained_rates import WIDE_FORMAT_FACTOR
from rackwright.units import GIB

FULL_FINETUNING_TRAINERS = {"hf": 1.0, "litgpt": 1.0, "torchtune": 1.0, "unsloth": 1.0}
"""Engine families whose full fine-tuning this model covers."""
DEQUANTIZE_BUFFER_BYTES = 2.0
"""Bytes per weight of the quantized matrix that is dequantized to 16 bit for its product, one matrix at a time."""
CAST_COPY_BYTES = 2.0
"""Bytes per weight of an fp32 head: autocast keeps a 16-bit copy until the end of the pass."""
GATHERED_UNITS = 2.0
"""Blocks that FSDP and ZeRO-3 gather at the same time: the current and the next."""
CHECKPOINT_OFFLOADING_TRAINERS = {"unsloth": 1.0}
"""Trainers that store recompute checkpoints on the host (Unsloth's gradient checkpointing, 2024-04)."""
GATED_BYTES = 6.0
"""Bytes per FFN column: gate, its activation and up. Their product counts as the input of a matrix."""
UNGATED_BYTES = 2.0
"""Bytes per FFN column without a gate: the input of the activation function."""
FUSED_NORM_BYTES = 2.0
"""Bytes per hidden unit and norm when a norm is one kernel: its 16-bit input."""
OWN_16_BIT_LOGIT_BYTES = {"deepspeed": 12.0}
"""Bytes per logit of trainers that run the whole model in 16 bit without autocast: logits, log-softmax and their gradients stay in 16 bit.
8 to 10 by count; 8, 10, 11 and 12 were tried on the grouped folds. Qwen's rows, which
include the allocator's slack, fit 12."""
UPCAST_LOGIT_BYTES = {"torchtune": 8.0}
"""Bytes per logit of trainers that cast logits to fp32 before shifting them: two fp32 copies (torchtune's recipes)."""
STEP_GROUP = {"deepspeed": 1e9}
"""Parameters that the optimizer updates at a time (DeepSpeed's sub_group_size, default)."""
MASTER_BYTES, FP32_MOMENTS = 4.0, 8.0
"""Bytes of a weight in fp32, and of both moments of Adam; a 16-bit weight with more has an fp32 master."""
ADAPTER_WEIGHT, ADAPTER_GRADIENT = 6.0, 4.0
"""Bytes per adapter parameter: fp32 weight with autocast's 16-bit copy, fp32 gradient. PEFT default (autocast_adapter_dtype)."""
MODULE_STATE_SHARE = 0.5
"""State of a whole module trained in 16 bit over that of an fp32 adapter: weight, gradient, both moments."""
LONGEST_TO_MEAN_RATIO = 6.0
"""Longest over mean sample of instruction data: 19,548 over 3,234 tokens (ms-swift's benchmark)."""
MAX_RESERVED_SHARE = 0.97
"""Highest reserved share of accelerator memory; above it the allocator releases free blocks."""


@dataclass(frozen=True)
class AdapterCoefficients:
    """Coefficients fitted on published peaks. A prior is the value that the formula implies."""

    logit_bytes: float = fitted(14.0, 8.0, 24.0, "per logit of a loss in separate operations", "bytes", 0.3)
    norm_bytes: float = fitted(6.0, 2.0, 12.0, "per hidden unit that a norm and its residual keep", "bytes", 0.3)
    input_bytes: float = fitted(2.5, 2.0, 6.0, "per kept input of an adapted or trained matrix; 2 plain, 6 with an fp32 copy", "bytes", 0.3)
    adapter_bytes: float = fitted(20.0, 16.0, 28.0, "per adapter parameter, optimizer's temporaries included", "bytes", 0.3)
    update: float = fitted(0.5, 0.0, 2.0, "temporaries of a full optimizer step, over its states", "share")
    reserved: float = fitted(0.05, 0.0, 0.4, "allocator's reserve over what comes and goes, equal lengths", "share", 0.6)
    mixed: float = fitted(1.5, 0.0, 4.0, "further reserve with mixed lengths, over the logits of the mean batch", "share", 0.6)
    device_gib: float = fitted(0.8, 0.3, 2.0, "driver context and kernels, where the device was asked", "GiB")


def is_applicable(case: TrainingCase) -> Num:
    """Return whether this model applies, not memory.training_memory: adapters with any trainer, and full fine-tuning with a trainer of
    FULL_FINETUNING_TRAINERS or with DeepSpeed within one node."""
    small = np.equal(case.engine, "deepspeed") & np.less_equal(case.accelerators, case.links.per_node)
    return np.greater(case.adapter, 0) | np.greater(lookup_by_label(case.engine, FULL_FINETUNING_TRAINERS, 0.0), 0) | small


def adapter_memory(case: TrainingCase, k: AdapterCoefficients, *, stage: Num | None = None) -> MemoryTerms:
    """Return memory terms in bytes that sum to `peak_bytes`. stage: pipeline stage from 0; None: the fuller of first and last."""
    if stage is not None:
        return _terms(case, k, stage)
    return fuller_terms(_terms(case, k, 0.0), _terms(case, k, case.last_stage))


def peak_bytes(case: TrainingCase, k: AdapterCoefficients) -> Num:
    """Return the peak bytes reserved by the allocator (torch max_memory_reserved) on the fullest accelerator."""
    return adapter_memory(case, k).total


def _terms(case: TrainingCase, k: AdapterCoefficients, stage: Num) -> MemoryTerms:
    weights, gradients, optimizer = _state(case, k, stage)
    kept, transient = _activations(case, k, stage)
    is_chunked = np.greater(case.fused_loss, 0)
    own = lookup_by_label(case.engine, OWN_16_BIT_LOGIT_BYTES, 0.0) * np.less(case.weight_bytes, MASTER_BYTES)
    each = np.where(np.greater(own, 0), own, k.logit_bytes + lookup_by_label(case.engine, UPCAST_LOGIT_BYTES, 0.0))
    whole = np.where(is_chunked, activations.CHUNKED_LOGIT_SHARE, 1.0) * each * case.network.vocab / case.tensor
    logits = np.equal(stage, case.last_stage) * whole
    # a chunked loss ends before the backward pass of the layers begins
    head = np.where(is_chunked, np.maximum(logits * _tokens(case) - transient, 0.0), logits * _tokens(case))
    # with one micro-batch per step the gradients do not exist yet when activations peak; adapter_bytes includes temporaries of adapters
    accumulates = np.where(np.greater(case.adapter, 0) | np.greater(case.micro_batches, 1), 1.0, 0.0)
    held, update = gradients * accumulates, gradients * (1 - accumulates) + np.where(case.adapter, 0.0, _step_bytes(case, k, stage))
    kept, transient, head = (lookup_by_label(case.numbers, WIDE_FORMAT_FACTOR, 1.0) * x for x in (kept, transient, head))
    moving = kept + transient + head
    terms = MemoryTerms(
        weights=weights, gradients=held + np.maximum(update - moving, 0.0), optimizer=optimizer, activations=kept + transient, head=head
    )
    # mean micro-batch of exponential sample lengths truncated to `sequence`; 0 for equal lengths
    mean = case.mean_length
    mean_tokens = case.micro_batch * mean * (1 - np.exp(-case.sequence / np.maximum(mean, 1.0))) / case.context
    reserve = k.reserved * moving + k.mixed * logits * mean_tokens
    return replace(terms, reserved=np.clip(MAX_RESERVED_SHARE * case.chip.memory_bytes - terms.total, 0.0, reserve))


def _step_bytes(case: TrainingCase, k: AdapterCoefficients, stage: Num) -> Num:
    """Return the bytes of temporaries of a full optimizer step: over the moments of all parameters, or over the states of the group of
    parameters that is updated at a time."""
    here = stage_parameters(case, stage)
    local = (here.dense + here.routed) / np.where(np.greater_equal(case.zero_stage, 1), case.shards, 1)
    master = np.where(np.less(case.weight_bytes, MASTER_BYTES) & np.greater(case.optimizer_bytes, FP32_MOMENTS), MASTER_BYTES, 0.0)
    group = lookup_by_label(case.engine, STEP_GROUP, 0.0)
    updated = np.where(np.greater(group, 0), case.optimizer_bytes * np.minimum(local, group), (case.optimizer_bytes - master) * local)
    return k.update * updated * (1 - case.offload_optimizer)


def _state(case: TrainingCase, k: AdapterCoefficients, stage: Num) -> tuple[Num, Num, Num]:
    """Return the bytes of weights, gradients and optimizer states after sharding."""
    whole, adapters = resident_state(case, stage_parameters(case, stage)), case.adapter
    trained = case.trainable - (1 - MODULE_STATE_SHARE) * case.trained_modules
    trained = trained * stage_parameters(case, stage).layers / np.maximum(case.network.layers, 1) / case.tensor
    states = (k.adapter_bytes - ADAPTER_WEIGHT - ADAPTER_GRADIENT) * (1 - case.offload_optimizer)
    small = state_bytes(trained, case.shards, case.zero_stage, (ADAPTER_WEIGHT, ADAPTER_GRADIENT, states))
    return (
        np.where(adapters, _frozen(case, stage) + small.weights, whole.weights)
        + gathered_bytes(case, GATHERED_UNITS, stage_parameters(case, stage)),
        np.where(adapters, small.gradients + gradient_bucket_bytes(case, trained, ADAPTER_GRADIENT), whole.gradients),
        np.where(adapters, small.optimizer, whole.optimizer),
    )


def _frozen(case: TrainingCase, stage: Num) -> Num:
    """Return the bytes of the frozen base and its dequantization buffer."""
    n, here = case.network, stage_parameters(case, stage)
    linear = (n.linear - n.routed) * here.layers / np.maximum(n.layers, 1) / case.tensor + here.routed
    other = here.dense + here.routed - linear + n.tower / case.tensor
    resting = linear * case.frozen_bytes + other * case.frozen_other_bytes
    cast = CAST_COPY_BYTES * np.greater(case.frozen_other_bytes, 2) * np.where(np.greater(n.head, 0), n.head, n.embedding) / case.tensor
    buffer = cast + np.where(np.less(case.frozen_bytes, 2), DEQUANTIZE_BUFFER_BYTES * n.largest_linear / case.tensor, 0.0)
    return resting * (1 - case.offload_parameters) / np.where(np.greater_equal(case.zero_stage, 3), case.shards, 1) + buffer


def _activations(case: TrainingCase, k: AdapterCoefficients, stage: Num) -> tuple[Num, Num]:
    """Return the bytes kept for the backward pass, and the transient bytes of one recomputed layer."""
    n, tokens = case.network, _tokens(case)
    layer, again = _layer_bytes(case, k), case.full_recompute_share
    layers = activations.in_flight_layers(case, stage_parameters(case, stage).layers, stage)
    offloads = np.maximum(
        case.offload_activations, lookup_by_label(case.engine, CHECKPOINT_OFFLOADING_TRAINERS, 0.0) * np.greater(again, 0)
    )
    layers = np.where(np.greater(offloads, 0), np.minimum(layers, activations.OFFLOADED_LAYERS), layers)
    each = again * activations.CHECKPOINT_BYTES * n.hidden / case.sequence_split + (1 - again) * layer
    return tokens * each * layers, tokens * layer * np.greater(again, 0)


def _layer_bytes(case: TrainingCase, k: AdapterCoefficients) -> Num:
    """Return the bytes per token and layer without recomputation.

    Ungated networks use LayerNorm in one kernel; gated ones RMSNorm in separate operations, which keep twice as much.
    """
    n = case.network
    column = np.where(n.gated, GATED_BYTES, UNGATED_BYTES)
    routed = n.top_k * ((4 * n.hidden + column * n.expert_ffn) * case.moe_imbalance) + column * n.shared_ffn
    ffn = column * n.ffn + (routed - column * n.ffn) * n.moe_layers / np.maximum(n.layers, 1)
    norm = np.where(np.greater(case.compiled, 0), np.minimum(k.norm_bytes, FUSED_NORM_BYTES), k.norm_bytes) * np.where(n.gated, 2, 1)
    every = np.where(n.gated, 3, 2) * n.hidden + np.where(np.greater(n.ffn, 0), n.ffn, n.top_k * n.expert_ffn + n.shared_ffn)
    inputs = np.where(case.adapter, np.maximum(case.adapter_inputs, case.keeps_frozen_inputs * every), every)
    attention, products = activations.attention_bytes(n, case.tensor), (ffn + k.input_bytes * inputs) / case.tensor
    return norm * n.hidden / case.sequence_split + attention + products + activations.kept_score_bytes(case)


def _tokens(case: TrainingCase) -> Num:
    """Return the tokens per accelerator of the longest micro-batch, soft prompts included."""
    longest = np.where(np.greater(case.mean_length, 0), np.minimum(case.sequence, LONGEST_TO_MEAN_RATIO * case.mean_length), case.sequence)
    return case.micro_batch * (longest + case.virtual_tokens) / case.context


def _measured_gib(case: TrainingCase, k: AdapterCoefficients) -> Num:
    """Return the GiB that a published row measured: reserved, allocated or device memory."""
    terms = adapter_memory(case, k)
    outside = k.device_gib * GIB + activations.COMMUNICATOR_BYTES * np.greater(case.replicas, 1)
    return (terms.total - terms.reserved * (1 - case.measures_reserved) + outside * case.measures_device) / GIB


def residual_classes(case: TrainingCase) -> tuple[str, ...]:
    """Return the residual classes. Padded samples of mixed lengths, and full fine-tuning, have larger errors."""
    if 0 < case.mean_length < case.sequence:
        return "long-tailed", "all"
    return ("all",) if case.adapter else ("full", "all")


MODELS = (
    FittedModel(
        "adapter_memory", metric="peak_memory_gib", csv=("finetune_memory",), kind=AdapterCoefficients, predict=_measured_gib,
        classes=residual_classes, applies=lambda case: bool(is_applicable(case)),
    ),
)  # fmt: skip
