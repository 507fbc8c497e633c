"""What runs: one training workload, or serving ones, per stack."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from rackwright.spec.base import PLAIN, Flag, Id, Name, Part, PositiveInt, Text, Uri, Variable
from rackwright.spec.quantity import Count, Duration, Money, Percent, RequestPrice, Size, TokenPrice

auto_or_quantity = Discriminator(lambda value: "<auto>" if value == "auto" else PLAIN)
Dtype = Literal["auto", "fp32", "bf16", "fp16", "fp8", "int8", "fp4", "nf4"]


class Weights(Part):
    """Where the trained weights lie."""

    uri: Uri
    """Bucket, hub or file address."""
    size: Size | None = None
    """Left out, parameters times bytes of their format."""


class Model(Part):
    """A catalog name, a Hugging Face config.json beside the spec, or the architecture written out: exactly one."""

    base: Text | None = None
    """Name in the model catalog."""
    config: Text | None = None
    """Path of a Hugging Face config.json, relative to the spec; read in place of `architecture`."""
    architecture: dict[str, Any] | None = None
    """Layers, widths and heads written out; docs/spec.md lists the fields."""
    weights: Weights | None = None
    """Weights to start from."""


class Adapter(Part):
    """What is trained: everything (none), or few parameters beside frozen ones."""

    type: Literal["none", "lora", "qlora", "p-tuning"] = "none"
    """Method."""
    rank: PositiveInt = 16
    """Rank of the two adapter matrices (lora, qlora)."""
    targets: Literal["all-linear", "attention", "qv"] = "all-linear"
    """Layers that get an adapter (lora, qlora)."""
    virtual_tokens: PositiveInt = 20
    """Trained prompt length (p-tuning)."""


class Data(Part):
    """Either `tokens`, or `samples` with `tokens_per_sample` (or images: `samples` alone)."""

    samples: Count | None = None
    """Examples in the set."""
    tokens_per_sample: Count | None = None
    """Mean tokens of one example."""
    tokens: Count | None = None
    """Tokens in the set."""
    epochs: Count = 1.0
    """Passes over the set."""
    packed: Flag = True
    """Several short examples share one sequence."""
    size: Size | None = None
    """Bytes on disk."""
    uri: Uri | None = None
    """Where the set lies."""


class Checkpoint(Part):
    """How the state of a run is saved."""

    uri: Uri | None = None
    """Where to; left out, a bucket of the stack."""
    interval: Annotated[Annotated[Literal["auto"], Tag("<auto>")] | Annotated[Duration, Tag(PLAIN)], auto_or_quantity] = "auto"
    """Time between two; `auto` weighs its cost against the work lost."""
    keep: PositiveInt = 3
    """Checkpoints kept."""


class SecretRef(Part):
    """A name of the spec's `secrets`."""

    secret: Text
    """Key in `secrets`."""


class Run(Part):
    """The container that runs the workload."""

    image: Id | None = None
    """Image with its digest."""
    command: tuple[str, ...] = ()
    """Entry point."""
    args: tuple[str, ...] = ()
    """Arguments."""
    env: dict[Variable, str] = {}
    """Plain environment variables; never secrets."""
    secrets: dict[Variable, SecretRef] = {}
    """Environment variables filled from secrets."""


class Parallelism(Part):
    """Pins; what is left out is searched."""

    tensor: PositiveInt | None = None
    """Accelerators that share each layer."""
    pipeline: PositiveInt | None = None
    """Stages the layers are cut into."""
    context: PositiveInt | None = None
    """Accelerators that share each sequence."""
    expert: PositiveInt | None = None
    """Accelerators that share the experts."""
    zero: Literal[0, 1, 2, 3] | None = None
    """Stage of ZeRO; 3 is FSDP."""
    micro_batch: PositiveInt | None = None
    """Sequences per accelerator and step."""
    recompute: Literal["none", "selective", "full"] | None = None
    """Activations computed again in the backward pass."""


class _Workload(Part):
    name: Name
    """Name of the workload, unique in the stack."""
    model: Model
    """What model."""
    precision: Dtype = "auto"
    """Number format of the matrix products."""
    parallelism: Parallelism = Parallelism()
    """How it is spread, where that is fixed."""
    run: Run = Run()
    """Container that runs it."""
    team: Name = "default"
    """Whose quota it counts against."""
    measured: dict[str, Any] | None = None
    """The user's own measured run, which beats every prior."""


