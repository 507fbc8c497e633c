"""Models of a pinned configuration, one line of a JSONL file: all inputs that determine memory and time.

Optional fields default to the usual value of the engine (resolve.py); the estimate lists such defaults as assumptions.
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
    """Accelerators and links. Fields that are left out come from the catalog; per_node defaults to 8 GPUs.

    accelerator: name or alias in the catalog, with optional memory and power cap ("H100-80GB", "A100-80GB-330W"); *_gb_s: GB/s (10^9)
    per accelerator and direction.
    """

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
    """Trainer or inference engine. name: such as "Megatron-Bridge", "torchtitan", "vLLM 0.12.0"; release: when it is not in the name."""

    name: str
    release: str = ""
    compiled: bool | None = None
    attention: Literal["flash", "eager"] | None = None
    loss: Literal["eager", "fused"] | None = None


class AdapterConfig(_Strict):
    """Adapter. targets: all-linear, attention, qv, or matrix names ("q,v"); parameters: published number of trainable parameters."""

    type: Literal["lora", "qlora", "p-tuning", "prompt", "adapter"]
    rank: Count = 16
    targets: str = "all-linear"
    virtual_tokens: Annotated[int, Field(ge=0, le=2**40)] = 0
    parameters: Positive | None = None


class TrainingLayout(_Strict):
    """Parallelism. shard: state sharded over the data-parallel group; shard_group: accelerators that share it, default all replicas; data:
    replicas, default count / (tensor * pipeline * context)."""

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
    """Training step or run. tokens: total of the run, for the time to train; mean_length: mean tokens of padded samples."""

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
    """Number format of the frozen base: nf4, int8 or int4 for QLoRA."""
    double_quantised: bool = True
    adapter: AdapterConfig | None = None
    routing: Literal["balanced", "real"] = "balanced"
    tokens: Positive | None = None
    evaluations: Annotated[int, Field(ge=0, le=2**40)] | None = None


class ServingLayout(_Strict):
    """Parallelism. attention_data: data-parallel attention, each rank with all heads; expert: ranks that hold whole experts, 1: experts are
    split over all ranks; replicas: copies of the model behind one endpoint."""

    tensor: Count = 1
    pipeline: Count = 1
    expert: Count = 1
    attention_data: Count = 1
    replicas: Count = 1


class ServingPool(_Strict):
    """One side of a disaggregated deployment."""

    accelerators: Count
    layout: ServingLayout = ServingLayout()


class SpeculationConfig(_Strict):
    """Speculative decoding. draft: tokens proposed per step; acceptance: accepted share; draft_share: time to draft one token over one
    target step."""

    draft: Count
    acceptance: Share
    draft_share: Share = 0.05


class ServingConfig(_Strict):
    """Serving deployment and load. concurrency: requests in flight over all replicas (closed loop); without concurrency and requests_per_s
    the load is offline, as many requests as fit. prefix_hit_rate: share of input tokens in the cache; loras: adapters served at once."""

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
    """Number of requests of an offline job, all queued at the start; default: unlimited."""
    varied_lengths: bool = False
    """Whether requests differ in length, as in a data set of conversations. Few of them run at the end of an offline job."""
    weight_numbers: NumberFormat = "bf16"
    kv_numbers: NumberFormat | None = None
    memory_share: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] | None = None
    max_context: Count | None = None
    max_batched_tokens: Count | None = None
    max_sequences: Count | None = None
    prefix_hit_rate: Share = 0.0
    speculation: SpeculationConfig | None = None
    loras: Annotated[int, Field(ge=0, le=2**40)] = 0
    lora_rank: Count = 16
    prefill: ServingPool | None = None
    decode: ServingPool | None = None


class SampleConfig(_Strict):
    """Whole samples of diffusion, vision and encoder models. train: forward, backward and update; otherwise `passes` per request."""

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
