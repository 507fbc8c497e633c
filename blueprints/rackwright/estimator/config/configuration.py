"""A pinned configuration: everything that decides memory and time, nothing that a search would choose. One line of a JSONL file.

Optional fields that are left out take the engine's usual default (resolve.py) and are named among the estimate's assumptions.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

Count = Annotated[int, Field(gt=0, le=2**40)]
Positive = Annotated[float, Field(gt=0, le=1e30, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
NumberFormat = Literal["fp32", "tf32", "bf16", "fp16", "fp8", "mxfp8", "int8", "fp4", "nf4", "int4"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class HardwareConfig(_Strict):
    """accelerator: a name or alias of the catalog, also as people print it ("H100-80GB", "A100-80GB-330W"). What is left out is the
    catalog's: memory, links, 8 (GPU) per node. *_gb_s: GB/s (10^9), per accelerator and direction."""

    accelerator: str
    count: Count = 1
    per_node: Count | None = None
    memory_gib: Positive | None = None
    power_watts: Positive | None = None
    scale_up_gb_s: Positive | None = None
    scale_up_domain: Count | None = None
    scale_out_gb_s: Positive | None = None
    slices: Count = 1


class EngineConfig(_Strict):
    """name: trainer or server as people write it ("Megatron-Bridge", "torchtitan", "vLLM 0.12.0"); release when not in the name."""

    name: str
    release: str = ""
    compiled: bool | None = None
    attention: Literal["flash", "eager"] | None = None
    loss: Literal["eager", "fused"] | None = None


class AdapterConfig(_Strict):
    """targets: all-linear, attention, qv, or matrices by name ("q,v"); parameters: trainable ones, where published."""

    type: Literal["lora", "qlora", "p-tuning", "prompt", "adapter"]
    rank: Count = 16
    targets: str = "all-linear"
    virtual_tokens: Annotated[int, Field(ge=0, le=2**40)] = 0
    parameters: Positive | None = None


class TrainingLayout(_Strict):
    """shard: what the data-parallel group splits; shard_group: accelerators that share (default: all replicas). data: replicas;
    left out: what remains of the count."""

    tensor: Count = 1
    pipeline: Count = 1
    virtual: Count = 1
    context: Count = 1
    expert: Count = 1
    expert_tensor: Count | None = None
    data: Count | None = None
    sequence_parallel: bool | None = None
    shard: Literal["none", "zero1", "zero2", "zero3", "fsdp", "hsdp"] | None = None
    shard_group: Count | None = None
    schedule: Literal["1f1b", "interleaved", "zero-bubble", "dualpipe"] = "1f1b"


class TrainingConfig(_Strict):
    """tokens: of the whole run, for the time to train. mean_length: of the real samples when they are padded, not packed."""

    kind: Literal["training"] = "training"
    id: str = ""
    model: str | dict[str, Any]
    hardware: HardwareConfig
    engine: EngineConfig
    sequence: Count
    layout: TrainingLayout = TrainingLayout()
    micro_batch: Count = 1
    global_batch: Count | None = None
    micro_batches: Count | None = None
    packed: bool = True
    mean_length: Positive | None = None
    recompute: Literal["none", "selective", "full"] = "none"
    recompute_share: Share = 1.0
    offload: tuple[Literal["optimizer", "activations", "parameters"], ...] = ()
    numbers: NumberFormat = "bf16"
    weight_numbers: NumberFormat | None = None
    gradient_numbers: NumberFormat | None = None
    optimizer: Literal["adamw", "adamw-bf16", "adamw-8bit", "sgd", "muon"] = "adamw"
    optimizer_in_backward: bool = False
    base_numbers: NumberFormat | None = None
    """Of the frozen base: nf4, int8, int4 for QLoRA."""
    double_quantised: bool = True
    adapter: AdapterConfig | None = None
    routing: Literal["balanced", "real"] = "balanced"
    tokens: Positive | None = None
    evaluations: Annotated[int, Field(ge=0, le=2**40)] | None = None


class ServingLayout(_Strict):
    """attention_data: data-parallel attention (each holds whole heads); expert: ranks over which whole experts are spread, 1: every rank
    holds a part of each; replicas: whole copies behind one address, as many as the accelerators make."""

    tensor: Count = 1
    pipeline: Count = 1
    expert: Count = 1
    attention_data: Count = 1
    replicas: Count = 1


class ServingPool(_Strict):
    """One side of a disaggregated deployment."""

    accelerators: Count
    layout: ServingLayout = ServingLayout()


class Speculation(_Strict):
    """draft: tokens proposed per step; acceptance: share of them kept; draft_share: cost of drafting one token over one target step."""

    draft: Count
    acceptance: Share
    draft_share: Share = 0.05


class ServingConfig(_Strict):
    """concurrency: requests in flight over all replicas of the configuration (closed loop); None with no rate: offline, as many as fit.
    prefix_hit_rate: share of input tokens found in the cache; loras: adapters served at once, each of lora_rank."""

    kind: Literal["serving"] = "serving"
    id: str = ""
    model: str | dict[str, Any]
    hardware: HardwareConfig
    engine: EngineConfig
    input_tokens: Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
    output_tokens: Annotated[float, Field(ge=1, le=1e9, allow_inf_nan=False)]
    layout: ServingLayout = ServingLayout()
    concurrency: Positive | None = None
    requests_per_s: Positive | None = None
    requests: Count | None = None
    """Of a whole offline job, all queued at its start; left out: without end."""
    weight_numbers: NumberFormat = "bf16"
    kv_numbers: NumberFormat | None = None
    memory_share: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] | None = None
    max_context: Count | None = None
    max_batched_tokens: Count | None = None
    max_sequences: Count | None = None
    prefix_hit_rate: Share = 0.0
    speculation: Speculation | None = None
    loras: Annotated[int, Field(ge=0, le=2**40)] = 0
    lora_rank: Count = 16
    prefill: ServingPool | None = None
    decode: ServingPool | None = None


class SampleConfig(_Strict):
    """Diffusion, vision, encoders: whole samples. train: forward, backward and update; else passes of the network per request."""

    kind: Literal["samples"] = "samples"
    id: str = ""
    model: str | dict[str, Any]
    hardware: HardwareConfig
    engine: EngineConfig = EngineConfig(name="pytorch")
    batch: Count = 1
    train: bool = False
    adapter: AdapterConfig | None = None
    recompute: Literal["none", "full"] = "none"
    passes: Positive = 1.0
    numbers: NumberFormat = "bf16"


Configuration = TrainingConfig | ServingConfig | SampleConfig
CONFIGURATION_ADAPTER: TypeAdapter[Configuration] = TypeAdapter(Annotated[Configuration, Field(discriminator="kind")])
