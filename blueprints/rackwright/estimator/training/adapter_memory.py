"""Memory of fine-tuning on a few accelerators: LoRA, QLoRA, prompts and full fine-tuning by trainers that are not Megatron's.

Forms: states as in states.py, with a frozen base that has neither gradients nor optimizer; activations as in activations.py, except that
a frozen matrix does not keep its input. Loss in separate operations, norms in plain PyTorch, one allocator whose segments stay as large
as the batches were that came by: samples of mixed lengths leave it holding blocks that no later batch fits into.
"""

from dataclasses import dataclass, fields, replace

import numpy as np

from rackwright.estimator.calibration.coefficients import FittedModel, fitted
from rackwright.estimator.case import Num, TrainingCase, lookup_by_label
from rackwright.estimator.result import MemoryTerms
from rackwright.estimator.training.activations import attention_bytes, in_flight_layers, kept_score_bytes
from rackwright.estimator.training.states import gathered_bytes, resident_state, stage_parameters, state_bytes
from rackwright.estimator.training.sustained_rates import WIDE_FORMAT_FACTOR
from rackwright.units import GIB

FULL_FINETUNING_TRAINERS = {"hf": 1.0, "litgpt": 1.0, "torchtune": 1.0, "unsloth": 1.0}
"""Families that speak of full fine-tuning here."""
CHECKPOINT_BYTES = 2.0
"""Bytes per hidden unit: the input of a recomputed layer, 16 bit."""
DEQUANTIZE_BUFFER_BYTES = 2.0
"""Bytes per weight of a quantised matrix while it multiplies: made 16 bit, one matrix at a time."""
CAST_COPY_BYTES = 2.0
"""Bytes per weight of an fp32 head: autocast keeps its 16-bit copy until the pass ends."""
GATHERED_UNITS = 2.0
"""Blocks that FSDP and ZeRO-3 hold whole: the one in use and the next."""
CHECKPOINT_OFFLOADING_TRAINERS = {"unsloth": 1.0}
"""Trainers whose recomputation keeps its checkpoints on the host (Unsloth's own gradient checkpointing, 2024-04)."""
OFFLOADED_LAYERS = 2.0
"""Layers on the device while checkpoints go to the host: the one in use and the one on its way."""
GATED_BYTES = 6.0
"""Bytes per FFN column: gate, its activation and up, inputs of the product; the product itself is the input of a matrix."""
UNGATED_BYTES = 2.0
"""Bytes per FFN column without a gate: the input of the activation function."""
FUSED_NORM_BYTES = 2.0
"""Bytes per hidden unit and norm where norms are one kernel: its 16-bit input."""
CHUNKED_LOGIT_SHARE = 0.06
"""Of whole logits, what a chunked loss holds (Liger and torchtune cut into 8 to 32)."""
UPCAST_LOGIT_BYTES = {"torchtune": 8.0}
"""Bytes per logit of trainers that cast logits to fp32 before they shift them: two fp32 copies (torchtune's recipes)."""
ADAPTER_WEIGHT, ADAPTER_GRADIENT = 6.0, 4.0
"""Bytes per parameter: fp32 with autocast's 16-bit copy; fp32. PEFT keeps adapters in fp32 (autocast_adapter_dtype)."""
MODULE_STATE_SHARE = 0.5
"""State of a whole module trained in 16 bit beside the adapters, over that of an fp32 adapter: weight, gradient, both moments."""
LONGEST_TO_MEAN_RATIO = 6.0
"""The longest sample of instruction data over the mean one: 19,548 tokens over 3,234 (ms-swift's benchmark)."""
COMMUNICATOR_BYTES = 0.3 * GIB
"""NCCL's buffers of one group, outside the allocator (sizing.md section 4)."""
MAX_RESERVED_SHARE = 0.97
"""Of accelerator memory: before it fails, the allocator gives free blocks back."""


@dataclass(frozen=True)
class AdapterCoefficients:
    """Fitted on published peaks; every prior is what the formula alone would say."""

    logit_bytes: float = fitted(14.0, 8.0, 24.0, "per logit of a loss in separate operations", "bytes", 0.3)
    norm_bytes: float = fitted(6.0, 2.0, 12.0, "per hidden unit that a norm and its residual keep", "bytes", 0.3)
    input_bytes: float = fitted(2.5, 2.0, 6.0, "per kept input of an adapted or trained matrix; 2 plain, 6 with an fp32 copy", "bytes", 0.3)
    adapter_bytes: float = fitted(20.0, 16.0, 28.0, "per adapter parameter, optimizer's temporaries included", "bytes", 0.3)
    update: float = fitted(0.5, 0.0, 2.0, "temporaries of a full optimizer step, over its states", "share")
    reserved: float = fitted(0.05, 0.0, 0.4, "allocator's reserve over what comes and goes, equal lengths", "share", 0.6)
    mixed: float = fitted(1.5, 0.0, 4.0, "further reserve with mixed lengths, over the logits of the mean batch", "share", 0.6)
    device_gib: float = fitted(0.8, 0.3, 2.0, "driver context and kernels, where the device was asked", "GiB")