class _Training(_Workload):
    data: Data
    """What it learns from."""
    sequence_length: PositiveInt | None = None
    """Tokens per sequence; left out, 4,096, at most the model's own limit."""
    global_batch_size: PositiveInt | None = None
    """Sequences per optimizer step."""
    optimizer: Literal["adamw", "adamw-8bit", "sgd"] = "adamw"
    """Decides the state held per parameter."""
    checkpoint: Checkpoint = Checkpoint()
    """How its state is saved."""


class Pretrain(_Training):
    """Training of all weights on tokens, from nothing or from a checkpoint."""

    kind: Literal["pretrain"]


class Finetune(_Training):
    """Training of a model that exists on examples."""

    kind: Literal["finetune"]
    objective: Literal["sft", "dpo", "grpo"] = "sft"
    """What is optimized."""
    adapter: Adapter = Adapter()
    """What is trained."""


class Tokens(Part):
    """Length of a text, in tokens."""

    mean: Count
    """Mean over requests."""
    p95: Count | None = None
    """Exceeded by one request in twenty."""


class LatencyGoal(Part):
    """A latency that so many of a hundred requests must keep."""

    target: Duration
    """Longest time allowed."""
    percentile: Literal[50, 90, 95, 99] = 95
    """Share of requests that keep it."""


class _Inference(_Workload):
    quantization: Dtype = "auto"
    """Number format of the weights."""
    kv_dtype: Literal["auto", "bf16", "fp8"] = "auto"
    """Number format of the KV cache."""
    engine: Literal["auto", "vllm", "sglang", "tensorrt-llm"] = "auto"
    """Serving program."""
    max_context: PositiveInt | None = None
    """Longest input and output together, tokens; left out, twice the 95th percentiles, at most the model's own limit."""
    prefix_cache_hit_rate: Percent = 0.0
    """Share of input tokens found in the cache; `0 %` when left out."""


class Loras(Part):
    """LoRA adapters served beside the base, none of them merged into it."""

    count: PositiveInt = 1
    """Adapters held at once."""
    rank: PositiveInt = 16
    """Rank of their matrices."""


class Serve(_Inference):
    """Answers requests as they come."""

    kind: Literal["serve"]
    requests_per_second: Count | None = None
    """Arriving requests at the busiest hour; this or `users`."""
    users: Count | None = None
    """Concurrent users at the busiest hour."""
    mean_requests_per_second: Count | None = None
    """Mean over all hours, for `rackwright economics`; left out, a share of the busiest hour."""
    idle: Percent = 0.0
    """Share of hours in which nobody asks, for `rackwright economics`; `0 %` when left out."""
    loras: Loras | None = None
    """Adapters served beside the base, none merged into it: they take memory and time."""
    input_tokens: Tokens
    """Length of a prompt."""
    output_tokens: Tokens
    """Length of an answer."""
    ttft: LatencyGoal | None = None
    """Time to the first token."""
    tpot: LatencyGoal | None = None
    """Time per further token."""
    min_replicas: Annotated[int, Field(ge=0, le=10_000, strict=True)] = 1
    """Replicas that always run; 0 with `scale_to_zero`."""
    max_replicas: Annotated[int, Field(gt=0, le=10_000, strict=True)] | None = None
    """Replicas at most; left out, what sizing needs at the peak and a margin."""
    scale_to_zero: Flag = False
    """Nothing runs while nobody asks."""
    revenue: TokenPrice | None = None
    """Income per output token, for the return on investment."""
    revenue_per_request: RequestPrice | None = None
    """Income per request or image, where no tokens are written; this or `revenue`."""
    investment: Money | None = None
    """Spent before the first request, such as training or servers, for the pay-back time."""


class Batch(_Inference):
    """Answers a fixed number of requests, then ends."""

    kind: Literal["batch"]
    requests: Count
    """Requests in all."""
    input_tokens: Tokens
    """Length of a prompt."""
    output_tokens: Tokens
    """Length of an answer."""


class Custom(_Workload):
    """Anything else, described by its own measured numbers."""

    kind: Literal["custom"]
    model: Model = Model()
    """What model, where that is known."""
    accelerator_memory: Size
    """Memory each accelerator needs."""
    accelerators: PositiveInt = 1
    """Accelerators it uses at once."""
    duration: Duration | None = None
    """How long it runs."""
    budget: Money | None = None
    """What it may cost."""


Workload = Annotated[Pretrain | Finetune | Serve | Batch | Custom, Field(discriminator="kind")]
TRAINING = (Pretrain, Finetune)
