"""Parts of the `workloads` section that several kinds of work share."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from rackwright.spec.base import MAPPING, PLAIN, Flag, Id, Name, Part, PositiveInt, Text, Uri, Variable, plain_or_mapping
from rackwright.spec.quantity import Count, Duration, MeasuredRate, Percent, Size, TokenLength

auto_or_quantity = Discriminator(lambda value: "<auto>" if value == "auto" else PLAIN)
WeightsFormat = Literal["auto", "fp32", "bf16", "fp16", "fp8", "int8", "fp4", "nf4", "awq", "gptq"]
Dtype = Literal["auto", "fp32", "bf16", "fp16", "fp8", "int8", "fp4", "nf4"]


class Weights(Part):
    """Location of the model weights."""

    uri: Uri
    """URI of a bucket, a model hub or a file."""
    size: Size | None = None
    """Size of the weights; default: parameters times bytes per parameter."""


class Model(Part):
    """Model, given by exactly one of `base`, `config` and `architecture`."""

    base: Text | None = None
    """Name in the model catalog (`rackwright catalog models`)."""
    config: Text | None = None
    """Path of a Hugging Face config.json, relative to the spec."""
    architecture: dict[str, Any] | None = None
    """Layers, widths and heads; docs/spec.md lists the fields."""
    weights: Weights | None = None
    """Initial weights."""


class Adapter(Part):
    """Fine-tuning method: all weights (`none`), or an adapter on frozen weights."""

    type: Literal["none", "lora", "qlora", "p-tuning"] = "none"
    """Adapter method; `none` trains all weights."""
    variant: Literal["plain", "rslora", "lora+", "dora"] = "plain"
    """Variant of lora and qlora. dora needs memory for the outputs that it scales; the others change no memory."""
    rank: PositiveInt = 16
    """Rank of the adapter matrices (lora, qlora)."""
    targets: Literal["all-linear", "attention", "qv"] = "all-linear"
    """Layers that receive an adapter (lora, qlora)."""
    virtual_tokens: PositiveInt = 20
    """Length of the trained prompt, tokens (p-tuning)."""


class Data(Part):
    """Training data, given by `tokens`, by `samples` and `tokens_per_sample`, or by `samples` alone for images."""

    samples: Count | None = None
    """Number of samples in the data set."""
    tokens_per_sample: Count | None = None
    """Mean tokens per sample."""
    tokens: Count | None = None
    """Number of tokens in the data set."""
    epochs: Count = 1.0
    """Passes over the data set."""
    packed: Flag = True
    """Pack several short samples into one sequence; `false` pads each sample."""
    size: Size | None = None
    """Size on disk."""
    uri: Uri | None = None
    """Location of the data set."""
    region: Text | None = None
    """Region of the bucket in `uri`, to price the transfer to machines elsewhere; default: unknown, and not priced."""


class Checkpoint(Part):
    """Checkpoints of a training run."""

    uri: Uri | None = None
    """Destination; default: a bucket of the stack; on own servers a folder of the shared storage."""
    region: Text | None = None
    """Region of the bucket in `uri`, to price the transfer from machines elsewhere; default: unknown, and not priced."""
    storage: Id | None = None
    """Storage of the inventory on own servers, by name; default: the fastest shared one."""
    interval: Annotated[Annotated[Literal["auto"], Tag("<auto>")] | Annotated[Duration, Tag(PLAIN)], auto_or_quantity] = "auto"
    """Time between checkpoints; `auto` balances the pause against the work lost at a failure."""
    keep: PositiveInt = 3
    """Number of checkpoints to keep."""


class SecretRef(Part):
    """Reference to an entry of the spec's `secrets`."""

    secret: Text
    """Key in the spec's `secrets`."""


API_KEY_VARIABLE = "VLLM_API_KEY"
"""Variable from which vLLM reads the API key of its clients (https://docs.vllm.ai/en/v0.27.0/usage/security/)."""
API_PATH = "/v1"
"""Requests below it need the API key. vLLM answers others, such as /invocations and /tokenize, without one
(https://docs.vllm.ai/en/v0.27.0/usage/security/)."""


Launcher = Literal["auto", "torchrun", "accelerate", "deepspeed", "nemo", "maxtext", "none"]


class Run(Part):
    """Container that runs the workload."""

    image: Id | None = None
    """Container image with digest."""
    command: tuple[str, ...] = ()
    """Entry point of the container."""
    args: tuple[str, ...] = ()
    """Arguments of the entry point."""
    env: dict[Variable, str] = {}
    """Environment variables with plain values; never secrets."""
    secrets: dict[Variable, SecretRef] = {}
    """Environment variables set from secrets."""
    launcher: Launcher = "auto"
    """Starts `command` on every machine of a job (`rackwright job`); `none`: once per machine, unchanged. auto: torchrun for Python
    commands on GPUs, else none."""
    job: Literal["jobset", "trainjob"] = "jobset"
    """Object that `rackwright job` writes: a JobSet, or a TrainJob of Kubeflow Trainer with the stack's runtime (`blueprint.operators`)."""
    max_restarts: Annotated[int, Field(ge=0, le=1000, strict=True)] = 3
    """Restarts of a failed job. Restarts after an interruption, such as spot or preemption, do not count."""
    priority: Literal["normal", "urgent"] = "normal"
    """Priority of a job in its queue."""

    @property
    def changed_keys(self) -> list[str]:
        """Keys that differ from their defaults."""
        return [key for key, field in type(self).model_fields.items() if getattr(self, key) != field.default]


