"""Models of the `workloads` section: training, serving, batch inference and custom workloads."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from rackwright.spec.base import PLAIN, Flag, Id, Name, Part, PositiveInt, Text, Uri, Variable
from rackwright.spec.media import Audio, BatchData, BatchProgress, Image
from rackwright.spec.quantity import Count, Duration, Money, Percent, RequestPrice, Size, TokenLength, TokenPrice

auto_or_quantity = Discriminator(lambda value: "<auto>" if value == "auto" else PLAIN)
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


class Checkpoint(Part):
    """Checkpoints of a training run."""

    uri: Uri | None = None
    """Destination; default: a bucket of the stack."""
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


class _Workload(Part):
    name: Name
    """Name of the workload, unique in the stack."""
    model: Model
    """Model to train or serve."""
    precision: Dtype = "auto"
    """Number format of the matrix products."""
    parallelism: Parallelism = Parallelism()
    """Fixed parallelism."""
    run: Run = Run()
    """Container that runs the workload."""
    team: Name = "default"
    """Team whose queue quota the workload uses."""
    measured: dict[str, Any] | None = None
    """Your measured run of this workload, in place of the estimate; not supported in this release (N-12)."""

    @property
    def secret_variables(self) -> dict[str, SecretRef]:
        """Environment variables of the container that are set from secrets."""
        return self.run.secrets


class _Training(_Workload):
    data: Data
    """Training data."""
    sequence_length: PositiveInt | None = None
    """Tokens per sequence; default: 4,096, or the model's maximum context when that is shorter."""
    global_batch_size: PositiveInt | None = None
    """Sequences per optimizer step."""
    image: Image | None = None
    """Images of the data set (vision, diffusion); `steps` and `guidance` are for inference only."""
    optimizer: Literal["adamw", "adamw-8bit", "sgd"] = "adamw"
    """Optimizer; determines the bytes of state per parameter."""
    checkpoint: Checkpoint = Checkpoint()
    """Checkpoints of the run."""


class Pretrain(_Training):
    """Pretraining of all weights, from random weights or from a checkpoint."""

    kind: Literal["pretrain"]


class Finetune(_Training):
    """Fine-tuning of a pretrained model."""

    kind: Literal["finetune"]
    objective: Literal["sft", "dpo", "grpo"] = "sft"
    """Training objective: supervised fine-tuning (sft). This release does not support preference optimization (dpo) and
    reinforcement learning (grpo): N-02."""
    adapter: Adapter = Adapter()
    """Adapter method."""


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


class _Inference(_Workload):
    input_tokens: Tokens | None = None
    """Prompt length; required for models that generate text."""
    output_tokens: Tokens | None = None
    """Answer length; required for models that generate text."""
    image: Image | None = None
    """Image of a request (diffusion, vision)."""
    audio: Audio | None = None
    """Audio of a request (speech)."""
    sequence_length: PositiveInt | None = None
    """Mean tokens of a document (encoders, and language models that compute embeddings)."""
    batch_size: PositiveInt | None = None
    """Maximum samples per pass of the network (image, audio, document); default: searched."""
    quantization: Dtype = "auto"
    """Number format of the weights."""
    kv_dtype: Literal["auto", "bf16", "fp8"] = "auto"
    """Number format of the KV cache."""
    engine: Literal["auto", "vllm", "sglang", "tensorrt-llm"] = "auto"
    """Inference engine; this release supports vLLM only (N-11)."""
    max_context: PositiveInt | None = None
    """Maximum tokens of input and output together; default: twice the 95th percentiles, at most the model's maximum context."""
    prefix_cache_hit_rate: Percent = 0.0
    """Share of input tokens found in the prefix cache; default: `0 %`."""


class Loras(Part):
    """LoRA adapters served together with the base model, not merged into it."""

    count: PositiveInt = 1
    """Number of adapters loaded at the same time."""
    rank: PositiveInt = 16
    """Rank of the adapter matrices."""


class Serve(_Inference):
    """Online inference: serves requests as they arrive."""

    kind: Literal["serve"]
    requests_per_second: Count | None = None
    """Request rate in the peak hour; set this or `users`."""
    users: Count | None = None
    """Concurrent users in the peak hour; set this or `requests_per_second`."""
    mean_requests_per_second: Count | None = None
    """Mean request rate over all hours, for `rackwright economics`; default: a share of the peak rate."""
    idle: Percent = 0.0
    """Share of hours without requests, for `rackwright economics`; default: `0 %`."""
    loras: Loras | None = None
    """LoRA adapters served with the base model; they use memory and time."""
    latency: LatencyGoal | None = None
    """Limit of the time until an image, a transcript or an embedding is complete."""
    ttft: LatencyGoal | None = None
    """Limit of the time to first token (TTFT)."""
    tpot: LatencyGoal | None = None
    """Limit of the time per output token after the first (TPOT)."""
    min_replicas: Annotated[int, Field(ge=0, le=10_000, strict=True)] = 1
    """Minimum number of replicas; 0 requires `scale_to_zero`."""
    max_replicas: Annotated[int, Field(gt=0, le=10_000, strict=True)] | None = None
    """Maximum number of replicas; default: the number for the peak rate plus a margin."""
    scale_to_zero: Flag = False
    """Run no replica while no requests arrive; this release cannot build it (V-92)."""
    revenue: TokenPrice | None = None
    """Income per output token, for the return on investment."""
    revenue_per_request: RequestPrice | None = None
    """Income per request or image; set this or `revenue`."""
    investment: Money | None = None
    """Spending before the first request, such as training or servers, for the payback time."""
    api_key: SecretRef | None = None
    """API key that clients send as bearer token, from a secret."""

    @property
    def secret_variables(self) -> dict[str, SecretRef]:
        return self.run.secrets | ({API_KEY_VARIABLE: self.api_key} if self.api_key else {})


class Batch(_Inference):
    """Offline inference: processes a fixed number of requests, then ends."""

    kind: Literal["batch"]
    requests: Count | None = None
    """Number of requests; set this or `data.samples`."""
    data: BatchData = BatchData()
    """Samples to process."""
    checkpoint: BatchProgress | None = None
    """Progress from which a stopped machine continues; default: finished requests are not repeated."""

    @property
    def samples(self) -> float:
        """Number of requests, images, audio files or documents."""
        return self.requests or self.data.samples or 0.0


class Custom(_Workload):
    """Any other workload, described by measured memory and duration; not supported in this release (N-01)."""

    kind: Literal["custom"]
    model: Model = Model()
    """Model, where it is known."""
    accelerator_memory: Size
    """Memory required per accelerator."""
    accelerators: PositiveInt = 1
    """Number of accelerators used at the same time."""
    duration: Duration | None = None
    """Duration of the run."""
    budget: Money | None = None
    """Maximum cost."""


Workload = Annotated[Pretrain | Finetune | Serve | Batch | Custom, Field(discriminator="kind")]
TRAINING = (Pretrain, Finetune)
