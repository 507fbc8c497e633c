"""Memory of pretraining and full fine-tuning by term and pipeline stage, in bytes, for scalars or arrays.

States: states.py; activations: activations.py. The peak adds either the logits of the last stage or the backward pass of one layer, then
the allocator reserve. Driver context and NCCL buffers are outside the allocator. Does not depend on the catalog or the spec.
"""

from dataclasses import dataclass, fields, replace

import numpy as np

from rackwright.estimator.calibration.coefficients import FittedModel, architecture_classes, fitted
from rackwright.estimator.case import Num, TrainingCase, lookup_by_label
from rackwright.estimator.result import MemoryTerms
from rackwright.estimator.training import activations
from rackwright.estimator.training.states import device_parameters, gathered_bytes, resident_state
from rackwright.estimator.training.sustained_rates import WIDE_FORMAT_FACTOR
from rackwright.units import GIB

OPERATOR_SELECTIVE_TRAINERS = {"torchtitan": 1.0, "fsdp": 1.0}
"""Trainers whose selective recompute keeps every second matrix product. The others recompute attention and named modules."""
PARALLEL_LOSS_TRAINERS = {"megatron": 1.0, "megatron-deepspeed": 1.0, "nanotron": 1.0}
"""Trainers whose loss works in place on a split vocabulary."""
INPUT_GATHERING_TRAINERS = {"megatron": 0.0, "megatron-deepspeed": 0.0}
"""Trainers that gather the inputs of split matrices again in the backward pass (arXiv 2205.05198, section 4.2.2)."""
SEPARATE_BACKWARD_TRAINERS = {"deepspeed": 1.6}
"""Trainers of Hugging Face models, whose backward pass runs operation by operation -> gradients in flight over those of fused or compiled
layers. Six rows of Llama 8B with full recompute grow by 380 to 480 kB a token (TM0156 to TM0166); chosen on all rows."""
FROZEN_TOWER_BYTES = 2.0
"""Bytes per parameter of a tower, which is not trained: 16 bit."""
WORKSPACE_BYTES = 0.2 * GIB
"""Allocated by libraries: cuBLAS and Transformer Engine workspaces of 32 to 64 MiB each, buckets of the optimizer."""
CONTEXT_BYTES = 0.6 * GIB
"""Driver context and kernels, outside the allocator: 0.5 to 0.8 GiB."""
DRIVER_SHARE = 0.985
"""Memory that a process can use over nameplate memory: 79.15 of 80 GiB (A100, H100) less a margin. Assumption of rackwright, 2026-11."""


@dataclass(frozen=True)
class MemoryCoefficients:
    """Coefficients fitted on published peaks. A prior is the value that the formula implies."""

    reserved_gib: float = fitted(1.0, 0.0, 3.0, "allocator's reserve, whatever the model", "GiB")
    reserved: float = fitted(0.05, 0.0, 0.3, "allocator's reserve and fragments over what tensors take", "share", 1.0)
    logit_bytes: float = fitted(14.0, 6.0, 24.0, "per logit: 16 bit, fp32 copy, log-softmax, its gradient", "bytes", 0.2)
    split_logit_bytes: float = fitted(18.0, 10.0, 28.0, "the same where PyTorch splits the vocabulary: one more fp32 copy", "bytes", 0.2)
    parallel_logit_bytes: float = fitted(10.0, 4.0, 16.0, "per logit of a loss that works in place on a split vocabulary", "bytes", 0.2)
    eager: float = fitted(1.0, 0.0, 2.0, "share of the unfused gate's activation that is kept", "share", 0.5)
    backward: float = fitted(1.0, 0.0, 3.0, "gradients in flight in the backward pass of a layer, over what the layer keeps", "share")
    selective: float = fitted(0.42, 0.2, 1.0, "of a layer, what operator-wise selective recompute keeps", "share", 0.3)
    units: float = fitted(3.0, 1.0, 8.0, "blocks that FSDP holds whole: in use, on the way, gradients", "blocks")
    gathered: float = fitted(
        1.0, 0.0, 1.5, "share of inputs kept whole under sequence parallelism by who does not gather them again", "share"
    )
    dispatch: float = fitted(4.0, 2.0, 8.0, "per hidden unit and chosen expert: copies sent, permuted and returned", "bytes", 0.5)


def training_memory(case: TrainingCase, k: MemoryCoefficients, *, stage: Num | None = None) -> MemoryTerms:
    """Return memory terms in bytes that sum to `peak_bytes`. stage: pipeline stage from 0; None: the fuller of first and last."""
    if stage is not None:
        return _with_reserve(_terms(case, k, stage), k)
    return _with_reserve(fuller_terms(_terms(case, k, 0.0), _terms(case, k, case.last_stage)), k)


def peak_bytes(case: TrainingCase, k: MemoryCoefficients) -> Num:
    """Return the peak bytes reserved by the allocator (torch max_memory_reserved) on the fullest accelerator."""
    return training_memory(case, k).total