class Parallelism(Part):
    """Fixed parallelism; sizing searches the values that are left out."""

    tensor: PositiveInt | None = None
    """Tensor parallelism: accelerators per layer."""
    pipeline: PositiveInt | None = None
    """Pipeline parallelism: number of stages."""
    context: PositiveInt | None = None
    """Context parallelism: accelerators per sequence."""
    expert: PositiveInt | None = None
    """Expert parallelism: accelerators per set of experts."""
    zero: Literal[0, 1, 2, 3] | None = None
    """ZeRO stage; 3 is FSDP."""
    micro_batch: PositiveInt | None = None
    """Sequences per accelerator and micro-batch."""
    recompute: Literal["none", "selective", "full"] | None = None
    """Activation recomputation in the backward pass."""


class Tokens(Part):
    """Length distribution of prompts or answers, tokens."""

    mean: TokenLength
    """Mean over all requests."""
    p95: TokenLength | None = None
    """95th percentile over all requests."""


class LatencyGoal(Part):
    """Maximum latency at a percentile of requests."""

    target: Duration
    """Maximum latency."""
    percentile: Literal[50, 90, 95, 99] = 95
    """Percentage of requests that must meet `target`."""


AdapterUri = Annotated[
    str, Field(pattern=r"^(hf://\w[\w.-]*/\w[\w.-]*|weights://\w[\w.-]*(/\w[\w.-]*)*)$", description="hf://ORG/REPO or weights://FOLDER")
]
MetricName = Annotated[
    str,
    Field(
        pattern=r"^[a-zA-Z_:][a-zA-Z0-9_:]*(\{[a-zA-Z_]\w*=\"[^\"{}\\]*\"\})?$",
        description='such as requests_waiting, or requests{state="waiting"}',
    ),
]
UrlPath = Annotated[str, Field(pattern=r"^/[\w./-]*$", description="such as /health")]


class Loras(Part):
    """LoRA adapters served together with the base model, not merged into it."""

    count: PositiveInt = 1
    """Number of adapters loaded at the same time."""
    rank: PositiveInt = 16
    """Highest rank of the adapter matrices, 512 at most; the server allocates memory for the next rank that it supports."""
    adapters: dict[Name, AdapterUri] = {}
    """Adapters by the name that clients send as `model`, loaded at the start: `hf://ORG/REPO`, or `weights://FOLDER` for a folder below
    that of the weights. More than `count` are exchanged between the memory of the host and the accelerator."""
    updates: Flag = False
    """Clients with the API key may load and unload adapters while the server runs (`/v1/load_lora_adapter`), on one replica at a time."""


class ServerMetrics(Part):
    """Metrics of Prometheus that a server of your own publishes, by which the fleet grows."""

    queue: MetricName
    """Gauge of the requests that wait."""
    in_flight: MetricName | None = None
    """Gauge of the requests that are computed; default: the queue alone decides."""
    path: UrlPath = "/metrics"
    """Path of the metrics."""
    port: Annotated[int, Field(ge=1024, le=65535, strict=True)] | None = None
    """Port of the metrics; default: that of the server."""


class ServerEndpoint(Part):
    """Server of your own in `run.image`: where it answers, and its metrics. Default: vLLM, or a server with the same port, paths and
    metrics."""

    metrics: ServerMetrics
    """Metrics by which the fleet grows."""
    port: Annotated[int, Field(ge=1024, le=65535, strict=True)] = 8000
    """Port on which it listens; pods that are not root cannot open lower ones."""
    health: UrlPath = "/health"
    """Path that answers 200 when the model is loaded."""


Server = Annotated[
    Annotated[Literal["triton", "triton-tensorrt-llm", "trtllm-serve"], Tag(PLAIN)] | Annotated[ServerEndpoint, Tag(MAPPING)],
    plain_or_mapping,
]


class MeasuredRun(Part):
    """One of your own runs of a custom workload."""

    accelerator: Text
    """Name of the accelerator (`rackwright catalog accelerators`)."""
    accelerators: PositiveInt = 1
    """Number of accelerators used at the same time."""
    memory: Size
    """Peak memory of one accelerator."""
    samples_per_second: MeasuredRate
    """Samples per second of all accelerators together, whatever a sample is to you."""


class Speculation(Part):
    """Speculative decoding: draft tokens that the model accepts or replaces."""

    draft: Annotated[int, Field(ge=1, le=16, strict=True)] = 3
    """Draft tokens per step, 1 to 16."""
    acceptance: Percent
    """Share of draft tokens that the model accepts, measured on your requests."""
    draft_model: Text | None = None
    """Draft model as vLLM names it, a model hub's name or a path; default: tokens are looked up in the prompt (n-gram)."""
    draft_share: Percent = 0.0
    """Weights of the draft model over those of the model."""


class Disaggregation(Part):
    """Replicas that compute prompts only and replicas that generate answers only; the KV cache of a prompt is sent between them."""

    prefill: PositiveInt
    """Replicas that compute prompts."""
    decode: PositiveInt
    """Replicas that generate answers."""


class Rollout(Part):
    """Answers that a reinforcement-learning objective generates before each optimizer step, on the same accelerators."""

    generations: PositiveInt = 8
    """Answers per prompt."""
    input_tokens: Tokens
    """Prompt length."""
    output_tokens: Tokens
    """Answer length."""
    reference: Flag = True
    """Compare with the frozen initial model (KL penalty); it is in memory beside a fully trained one."""
    reward_model: Model | None = None
    """Model that scores the answers; default: a function on the CPU."""
