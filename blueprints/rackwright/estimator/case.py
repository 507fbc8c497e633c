"""What the formulas see: plain numbers, one configuration or thousands at once. Knows neither catalog nor spec.

Every field may be a number or a numpy array of one length; formulas broadcast. Texts (generation, engine, numbers) likewise: a str, or
an array of str. `stack` turns many single cases into one case of arrays.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeVar, cast

import numpy as np

from rackwright.estimator.model.dimensions import ModelDimensions

Num = Any
"""float or numpy array of floats."""
Text = Any
"""str or numpy array of str."""

C = TypeVar("C")

RECOMPUTE = ("none", "selective", "full")
"""Codes 0, 1, 2 of `TrainingCase.recompute`. selective: attention core or named modules only; full: every layer from its input."""


@dataclass(frozen=True)
class Chip:
    """One accelerator. generation: ampere, hopper, ada, blackwell, turing, cdna3, tpu-v5e, ... (see resolve.py); peak_flops: dense, in
    the format the matrices multiply in; base_peak_flops: in bf16 (fp16 where there is none); power_share: power cap over nameplate."""

    generation: Text
    memory_bytes: Num
    bandwidth_bytes_per_s: Num
    base_peak_flops: Num
    peak_flops: Num
    power_share: Num = 1.0
    is_tpu: Num = 0.0
    host_bytes_per_s: Num = 25e9
    """PCIe or C2C, one direction: what offload goes over."""
    sustained_share: Num = 0.8
    """Of the nameplate peak, what a large matrix product reaches on the accelerator (measured in bf16; clocks, power and kernels)."""
    kin: Text = ""
    """Accelerators whose runs speak of this one: its generation, cards without a scale-up link apart from those that have one."""
    watts: Num = float("inf")
    """Of the board, nameplate or cap; inf where it is not published: power then limits nothing."""


@dataclass(frozen=True)
class Wires:
    """Per accelerator and direction, bytes/s. domain: accelerators one reaches over scale-up; per_node: accelerators of a node.
    scale_up is PCIe where there is no link (is_linked 0); scale_out: its share of the node's network."""

    scale_up_bytes_per_s: Num
    scale_out_bytes_per_s: Num
    domain: Num
    per_node: Num
    is_linked: Num = 1.0


