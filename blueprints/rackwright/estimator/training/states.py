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
WHOLE_STAGE_TRAINERS = {"torchtitan": 1.0, "fsdp": 1.0, "automodel": 1.0}
"""Trainers on FSDP2, which do not reshard a stage after its forward pass under a pipeline, nor reduce gradients before the last micro-batch
(torchtitan, distributed/pipeline_parallel.py and fully_shard's reshard_after_forward and set_requires_gradient_sync)."""
LIVE_PARAMETERS = {"deepspeed": 1e9}
"""Parameters that ZeRO-3 keeps gathered: stage3_max_live_parameters (DeepSpeed configuration, default)."""
REDUCE_BUCKET = {"deepspeed": 5e8}
"""Elements of a gradient bucket: reduce_bucket_size; overlap_comm doubles it (DeepSpeed configuration, defaults)."""
GRADIENT_OFFLOADING_TRAINERS = {"deepspeed": 1.0}
"""Trainers that move sharded gradients to the host with the optimizer (offload_optimizer, ZeRO-Offload, arXiv 2101.06840)."""
GRADIENT_COPYING_TRAINERS = {"hf": 1.0, "unsloth": 1.0, "pytorch": 1.0, "litgpt": 1.0}
"""Trainers on PyTorch's DDP with its default gradient_as_bucket_view=False, which copies gradients into buckets."""
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
    held = parameters.dense + parameters.routed
    is_whole = keeps_stage_whole(case) & np.greater(case.micro_batches, 1) & np.greater_equal(case.zero_stage, 2)
    kept = np.where(is_whole, gradients * held, total.gradients) * (1 - offloaded_gradients(case))
    kept = kept + gradient_bucket_bytes(case, held, gradients)
    return StateBytes(total.weights * (1 - case.offload_parameters), kept + block, total.optimizer)


def offloaded_gradients(case: TrainingCase) -> Num:
    """Return 1 when sharded gradients move to the host together with the optimizer."""
    sharded = np.greater(case.offload_optimizer, 0) & np.greater_equal(case.zero_stage, 2)
    return np.where(sharded, lookup_by_label(case.engine, GRADIENT_OFFLOADING_TRAINERS, 0.0), 0.0)


def gradient_bucket_bytes(case: TrainingCase, trained: Num, gradient: Num) -> Num:
    """Return the bytes of gradient buckets beside the gradients, for `trained` parameters on one accelerator.

    ZeRO-2 of DeepSpeed fills one bucket while it reduces another; DDP copies every gradient into its buckets.
    """
    buckets = 2 * np.minimum(lookup_by_label(case.engine, REDUCE_BUCKET, 0.0), trained) * np.minimum(gradient, UNIT_BYTES)
    copies = lookup_by_label(case.engine, GRADIENT_COPYING_TRAINERS, 0.0) * gradient * trained * np.greater(case.replicas, 1)
    return np.equal(case.zero_stage, 2) * buckets + np.equal(case.zero_stage, 0) * copies


def keeps_stage_whole(case: TrainingCase) -> Num:
    """Return whether FSDP keeps a pipeline stage whole between micro-batches."""
    return np.greater(case.pipeline, 1) & np.greater(lookup_by_label(case.engine, WHOLE_STAGE_TRAINERS, 0.0), 0)


def gathered_bytes(case: TrainingCase, units: Num, stage: StageParameters) -> Num:
    """Return the bytes that ZeRO-3 and FSDP gather while computing: `units` blocks in 16 bit and the larger of embedding and head, at most
    the whole model; a pipeline stage where it stays whole; 0 when one accelerator holds it all."""
    n = case.network
    routed = n.routed / np.maximum(n.moe_layers, 1)
    block = (n.largest_block - routed) / case.tensor + routed / np.maximum(case.expert * case.expert_tensor, 1)
    live = np.maximum(units * block + np.maximum(n.head, n.embedding) / case.tensor, lookup_by_label(case.engine, LIVE_PARAMETERS, 0.0))
    held = np.maximum(stage.dense + stage.routed, 1.0)
    whole = np.where(keeps_stage_whole(case), held, np.minimum(live, n.trunk / case.tensor))
    is_copied = np.greater(case.offload_parameters, 0) | np.greater(lookup_by_label(case.engine, LIVE_PARAMETERS, 0.0), 0)
    local_share = (stage.dense / np.maximum(case.shards, 1) + stage.routed / expert_shards(case)) / held
    remote_share = np.where(is_copied & np.equal(case.adapter, 0), 1.0, 1 - local_share)
    return np.where(np.greater_equal(case.zero_stage, 3), UNIT_BYTES * whole * remote_share, 0.0)
