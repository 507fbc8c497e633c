"""What runs: one training workload, or serving ones, per stack."""

from typing import Annotated, Any, Literal

from pydantic import Field

from rackwright.spec.base import Name, Part, PositiveInt
from rackwright.spec.quantity import Count, Duration, Money, Percent, Size, TokenPrice

Dtype = Literal["auto", "fp32", "bf16", "fp16", "fp8", "int8", "fp4", "nf4"]


class Weights(Part):
    uri: str
    size: Size | None = None


class Model(Part):
    """A catalog name, a Hugging Face config.json beside the spec, or the architecture written out: exactly one."""

    base: str | None = None
    config: str | None = None
    architecture: dict[str, Any] | None = None
    weights: Weights | None = None


class Adapter(Part):
    type: Literal["none", "lora", "qlora", "p-tuning"] = "none"
    rank: PositiveInt = 16
    targets: Literal["all-linear", "attention", "qv"] = "all-linear"
    virtual_tokens: PositiveInt = 20


class Data(Part):
    """Either `tokens`, or `samples` with `tokens_per_sample` (or images: `samples` alone)."""

    samples: Count | None = None
    tokens_per_sample: Count | None = None
    tokens: Count | None = None
    epochs: Count = 1.0
    packed: bool = True
    size: Size | None = None
    uri: str | None = None


class Checkpoint(Part):
    uri: str | None = None
    interval: Literal["auto"] | Duration = "auto"
    keep: PositiveInt = 3


class SecretRef(Part):
    secret: str


class Run(Part):
    image: str | None = None
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    secrets: dict[str, SecretRef] = {}


class Parallelism(Part):
    """Pins; what is left out is searched."""

    tensor: PositiveInt | None = None
    pipeline: PositiveInt | None = None
    context: PositiveInt | None = None
    expert: PositiveInt | None = None
    zero: Literal[0, 1, 2, 3] | None = None
    micro_batch: PositiveInt | None = None
    recompute: Literal["none", "selective", "full"] | None = None


class _Workload(Part):
    name: Name
    model: Model
    precision: Dtype = "auto"
    parallelism: Parallelism = Parallelism()
    run: Run = Run()
    team: Name = "default"
    measured: dict[str, Any] | None = None
    """The user's own measured run, which beats every prior."""


class _Training(_Workload):
    data: Data
    sequence_length: PositiveInt | None = None
    global_batch_size: PositiveInt | None = None
    optimizer: Literal["adamw", "adamw-8bit", "sgd"] = "adamw"
    checkpoint: Checkpoint = Checkpoint()


class Pretrain(_Training):
    kind: Literal["pretrain"]


class Finetune(_Training):
    kind: Literal["finetune"]
    objective: Literal["sft", "dpo", "grpo"] = "sft"
    adapter: Adapter = Adapter()


class Tokens(Part):
    mean: Count
    p95: Count | None = None


class LatencyGoal(Part):
    target: Duration
    percentile: Literal[50, 90, 95, 99] = 95


class _Inference(_Workload):
    quantization: Dtype = "auto"
    kv_dtype: Literal["auto", "bf16", "fp8"] = "auto"
    engine: Literal["auto", "vllm", "sglang", "tensorrt-llm"] = "auto"
    max_context: PositiveInt | None = None
    prefix_cache_hit_rate: Percent = 0.0


class Serve(_Inference):
    kind: Literal["serve"]
    requests_per_second: Count | None = None
    users: Count | None = None
    input_tokens: Tokens
    output_tokens: Tokens
    ttft: LatencyGoal | None = None
    tpot: LatencyGoal | None = None
    min_replicas: Annotated[int, Field(ge=0, strict=True)] = 1
    max_replicas: PositiveInt | None = None
    scale_to_zero: bool = False
    revenue: TokenPrice | None = None


class Batch(_Inference):
    kind: Literal["batch"]
    requests: Count
    input_tokens: Tokens
    output_tokens: Tokens


class Custom(_Workload):
    """Anything else, described by its own measured numbers."""

    kind: Literal["custom"]
    model: Model = Model()
    accelerator_memory: Size
    accelerators: PositiveInt = 1
    duration: Duration | None = None
    budget: Money | None = None


Workload = Annotated[Pretrain | Finetune | Serve | Batch | Custom, Field(discriminator="kind")]
TRAINING = (Pretrain, Finetune)
