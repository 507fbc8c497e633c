"""Resident training state: weights, gradients and optimizer, for scalars or arrays. Does not depend on the catalog or the spec.

Sources: ZeRO (arXiv 1910.02054, table 1), Megatron-Core's distributed optimizer (6 + 12/dp bytes per parameter).
"""

from dataclasses import dataclass

import numpy as np

from rackwright.estimator.case import Num, TrainingCase, lookup_by_label

COMPUTE_BALANCED_TRAINERS = {"nanotron": 1.0}
"""Trainers that balance pipeline stages by compute, the output head included. The others give every stage L/p layers."""
MTP_TRAINERS = {"megatron": 1.0}
"""Trainers that train multi-token-prediction modules, on the last stage with a copy of the embedding."""
BIDIRECTIONAL_SCHEDULES = {"dualpipe": 1.0}
"""Schedules that feed the pipeline from both ends, so that a device holds a stage and its mirror (arXiv 2412.19437, table 2)."""
UNIT_BYTES = 2.0
"""Bytes per parameter of a gathered FSDP or ZeRO-3 unit: 16 bit."""


@dataclass(frozen=True)
class StateBytes:
    """Bytes of the training state on one accelerator."""

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
    """Parameters of one accelerator before ZeRO. dense: split by tensor parallelism; routed: by expert and expert-tensor parallelism."""

    dense: Num
    routed: Num
    layers: Num


def state_bytes(parameters: Num, shards: Num, zero_stage: Num, recipe: tuple[Num, Num, Num] = (2.0, 4.0, 12.0)) -> StateBytes:
    """Return the state of `parameters` on one accelerator.

    shards: replicas that share the sharded state; zero_stage: 0 none, 1 optimizer, 2 and gradients, 3 and weights are sharded;
    recipe: bytes per parameter of weights, gradients and optimizer. Source: arXiv 1910.02054, table 1.
    """
    weights, gradients, optimizer = recipe
    return StateBytes(
        parameters * weights / np.where(np.greater_equal(zero_stage, 3), shards, 1),
        parameters * gradients / np.where(np.greater_equal(zero_stage, 2), shards, 1),
        parameters * optimizer / np.where(np.greater_equal(zero_stage, 1), shards, 1),
    )


def stage_layers(case: TrainingCase, stage: Num) -> Num:
    """Return the layers of a pipeline stage. Early stages have one more layer when the layers do not divide evenly."""
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
    """Return the parameters of a pipeline stage. The first stage has the embedding, the last one the head.

    A tied table is present on both. A multi-token-prediction module is one more layer of the last stage, with a copy of the embedding.
    """
    n = case.network
    first, last = np.equal(stage, 0), np.equal(stage, case.last_stage)
    mtp = last * np.greater(n.mtp, 0) * lookup_by_label(case.engine, MTP_TRAINERS, 0.0)
    copied = np.greater(case.pipeline, 1) & (np.equal(n.head, 0) | np.greater(mtp, 0))
    ends = n.embedding * first + (n.head + n.embedding * copied) * last
    layers = stage_layers(case, stage)
    routed_layer = n.routed / np.maximum(n.moe_layers, 1)
    dense = (n.layer_parameters - n.routed) * layers / np.maximum(n.layers, 1) + ends + mtp * np.maximum(n.mtp - routed_layer, 0)
    routed = n.routed * layers / np.maximum(n.layers, 1) + mtp * routed_layer
    return StageParameters(dense / case.tensor, routed / np.maximum(case.expert * case.expert_tensor, 1), layers + mtp)


def device_parameters(case: TrainingCase, stage: Num) -> StageParameters:
    """Return the parameters of a device: its stage, and its mirror stage with DualPipe. layers: of one stage."""
    own = stage_parameters(case, stage)
    has_mirror = lookup_by_label(case.schedule, BIDIRECTIONAL_SCHEDULES, 0.0) * np.greater(case.pipeline, 1)
    if not np.any(has_mirror):
        return own
    mirror = stage_parameters(case, case.last_stage - stage)
    return StageParameters(own.dense + has_mirror * mirror.dense, own.routed + has_mirror * mirror.routed, own.layers)


def expert_shards(case: TrainingCase) -> Num:
    """Return the number of accelerators that share the state of one expert."""
    return np.maximum(case.shards * case.tensor / np.maximum(case.expert * case.expert_tensor, 1), 1)


def resident_state(case: TrainingCase, parameters: StageParameters) -> StateBytes:
    """Return the state of a stage's parameters. Offloaded parts are on the host; a fused backward holds the gradients of one block."""
    gradients = case.gradient_bytes * (1 - case.fused_backward)
    recipe = (case.weight_bytes, gradients, case.optimizer_bytes * (1 - case.offload_optimizer))
    dense = state_bytes(parameters.dense, case.shards, case.zero_stage, recipe)
    total = dense + state_bytes(parameters.routed, expert_shards(case), case.zero_stage, recipe)
    block = case.network.largest_block / case.tensor * case.gradient_bytes * case.fused_backward
    return StateBytes(total.weights * (1 - case.offload_parameters), total.gradients + block, total.optimizer)


def gathered_bytes(case: TrainingCase, units: Num) -> Num:
    """Return the bytes that ZeRO-3 and FSDP gather while computing: `units` blocks in 16 bit and the larger of embedding and head, at most
    the whole model; 0 when one accelerator holds it all."""
    n = case.network
    routed = n.routed / np.maximum(n.moe_layers, 1)
    block = (n.largest_block - routed) / case.tensor + routed / np.maximum(case.expert * case.expert_tensor, 1)
    whole = np.minimum(units * block + np.maximum(n.head, n.embedding) / case.tensor, n.trunk / case.tensor)
    remote_share = np.where(np.greater(case.offload_parameters, 0), 1.0, 1 - 1 / np.maximum(case.shards, 1))
    return np.where(np.greater_equal(case.zero_stage, 3), UNIT_BYTES * whole * remote_share, 0.0)
