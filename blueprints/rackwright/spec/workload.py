"""Models of the `workloads` section: training, serving, batch inference and custom workloads."""

from typing import Annotated, Any, Literal

from pydantic import Field, Tag

from rackwright.catalog.release.model_servers import published_servers
from rackwright.spec.base import PLAIN, Flag, Name, Part, PositiveInt
from rackwright.spec.media import Audio, BatchData, BatchProgress, Image
from rackwright.spec.quantity import Count, Money, Percent, RequestPrice, TokenPrice
from rackwright.spec.workload_parts import (
    API_KEY_VARIABLE,
    Adapter,
    Checkpoint,
    Data,
    Disaggregation,
    Dtype,
    LatencyGoal,
    Loras,
    MeasuredRun,
    Model,
    Parallelism,
    Rollout,
    Run,
    SecretRef,
    Server,
    ServerEndpoint,
    ServerMetrics,
    Speculation,
    Tokens,
    WeightsFormat,
    auto_or_quantity,
)  # fmt: skip


class _Workload(Part):
    name: Name
    """Name of the workload, unique in the stack."""
    model: Model
    """Model to train or serve."""
    precision: Dtype = "auto"
    """Number format of the matrix products. auto: bf16, or fp16 (in training with loss scaling) on accelerators without bf16."""
    parallelism: Parallelism = Parallelism()
    """Fixed parallelism."""
    run: Run = Run()
    """Container that runs the workload."""
    team: Name = "default"
    """Team whose queue quota the workload uses."""

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
    measured: dict[str, Any] | None = None
    """Your measured run of this workload, in place of the estimate; not supported in this release (N-12)."""


class Pretrain(_Training):
    """Pretraining of all weights, from random weights or from a checkpoint."""

    kind: Literal["pretrain"]


class Finetune(_Training):
    """Fine-tuning of a pretrained model."""

    kind: Literal["finetune"]
    objective: Literal["sft", "dpo", "reward", "grpo", "ppo"] = "sft"
    """Training objective: supervised fine-tuning (sft), direct preference optimization (dpo), a reward model (reward), or reinforcement
    learning (grpo, ppo). Samples of dpo and reward are pairs of answers; `data.tokens_per_sample` is one answer with its prompt. Samples
    of grpo and ppo are prompts."""
    rollout: Rollout | None = None
    """Answers that grpo and ppo generate and are trained on."""
    adapter: Adapter = Adapter()
    """Adapter method."""


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
    """Samples per pass of the network (image, audio, document), which must fit in memory. A service runs at most this many together;
    default: searched."""
    quantization: WeightsFormat = "auto"
    """Number format of the weights. awq, gptq: weights quantized beforehand to 4 bits in groups of 128, multiplied in 16 bit."""
    kv_dtype: Literal["auto", "bf16", "fp8", "int8"] = "auto"
    """Number format of the KV cache. int8: with a 32-bit scale per token and head."""
    engine: Literal["auto", "vllm", "sglang", "tensorrt-llm"] = "auto"
    """Inference engine. auto: vLLM. tensorrt-llm is not supported in this release (N-11)."""
    max_context: PositiveInt | None = None
    """Maximum tokens of input and output together; default: twice the 95th percentiles, at most the model's maximum context."""
    prefix_cache_hit_rate: Percent = 0.0
    """Share of input tokens found in the prefix cache; default: `0 %`."""
    speculation: Speculation | None = None
    """Speculative decoding; default: none."""
    chunked_prefill: Flag | None = None
    """Compute long prompts in parts, beside the decode steps of other requests; default: that of the server, and vLLM does. vLLM does
    not officially support `false` (S-210)."""
    max_batched_tokens: Annotated[int, Field(ge=256, le=2**20, strict=True)] | None = None
    """Tokens of one iteration, and length of a part with chunked prefill; default: that of the server. vLLM uses 8,192, and 2,048 for a
    service below 70 GiB and on A100."""
    measured: dict[str, Any] | None = None
    """Your measured run of this workload, in place of the estimate; not supported in this release (N-12)."""


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
    server: Server | None = None
    """Server of your own in `run.image`: the name of one whose port, health path and metrics are published, or these."""
    latency: LatencyGoal | None = None
    """Limit of the time until an image, a transcript or an embedding is complete."""
    ttft: LatencyGoal | None = None
    """Limit of the time to first token (TTFT)."""
    tpot: LatencyGoal | None = None
    """Limit of the time per output token after the first (TPOT)."""
    disaggregation: (
        Annotated[Annotated[Literal["auto"], Tag("<auto>")] | Annotated[Disaggregation, Tag(PLAIN)], auto_or_quantity] | None
    ) = None
    """Separate replicas for prompts and answers; `auto` searches the numbers of both; default: each replica does both. It is sized, but a
    fleet with it is not built (C-server-option)."""
    min_replicas: Annotated[int, Field(ge=0, le=10_000, strict=True)] = 1
    """Minimum number of replicas; 0 requires `scale_to_zero`."""
    max_replicas: Annotated[int, Field(gt=0, le=10_000, strict=True)] | None = None
    """Maximum number of replicas; default: the number for the peak rate plus a margin."""
    scale_to_zero: Flag = False
    """Run no replica while no requests arrive. Needs `blueprint.gateway: {envoy: ...}` (V-92). The first requests are answered with status
    503 until a machine has started and loaded the model."""
    revenue: TokenPrice | None = None
    """Income per output token, for the return on investment."""
    revenue_per_request: RequestPrice | None = None
    """Income per request or image; set this or `revenue`."""
    investment: Money | None = None
    """Spending before the first request, such as training or servers, for the payback time."""
    api_key: SecretRef | None = None
    """API key that clients send as bearer token, from a secret."""

    @property
    def endpoint(self) -> ServerEndpoint | None:
        """Where a server of your own answers; None for vLLM and SGLang."""
        if not isinstance(self.server, str):
            return self.server
        row = published_servers()[self.server]
        metrics = ServerMetrics(queue=row.queue, in_flight=row.in_flight or None, path=row.metrics_path, port=row.metrics_port)
        return ServerEndpoint(metrics=metrics, port=row.port, health=row.health)

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
    """Any other workload, described by your measured runs, which are scaled to other accelerators by FLOP/s and memory bandwidth."""

    kind: Literal["custom"]
    model: Model = Model()
    """Model, where it is known."""
    samples: Count | None = None
    """Samples of the whole run."""
    measured: tuple[MeasuredRun, ...] = ()
    """Your measured runs. Each further accelerator and count makes the estimate narrower."""


Workload = Annotated[Pretrain | Finetune | Serve | Batch | Custom, Field(discriminator="kind")]
TRAINING = (Pretrain, Finetune)