def is_applicable(case: TrainingCase) -> Num:
    """1 where this model decides, not memory.training_memory: adapters on any trainer; full fine-tuning by a trainer of TRAINERS, or by
    DeepSpeed within one node."""
    small = np.equal(case.engine, "deepspeed") & np.less_equal(case.accelerators, case.wires.per_node)
    return np.greater(case.adapter, 0) | np.greater(lookup_by_label(case.engine, FULL_FINETUNING_TRAINERS, 0.0), 0) | small


def adapter_memory(case: TrainingCase, k: AdapterCoefficients, *, stage: Num | None = None) -> MemoryTerms:
    """Terms, in bytes, that sum to `peak_bytes`. stage: that pipeline stage, 0 first; None: the fullest of first and last."""
    if stage is not None:
        return _terms(case, k, stage)
    first, last = (_terms(case, k, at) for at in (0.0, np.maximum(case.pipeline, 1) - 1))
    return MemoryTerms(*(np.where(first.total >= last.total, getattr(first, f.name), getattr(last, f.name)) for f in fields(first)))


def peak_bytes(case: TrainingCase, k: AdapterCoefficients) -> Num:
    """What the allocator reserves at the peak (torch max_memory_reserved) on the fullest accelerator."""
    return adapter_memory(case, k).total


def _terms(case: TrainingCase, k: AdapterCoefficients, stage: Num) -> MemoryTerms:
    weights, gradients, optimizer = _state(case, k, stage)
    kept, passing = _activations(case, k, stage)
    is_last = np.equal(stage, np.maximum(case.pipeline, 1) - 1)
    logits = is_last * _logit_bytes(case, k)
    chunked = np.greater(case.fused_loss, 0)
    head = np.where(chunked, np.maximum(logits * _tokens(case) - passing, 0.0), logits * _tokens(case))  # done before the layers' turn
    held, update = _update(case, k, gradients, optimizer)
    kept, passing, head = (lookup_by_label(case.numbers, WIDE_FORMAT_FACTOR, 1.0) * x for x in (kept, passing, head))
    moving = kept + passing + head
    terms = MemoryTerms(
        weights=weights, gradients=held + np.maximum(update - moving, 0.0), optimizer=optimizer, activations=kept + passing, head=head
    )
    reserve = k.reserved * moving + k.mixed * logits * _mean_tokens(case)
    return replace(terms, reserved=np.clip(MAX_RESERVED_SHARE * case.chip.memory_bytes - terms.total, 0.0, reserve))


def _state(case: TrainingCase, k: AdapterCoefficients, stage: Num) -> tuple[Num, Num, Num]:
    """Weights, gradients and optimizer states, after sharding."""
    whole, adapters = resident_state(case, stage_parameters(case, stage)), case.adapter
    trained = case.trainable - (1 - MODULE_STATE_SHARE) * case.trained_modules
    trained = trained * stage_parameters(case, stage).layers / np.maximum(case.network.layers, 1) / case.tensor
    states = (k.adapter_bytes - ADAPTER_WEIGHT - ADAPTER_GRADIENT) * (1 - case.offload_optimizer)
    small = state_bytes(trained, case.shards, case.zero_stage, (ADAPTER_WEIGHT, ADAPTER_GRADIENT, states))
    return (
        np.where(adapters, _frozen(case, stage) + small.weights, whole.weights) + gathered_bytes(case, GATHERED_UNITS),
        np.where(adapters, small.gradients, whole.gradients),
        np.where(adapters, small.optimizer, whole.optimizer),
    )


def _frozen(case: TrainingCase, stage: Num) -> Num:
    """A frozen base and the buffer its quantised matrices are made 16 bit in."""
    n, here = case.network, stage_parameters(case, stage)
    linear = (n.linear - n.routed) * here.layers / np.maximum(n.layers, 1) / case.tensor + here.routed
    other = here.dense + here.routed - linear + n.tower / case.tensor
    resting = linear * case.frozen_bytes + other * case.frozen_other_bytes
    cast = CAST_COPY_BYTES * np.greater(case.frozen_other_bytes, 2) * np.where(np.greater(n.head, 0), n.head, n.embedding) / case.tensor
    buffer = cast + np.where(np.less(case.frozen_bytes, 2), DEQUANTIZE_BUFFER_BYTES * n.largest_linear / case.tensor, 0.0)
    return resting * (1 - case.offload_parameters) / np.where(np.greater_equal(case.zero_stage, 3), case.shards, 1) + buffer