@dataclass(frozen=True)
class TrainingCase:
    """One optimizer step of one pinned configuration.

    replicas: data-parallel copies, accelerators / (tensor * pipeline * context); shards: accelerators that share what the ZeRO stage
    splits (the whole data-parallel group, or the node for HSDP); zero_stage 0 to 3 (FSDP full is 3, grad+opt is 2); sequence:
    tokens of one sequence; micro_batch: sequences; micro_batches: per replica and step. passes: FLOPs per weight and token (6 full,
    4 adapters). *_bytes: per parameter of what is trained; frozen_bytes: per parameter of a frozen matrix; trainable: trained parameters.
    """

    network: ModelDimensions
    chip: Chip
    wires: Wires
    accelerators: Num
    sequence: Num
    micro_batch: Num
    micro_batches: Num
    tensor: Num = 1.0
    pipeline: Num = 1.0
    virtual: Num = 1.0
    context: Num = 1.0
    expert: Num = 1.0
    expert_tensor: Num = 1.0
    replicas: Num = 1.0
    shards: Num = 1.0
    zero_stage: Num = 0.0
    sequence_parallel: Num = 1.0
    recompute: Num = 0.0
    recompute_share: Num = 1.0
    """Of the layers, so many are recomputed as said."""
    offload_optimizer: Num = 0.0
    offload_activations: Num = 0.0
    offload_parameters: Num = 0.0
    """1 when ZeRO-3's shards of the weights rest on the host (DeepSpeed's offload_param)."""
    schedule: Text = "1f1b"
    """Of the pipeline: 1f1b (interleaved where virtual > 1), zero-bubble, dualpipe."""
    passes: Num = 6.0
    adapter: Num = 0.0
    """1 when the base is frozen (LoRA, QLoRA, p-tuning, prompts)."""
    trainable: Num = 0.0
    weight_bytes: Num = 2.0
    gradient_bytes: Num = 4.0
    optimizer_bytes: Num = 12.0
    frozen_bytes: Num = 2.0
    """Per weight of a frozen matrix that a 4 or 8 bit format can hold; the rest of a frozen base is 16 bit."""
    virtual_tokens: Num = 0.0
    numbers: Text = "bf16"
    """Format the matrices multiply in: bf16, fp16, fp8, mxfp8, fp4, fp32."""
    engine: Text = "megatron"
    """Family: see ENGINES in engines.py."""
    compiled: Num = 0.0
    flash: Num = 1.0
    """1 when attention never writes its s x s scores."""
    released: Num = 0.0
    """Year of the trainer's release with its fraction, 2025.9; 0: not known, taken to be the newest."""
    fused_loss: Num = 0.0
    """1 when the loss is fused or chunked and whole logits are never held."""
    fused_backward: Num = 0.0
    """1 when the optimizer runs inside backward, so that gradients are never all held."""
    dropout: Num = 0.0
    moe_imbalance: Num = 1.0
    slices: Num = 1.0
    """TPU slices joined over the data-centre network."""
    recompute_norms: Num = 0.0
    recompute_mlp: Num = 0.0
    recompute_act: Num = 0.0
    recompute_up: Num = 0.0
    """Modules that selective recompute names beside the attention core: norm outputs, the dense FFN whole, the activation function of
    experts, MLA's up-projections."""
    measures_reserved: Num = 1.0
    """Of a measured run: 1 when its peak is what the allocator reserved, 0 when what tensors took."""
    measures_device: Num = 0.0
    """Of a measured run: 1 when its peak is what the device showed (nvidia-smi), driver context included. Rows: mem_kind blank or
    "per GPU"."""
    mean_length: Num = 0.0
    """Tokens of the mean sample when samples are padded, not packed, before they are cut to `sequence`; 0: all alike. Rows: "mean N"
    in notes."""
    trained_modules: Num = 0.0
    """Of `trainable`, parameters of whole modules that are trained beside the adapters (table and head). Rows: "embeddings and output
    head" in peft_targets."""
    adapter_inputs: Num = 0.0
    """Numbers per token and layer that adapters keep: see adapters.py. Rows: peft_targets; outputs too for IA3, DoRA, adapter-v2."""
    frozen_other_bytes: Num = 2.0
    """Per parameter of a frozen base outside its matrices (tables, head, norms): 4 where PEFT prepares a bitsandbytes base for training."""
    keeps_frozen_inputs: Num = 0.0
    """1 for bitsandbytes before 0.43.2 (July 2024), which kept the inputs of frozen 4 and 8 bit matrices. Rows: quantization, as_of."""
    measured_stage: Num = -1.0
    """Of a measured run: the pipeline stage whose peak was read, 0 first; -1: the fullest."""

    @property
    def tokens(self) -> Num:
        """Of one micro-batch of one replica."""
        return self.micro_batch * self.sequence

    @property
    def step_tokens(self) -> Num:
        """Of one optimizer step, all replicas."""
        return self.tokens * self.micro_batches * self.replicas


def stack_cases(cases: Sequence[C]) -> C:
    """Many single cases as one case of arrays; fields stay in the order of `cases`."""
    first = cases[0]
    columns = {
        f.name: stack_cases([getattr(c, f.name) for c in cases])
        if is_dataclass(getattr(first, f.name))
        else np.array([getattr(c, f.name) for c in cases])
        for f in fields(cast(Any, first))
    }
    return type(first)(**columns)


def lookup_by_label(text: Text, values: dict[str, Num], other: Num) -> Num:
    """The value of each label; `other` for labels that have none."""
    if isinstance(text, str):
        return values.get(text, other)
    found = np.full(np.shape(text), other, dtype=float)
    for name, value in values.items():
        found[text == name] = value
    return found
