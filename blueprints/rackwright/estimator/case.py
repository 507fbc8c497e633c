"""Inputs of the training formulas as plain numbers. Does not depend on the catalog or the spec.

Every field is a scalar or a numpy array of one common length; formulas broadcast. Labels (generation, engine, numbers) are a str or an
array of str. `stack_cases` combines single cases into one case of arrays.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeVar, cast

import numpy as np

from rackwright.estimator.model.dimensions import ModelDimensions, Num

Text = Any
"""str or numpy array of str."""

C = TypeVar("C")

RECOMPUTE = ("none", "selective", "full")
"""Codes 0, 1, 2 of `TrainingCase.recompute`. selective: attention core or named modules; full: every layer from its input."""


CARDS = " cards"
"""End of the evidence group of accelerators without a scale-up link."""
OTHER_VENDORS = ("neuroncore", "gaudi", "cdna", "tpu")
"""Prefixes of accelerator generations with a software stack of their own, other than NVIDIA's."""
MAX_PADDED_SAMPLES = 1000
"""Samples of a micro-batch after which the longest sample is assumed not to grow any more."""


@dataclass(frozen=True)
class Chip:
    """One accelerator.

    generation: ampere, hopper, ada, blackwell, turing, cdna3, tpu-v5e, ...; peak_flops: dense FLOP/s in the format of the matrix products;
    base_peak_flops: FLOP/s in bf16, or fp16 without bf16; power_share: power cap over design power.
    """

    generation: Text
    memory_bytes: Num
    bandwidth_bytes_per_s: Num
    base_peak_flops: Num
    peak_flops: Num
    power_share: Num = 1.0
    is_tpu: Num = 0.0
    host_bytes_per_s: Num = 25e9
    """Bandwidth to the host per direction, PCIe or C2C; used by offloading."""
    sustained_share: Num = 0.8
    """Share of the nameplate peak that a large matrix product reaches, measured in bf16."""
    evidence_group: Text = ""
    """Group of accelerators whose measured runs count as evidence: the generation, cards without a scale-up link apart."""
    vendor: Num = 0.0
    """1 + the index in OTHER_VENDORS; 0: NVIDIA, or a generation that is not in it."""
    watts: Num = float("inf")
    """Board power, W: power cap or design power; inf when not published, which sets no limit."""
    attention_gain: Num = 1.0
    """Rate of attention over that of the generation."""
    vector_flops: Num = 0.0
    """fp32 FLOP/s outside the matrix units; 0: not a GPU."""
    cores: Num = 1.0
    """Cores that each run a batch of their own (NeuronCores); 1: the batch runs on the whole accelerator."""


@dataclass(frozen=True)
class Links:
    """Links of one accelerator, bytes/s per direction.

    domain: accelerators reachable over scale-up; per_node: accelerators per node; scale_up: PCIe when is_linked is 0; scale_out: the
    accelerator's share of the node's network.
    """

    scale_up_bytes_per_s: Num
    scale_out_bytes_per_s: Num
    domain: Num
    per_node: Num
    is_linked: Num = 1.0