def _update(case: TrainingCase, k: AdapterCoefficients, gradients: Num, optimizer: Num) -> tuple[Num, Num]:
    """Gradients held while activations come and go, and what the optimizer's step takes after them: with one micro-batch a step there
    are no gradients yet when activations peak. Adapters' temporaries are within adapter_bytes."""
    waits = np.where(np.greater(case.adapter, 0) | np.greater(case.micro_batches, 1), 1.0, 0.0)
    return gradients * waits, gradients * (1 - waits) + np.where(case.adapter, 0.0, k.update * optimizer)


def _activations(case: TrainingCase, k: AdapterCoefficients, stage: Num) -> tuple[Num, Num]:
    """What waits for the backward pass, and what stands on it while one recomputed layer passes backward."""
    n, tokens = case.network, _tokens(case)
    split = np.where(np.greater(case.sequence_parallel, 0), case.tensor, 1.0)
    layer = _layer_bytes(case, k)
    again = np.where(np.equal(case.recompute, 2), case.recompute_share, 0.0)
    layers = in_flight_layers(case, stage_parameters(case, stage).layers, stage)
    offloads = np.maximum(
        case.offload_activations, lookup_by_label(case.engine, CHECKPOINT_OFFLOADING_TRAINERS, 0.0) * np.greater(again, 0)
    )
    layers = np.where(np.greater(offloads, 0), np.minimum(layers, OFFLOADED_LAYERS), layers)
    each = again * CHECKPOINT_BYTES * n.hidden / split + (1 - again) * layer
    return tokens * each * layers, tokens * layer * np.greater(again, 0)


def _layer_bytes(case: TrainingCase, k: AdapterCoefficients) -> Num:
    """Per token and layer, nothing recomputed. A plain feed-forward net goes with LayerNorm, one kernel; a gated one with RMSNorm in
    separate operations, which keep twice as much."""
    n = case.network
    column = np.where(n.gated, GATED_BYTES, UNGATED_BYTES)
    routed = n.top_k * ((4 * n.hidden + column * n.expert_ffn) * case.moe_imbalance) + column * n.shared_ffn
    ffn = column * n.ffn + (routed - column * n.ffn) * n.moe_layers / np.maximum(n.layers, 1)
    norm = np.where(np.greater(case.compiled, 0), np.minimum(k.norm_bytes, FUSED_NORM_BYTES), k.norm_bytes) * np.where(n.gated, 2, 1)
    every = np.where(n.gated, 3, 2) * n.hidden + np.where(np.greater(n.ffn, 0), n.ffn, n.top_k * n.expert_ffn + n.shared_ffn)
    inputs = np.where(case.adapter, np.maximum(case.adapter_inputs, case.keeps_frozen_inputs * every), every)
    split = np.where(np.greater(case.sequence_parallel, 0), case.tensor, 1.0)
    return norm * n.hidden / split + attention_bytes(n, case.tensor) + (ffn + k.input_bytes * inputs) / case.tensor + kept_score_bytes(case)


def _logit_bytes(case: TrainingCase, k: AdapterCoefficients) -> Num:
    """Per token."""
    each = k.logit_bytes + lookup_by_label(case.engine, UPCAST_LOGIT_BYTES, 0.0)
    return np.where(np.greater(case.fused_loss, 0), CHUNKED_LOGIT_SHARE, 1.0) * each * case.network.vocab / case.tensor


def _tokens(case: TrainingCase) -> Num:
    """Of the longest micro-batch, soft prompts included, on one accelerator."""
    longest = np.where(np.greater(case.mean_length, 0), np.minimum(case.sequence, LONGEST_TO_MEAN_RATIO * case.mean_length), case.sequence)
    return case.micro_batch * (longest + case.virtual_tokens) / case.context


def _mean_tokens(case: TrainingCase) -> Num:
    """Of the mean micro-batch when lengths differ, cut to `sequence`, lengths falling off exponentially; 0 when all are alike."""
    mean = case.mean_length
    return case.micro_batch * mean * (1 - np.exp(-case.sequence / np.maximum(mean, 1.0))) / case.context


def _measured_gib(case: TrainingCase, k: AdapterCoefficients) -> Num:
    """GiB, of the kind that a published row read."""
    terms = adapter_memory(case, k)
    outside = k.device_gib * GIB + COMMUNICATOR_BYTES * np.greater(case.replicas, 1)
    return (terms.total - terms.reserved * (1 - case.measures_reserved) + outside * case.measures_device) / GIB


def _classes(case: TrainingCase) -> tuple[str, ...]:
    if 0 < case.mean_length < case.sequence:
        return "long-tailed", "all"
    return ("all",) if case.adapter else ("full", "all")


MODELS = (
    FittedModel(
        name="adapter_memory",
        metric="peak_memory_gib",
        csv=("finetune_memory",),
        kind=AdapterCoefficients,
        predict=_measured_gib,
        classes=_classes,
        applies=lambda case: bool(is_applicable(case)),
        loss_scale=0.1,
    ),
)