def outside_bytes(case: TrainingCase) -> Num:
    """Return the bytes of device memory outside the allocator: driver context and communicators. nvidia-smi includes them."""
    groups = sum(np.greater(x, 1).astype(float) for x in (case.tensor, case.pipeline, case.context, case.expert, case.replicas))
    return CONTEXT_BYTES + activations.COMMUNICATOR_BYTES * groups


def usable_bytes(case: TrainingCase) -> Num:
    """Return the bytes that the allocator can reserve: memory reported by the driver, less memory outside the allocator."""
    return case.chip.memory_bytes * DRIVER_SHARE - outside_bytes(case)


def fuller_terms(first: MemoryTerms, last: MemoryTerms) -> MemoryTerms:
    """Return the terms with the larger total, element by element; the first when they are equal."""
    return _select_terms(first.total >= last.total, first, last)


def _select_terms(condition: Num, yes: MemoryTerms, no: MemoryTerms) -> MemoryTerms:
    return MemoryTerms(*(np.where(condition, getattr(yes, f.name), getattr(no, f.name)) for f in fields(MemoryTerms)))


def _with_reserve(terms: MemoryTerms, k: MemoryCoefficients) -> MemoryTerms:
    return replace(terms, reserved=terms.total * k.reserved + k.reserved_gib * GIB)


def _terms(case: TrainingCase, k: MemoryCoefficients, stage: Num) -> MemoryTerms:
    """Return the memory terms of one stage before the allocator reserve."""
    parameters = device_parameters(case, stage)
    state = resident_state(case, parameters)
    kept, transient = _activations(case, k, activations.in_flight_layers(case, parameters.layers, stage))
    torch = np.where(np.greater(case.tensor, 1), k.split_logit_bytes, k.logit_bytes)
    each = np.where(np.greater(lookup_by_label(case.engine, PARALLEL_LOSS_TRAINERS, 0.0), 0), k.parallel_logit_bytes, torch)
    held = np.where(np.greater(case.fused_loss, 0), activations.CHUNKED_LOGIT_SHARE, 1.0)
    vocabulary = case.local_tokens * case.network.vocab / case.tensor * each * held
    logits = np.where(np.equal(stage, case.last_stage), vocabulary, 0.0)
    wide = lookup_by_label(case.numbers, WIDE_FORMAT_FACTOR, 1.0)
    tower = FROZEN_TOWER_BYTES * case.network.tower / case.tensor * np.equal(stage, 0)
    tower = tower / np.where(np.greater_equal(case.zero_stage, 3), case.shards, 1)
    return MemoryTerms(
        weights=state.weights + gathered_bytes(case, k.units, parameters) + tower,
        gradients=state.gradients,
        optimizer=state.optimizer,
        activations=wide * (kept + transient),
        head=wide * np.maximum(logits - transient, 0.0),
        fixed=WORKSPACE_BYTES,
    )


def _activations(case: TrainingCase, k: MemoryCoefficients, layers: Num) -> tuple[Num, Num]:
    """Return the bytes kept for the backward pass of `layers`, and the transient bytes of the backward pass of one layer."""
    plain, tokens = activations.layer_activation_bytes(
        case.network, case.tensor, sequence_parallel=case.sequence_parallel, dropout=case.dropout, eager=k.eager * (1 - case.compiled),
        norms=case.recompute_norms, mlp=case.recompute_mlp, act=case.recompute_act, up=case.recompute_up,
        expert_tensor=case.expert_tensor, imbalance=case.moe_imbalance, dispatch=k.dispatch,
        gathered=k.gathered * lookup_by_label(case.engine, INPUT_GATHERING_TRAINERS, 1.0),
    ), case.local_tokens  # fmt: skip
    whole = plain + activations.attention_score_bytes(case)
    by_operator = np.where(np.greater(lookup_by_label(case.engine, OPERATOR_SELECTIVE_TRAINERS, 0.0), 0), k.selective, 1.0)
    checkpoint = activations.CHECKPOINT_BYTES * case.network.hidden / case.sequence_split
    kept = np.where(np.equal(case.recompute, 2), checkpoint, by_operator * plain)
    recomputed = np.where(np.greater(case.recompute, 0), whole - kept, 0.0)
    separate = lookup_by_label(case.engine, SEPARATE_BACKWARD_TRAINERS, 1.0)
    layers = np.where(np.greater(case.offload_activations, 0), np.minimum(layers, activations.OFFLOADED_LAYERS), layers)
    return tokens * (whole - case.recompute_share * recomputed) * layers, tokens * (recomputed + k.backward * separate * plain)


def _measured_gib(case: TrainingCase, k: MemoryCoefficients) -> Num:
    """Return the GiB of the stage and kind that a published row measured."""
    fullest, measured = training_memory(case, k), training_memory(case, k, stage=np.maximum(case.measured_stage, 0.0))
    terms = _select_terms(np.less(case.measured_stage, 0), fullest, measured)
    return (terms.total - terms.reserved * (1 - case.measures_reserved)) / GIB


MODELS = (
    FittedModel(
        "memory", metric="peak_memory_gib", csv=("training_memory",), kind=MemoryCoefficients, predict=_measured_gib,
        classes=architecture_classes, applies=lambda case: not case.adapter, prior_spread_scale=0.7,
    ),
)  # fmt: skip
