"""What stays resident between optimizer steps: weights, gradients, optimizer. Numbers or arrays in, the same out.

Sources of the forms: ZeRO (arXiv 1910.02054, table 1), Megatron-Core's distributed optimizer (6 + 12/dp bytes per parameter).
"""

from dataclasses import dataclass

import numpy as np

from rackwright.estimator.case import Num, TrainingCase, lookup_by_label

COMPUTE_BALANCED_TRAINERS = {"nanotron": 1.0}
"""Trainers that cut the pipeline by compute, the output head counted as the layers it costs; the others give every stage L/p layers."""
MTP_TRAINERS = {"megatron": 1.0}
"""Trainers that train a model's multi-token-prediction modules: on the last stage, beside a copy of the embedding."""
BIDIRECTIONAL_SCHEDULES = {"dualpipe": 1.0}
"""Schedules that feed the pipeline from both ends: a device holds a stage and its mirror image (arXiv 2412.19437, table 2)."""
UNIT_BYTES = 2.0
"""Per parameter of a gathered FSDP or ZeRO-3 unit: gathered in 16 bit."""


@dataclass(frozen=True)
class StateBytes:
    weights: Num
    gradients: Num
    optimizer: Num

    @property
    def total(self) -> Num:
        return self.weights + self.gradients + self.optimizer

    def __add__(self, other: "StateBytes") -> "StateBytes":
        return StateBytes(self.weights + other.weights, self.gradients + other.gradients, self.optimizer + other.optimizer)


@dataclass(frozen=True)
class StageParameters:
    """Of one accelerator, before ZeRO. dense: split by tensor parallelism; routed: by expert and expert-tensor parallelism."""

    dense: Num
    routed: Num
    layers: Num


def state_bytes(parameters: Num, shards: Num, zero_stage: Num, recipe: tuple[Num, Num, Num] = (2.0, 4.0, 12.0)) -> StateBytes:
    """Of `parameters` on one accelerator, of which `shards` replicas share what the ZeRO stage splits.

    recipe: bytes per parameter of weights, gradients, optimizer. zero_stage: 0 nothing, 1 optimizer, 2 and gradients, 3 and weights.
    """
    weights, gradients, optimizer = recipe
    return StateBytes(
        parameters * weights / np.where(np.greater_equal(zero_stage, 3), shards, 1),
        parameters * gradients / np.where(np.greater_equal(zero_stage, 2), shards, 1),
        parameters * optimizer / np.where(np.greater_equal(zero_stage, 1), shards, 1),
    )


def stage_layers(case: TrainingCase, stage: Num) -> Num:
    """Layers of that pipeline stage. What does not divide lies with the early stages."""
    n, p = case.network, np.maximum(case.pipeline, 1)
    by_compute = lookup_by_label(case.engine, COMPUTE_BALANCED_TRAINERS, 0.0)
    share, last = n.layers / p, np.equal(stage, p - 1)
    even = np.where(last, np.maximum(np.floor(share + 1e-9), 1), np.ceil(share - 1e-9))
    if not np.any(by_compute):
        return even
    head = n.vocab * n.hidden / np.maximum(n.layer_parameters / np.maximum(n.layers, 1), 1)
    balanced = np.round((n.layers + head) / p)
    cut = np.where(last, np.maximum(n.layers - balanced * (p - 1), 1), np.minimum(balanced, n.layers))
    return np.where(np.greater(by_compute, 0), cut, even)


def stage_parameters(case: TrainingCase, stage: Num) -> StageParameters:
    """The embedding lies on the first stage, the head on the last; a tied table is needed at both ends, and so is that of a
    multi-token-prediction module, which is one more layer of the last stage."""
    n = case.network
    first, last = np.equal(stage, 0), np.equal(stage, np.maximum(case.pipeline, 1) - 1)
    mtp = last * np.greater(n.mtp, 0) * lookup_by_label(case.engine, MTP_TRAINERS, 0.0)
    copied = np.greater(case.pipeline, 1) & (np.equal(n.head, 0) | np.greater(mtp, 0))
    ends = n.embedding * first + (n.head + n.embedding * copied) * last
    layers = stage_layers(case, stage)
    routed_layer = n.routed / np.maximum(n.moe_layers, 1)
    dense = (n.layer_parameters - n.routed) * layers / np.maximum(n.layers, 1) + ends + mtp * np.maximum(n.mtp - routed_layer, 0)
    routed = n.routed * layers / np.maximum(n.layers, 1) + mtp * routed_layer
    return StageParameters(dense / case.tensor, routed / np.maximum(case.expert * case.expert_tensor, 1), layers + mtp)


def device_parameters(case: TrainingCase, stage: Num) -> StageParameters:
    """Of a device: its stage, and under DualPipe the mirrored one beside it. layers: of one of them."""
    here = stage_parameters(case, stage)
    twice = lookup_by_label(case.schedule, BIDIRECTIONAL_SCHEDULES, 0.0) * np.greater(case.pipeline, 1)
    if not np.any(twice):
        return here
    other = stage_parameters(case, np.maximum(case.pipeline, 1) - 1 - stage)
    return StageParameters(here.dense + twice * other.dense, here.routed + twice * other.routed, here.layers)


def expert_shards(case: TrainingCase) -> Num:
    """Accelerators that share the state of one expert: those of the group that do not hold other experts or other parts of it."""
    return np.maximum(case.shards * case.tensor / np.maximum(case.expert * case.expert_tensor, 1), 1)


def resident_state(case: TrainingCase, here: StageParameters) -> StateBytes:
    """Of that stage; offloaded weights and optimizer are on the host, gradients of a fused backward are one block at a time."""
    gradients = case.gradient_bytes * (1 - case.fused_backward)
    recipe = (case.weight_bytes, gradients, case.optimizer_bytes * (1 - case.offload_optimizer))
    both = state_bytes(here.dense, case.shards, case.zero_stage, recipe) + state_bytes(
        here.routed, expert_shards(case), case.zero_stage, recipe
    )
    block = case.network.largest_block / case.tensor * case.gradient_bytes * case.fused_backward
    return StateBytes(both.weights * (1 - case.offload_parameters), both.gradients + block, both.optimizer)


def gathered_bytes(case: TrainingCase, units: Num) -> Num:
    """What ZeRO-3 and FSDP hold whole while they compute: `units` blocks in 16 bit, and the larger of embedding and head; never more
    than the model, nothing where one accelerator holds it all."""
    n = case.network
    routed = n.routed / np.maximum(n.moe_layers, 1)
    block = (n.largest_block - routed) / case.tensor + routed / np.maximum(case.expert * case.expert_tensor, 1)
    whole = np.minimum(units * block + np.maximum(n.head, n.embedding) / case.tensor, n.trunk / case.tensor)
    elsewhere = np.where(np.greater(case.offload_parameters, 0), 1.0, 1 - 1 / np.maximum(case.shards, 1))
    return np.where(np.greater_equal(case.zero_stage, 3), UNIT_BYTES * whole * elsewhere, 0.0)