@dataclass(frozen=True)
class TrainingCase:
    """One optimizer step of one pinned configuration.

    replicas: data-parallel copies, accelerators / (tensor * pipeline * context); shards: accelerators that share the sharded state (the
    data-parallel group, or the node for HSDP); zero_stage: 0 to 3 (full FSDP is 3, gradients and optimizer is 2); sequence: tokens per
    sequence; micro_batch: sequences; micro_batches: per replica and step; passes: FLOPs per weight and token (6 full, 4 adapters);
    *_bytes: per trained parameter; frozen_bytes: per parameter of a frozen matrix; trainable: number of trained parameters.
    """

    network: ModelDimensions
    chip: Chip
    links: Links
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
    """Share of the layers that are recomputed."""
    offload_optimizer: Num = 0.0
    offload_activations: Num = 0.0
    offload_parameters: Num = 0.0
    """1 when the ZeRO-3 shards of the weights are stored on the host (DeepSpeed offload_param)."""
    schedule: Text = "1f1b"
    """Pipeline schedule: 1f1b (interleaved when virtual > 1), zero-bubble or dualpipe."""
    passes: Num = 6.0
    adapter: Num = 0.0
    """1 when the base is frozen (LoRA, QLoRA, p-tuning, prompts)."""
    trainable: Num = 0.0
    weight_bytes: Num = 2.0
    gradient_bytes: Num = 4.0
    optimizer_bytes: Num = 12.0
    frozen_bytes: Num = 2.0
    """Bytes per weight of frozen matrices that can be quantized; the rest of a frozen base is 16 bit."""
    frozen_numbers: Text = ""
    """Format of a quantized frozen base: nf4, fp4, int4, int8; "" for 16 bit."""
    virtual_tokens: Num = 0.0
    numbers: Text = "bf16"
    """Format of the matrix products: bf16, fp16, fp8, mxfp8, fp4, fp32."""
    engine: Text = "megatron"
    """Engine family, see ENGINES in engines.py."""
    compiled: Num = 0.0
    flash: Num = 1.0
    """1 when attention does not store its s x s scores."""
    released: Num = 0.0
    """Year of the trainer's release with its fraction, such as 2025.9; 0: unknown, taken as the newest."""
    fused_loss: Num = 0.0
    """1 when the loss is fused or chunked, so that the whole logits are never stored."""
    fused_backward: Num = 0.0
    """1 when the optimizer runs inside the backward pass, so that gradients are never all stored."""
    dropout: Num = 0.0
    moe_imbalance: Num = 1.0
    slices: Num = 1.0
    """TPU slices connected over the data-center network."""
    recompute_norms: Num = 0.0
    recompute_mlp: Num = 0.0
    recompute_act: Num = 0.0
    recompute_up: Num = 0.0
    """1 when selective recompute includes the module besides the attention core: norm outputs, the whole dense FFN, the activation function
    of experts, MLA's up-projections."""
    measures_reserved: Num = 1.0
    """Measured runs: 1 when the peak is memory reserved by the allocator, 0 when it is memory allocated to tensors."""
    measures_device: Num = 0.0
    """Measured runs: 1 when the peak is device memory (nvidia-smi), driver context included. Rows: mem_kind blank or "per GPU"."""
    mean_length: Num = 0.0
    """Mean tokens of padded samples before truncation to `sequence`; 0: no padding. Rows: "mean N" in notes."""
    counts_padding: Num = 0.0
    """Measured runs: 1 when the rate counts padding as tokens, as torchtune does."""
    trained_modules: Num = 0.0
    """Parameters of whole modules trained beside the adapters (embedding and head), part of `trainable`. Rows: "embeddings and output
    head" in peft_targets."""
    adapter_inputs: Num = 0.0
    """Values per token and layer that adapters keep, see adapters.py. Rows: peft_targets; also outputs for IA3, DoRA, adapter-v2."""
    frozen_other_bytes: Num = 2.0
    """Bytes per parameter of a frozen base outside its matrices (embedding, head, norms): 4 when PEFT prepares a bitsandbytes base."""
    keeps_frozen_inputs: Num = 0.0
    """1 for bitsandbytes before 0.43.2 (July 2024), which kept the inputs of frozen 4 and 8 bit matrices. Rows: quantization, as_of."""
    measured_stage: Num = -1.0
    """Measured runs: pipeline stage of the measured peak, counted from 0; -1: the fullest stage."""

    @property
    def tokens(self) -> Num:
        """Tokens of one micro-batch of one replica."""
        return self.micro_batch * self.sequence

    @property
    def mean_tokens(self) -> Num:
        """Mean tokens per sequence without padding: exponential lengths truncated to `sequence`; `sequence` where samples are packed."""
        mean = np.maximum(self.mean_length, 1e-9)
        return np.where(np.greater(self.mean_length, 0), mean * (1 - np.exp(-self.sequence / mean)), self.sequence)

    @property
    def padded_tokens(self) -> Num:
        """Mean tokens per sequence with padding to the longest sample of a micro-batch.

        The expected maximum of b truncated exponential lengths is the sum over i of mean / i * (1 - exp(-sequence / mean))^i.
        """
        mean = np.maximum(self.mean_length, 1e-9)
        kept, longest = 1 - np.exp(-self.sequence / mean), 0.0
        for i in range(1, int(min(np.max(self.micro_batch), MAX_PADDED_SAMPLES)) + 1):
            longest = longest + np.where(np.greater_equal(self.micro_batch, i), mean / i * kept**i, 0.0)
        return np.where(np.greater(self.mean_length, 0), longest, self.sequence)

    @property
    def local_tokens(self) -> Num:
        """Tokens of one micro-batch on one accelerator of a context-parallel group."""
        return self.tokens / self.context

    @property
    def sequence_split(self) -> Num:
        """Accelerators over which sequence parallelism splits the hidden states; 1 without it."""
        return np.where(np.greater(self.sequence_parallel, 0), self.tensor, 1.0)

    @property
    def full_recompute_share(self) -> Num:
        """Share of the layers that are recomputed from their input; 0 without full recompute."""
        return np.where(np.equal(self.recompute, 2), self.recompute_share, 0.0)

    @property
    def last_stage(self) -> Num:
        """Index of the last pipeline stage, counted from 0."""
        return np.maximum(self.pipeline, 1) - 1

    @property
    def step_tokens(self) -> Num:
        """Tokens of one optimizer step over all replicas."""
        return self.tokens * self.micro_batches * self.replicas


def stack_cases(cases: Sequence[C]) -> C:
    """Combine single cases into one case of arrays, in the order of `cases`."""
    first = cases[0]
    columns = {
        f.name: stack_cases([getattr(c, f.name) for c in cases])
        if is_dataclass(getattr(first, f.name))
        else np.array([getattr(c, f.name) for c in cases])
        for f in fields(cast(Any, first))
    }
    return type(first)(**columns)


def has_label(text: Text, labels: Iterable[str]) -> np.ndarray | np.bool:
    """Return whether each label is one of `labels`. text: a str or an array of str. Faster than np.isin, which sorts and tests types."""
    return np.bool(text in labels) if isinstance(text, str) else np.any([text == label for label in labels], axis=0)


def lookup_by_label(text: Text, values: dict[str, Num], other: Num) -> Num:
    """Return the value of each label; `other` for labels without one. text: a str or an array of str."""
    if isinstance(text, str):
        return values.get(text, other)
    result = np.full(np.shape(text), other, dtype=float)
    for name, value in values.items():
        result[text == name] = value
    return result
