"""Result types of an estimate: intervals, memory and time by term, nearest run. Bytes, seconds, per-second rates."""

from dataclasses import asdict, dataclass, field, fields
from typing import Any, TypeVar

from rackwright.estimator.model.dimensions import Num


@dataclass(frozen=True)
class PredictionInterval:
    """Quantiles of a prediction, p10 <= p50 <= p90. n: measured runs behind the width; 0: prior only, at least a factor 2 either way."""

    p10: float
    p50: float
    p90: float
    n: int = 0

    @property
    def is_prior_only(self) -> bool:
        return self.n == 0

    def scaled(self, factor: float) -> "PredictionInterval":
        """Return the interval times a factor."""
        return PredictionInterval(self.p10 * factor, self.p50 * factor, self.p90 * factor, self.n)

    def inverse(self, amount: float) -> "PredictionInterval":
        """Return amount / interval: a time from a rate, or a rate from a time."""
        return PredictionInterval(amount / self.p90, amount / self.p50, amount / self.p10, self.n)

    def __add__(self, other: "PredictionInterval") -> "PredictionInterval":
        """Return the sum of two fully correlated quantities, which is the wider of the possible sums."""
        return PredictionInterval(self.p10 + other.p10, self.p50 + other.p50, self.p90 + other.p90, min(self.n, other.n))


@dataclass(frozen=True)
class MemoryTerms:
    """Bytes on the fullest accelerator by term, scalars or arrays. kv: KV cache of a server; reserved: allocator reserve and fragments."""

    weights: Num = 0.0
    gradients: Num = 0.0
    optimizer: Num = 0.0
    activations: Num = 0.0
    head: Num = 0.0
    kv: Num = 0.0
    fixed: Num = 0.0
    reserved: Num = 0.0

    @property
    def total(self) -> Num:
        return sum(getattr(self, f.name) for f in fields(self))


@dataclass(frozen=True)
class StepTerms:
    """Seconds of one optimizer step by term, scalars or arrays. *_exposed: communication that is not overlapped; *_total: all of it."""

    compute: Num = 0.0
    recompute: Num = 0.0
    bubble: Num = 0.0
    optimizer: Num = 0.0
    offload: Num = 0.0
    tensor_exposed: Num = 0.0
    context_exposed: Num = 0.0
    expert_exposed: Num = 0.0
    pipeline_exposed: Num = 0.0
    data_exposed: Num = 0.0
    tensor_total: Num = 0.0
    context_total: Num = 0.0
    expert_total: Num = 0.0
    pipeline_total: Num = 0.0
    data_total: Num = 0.0

    @property
    def total(self) -> Num:
        return sum(getattr(self, f.name) for f in fields(self) if not f.name.endswith("_total"))


T = TypeVar("T", StepTerms, MemoryTerms)


def scale_terms(terms: T, by: Num) -> T:
    """Multiply every term by a factor, so that the terms still sum to the prediction."""
    return type(terms)(*(getattr(terms, f.name) * by for f in fields(terms)))


@dataclass(frozen=True)
class NearestRun:
    """Measured run most similar to the configuration. distance: 0 is identical; measured, predicted: in `unit`."""

    row_id: str
    csv: str
    hardware: str
    model: str
    engine: str
    metric: str
    unit: str
    measured: float
    predicted: float | None
    distance: float
    source: str
    differs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Estimate:
    """Estimate of one configuration. Fields that do not apply are None. memory_stages: one entry per pipeline stage, first to last."""

    id: str
    kind: str
    memory: MemoryTerms
    peak_memory_bytes: PredictionInterval
    capacity_bytes: float
    memory_stages: tuple[MemoryTerms, ...] = ()
    fits: bool = True
    step: StepTerms | None = None
    step_s: PredictionInterval | None = None
    tokens_per_s: PredictionInterval | None = None
    tokens_per_s_per_accelerator: PredictionInterval | None = None
    samples_per_s: PredictionInterval | None = None
    mfu: float | None = None
    time_to_train_s: PredictionInterval | None = None
    startup_s: float | None = None
    evaluation_s: float | None = None
    ttft_s: PredictionInterval | None = None
    tpot_s: PredictionInterval | None = None
    output_tokens_per_s: PredictionInterval | None = None
    output_tokens_per_s_per_accelerator: PredictionInterval | None = None
    requests_per_s: PredictionInterval | None = None
    concurrency: float | None = None
    """Requests in flight over all replicas."""
    kv_tokens: PredictionInterval | None = None
    largest_micro_batch: int | None = None
    largest_context: int | None = None
    launch: dict[str, str] = field(default_factory=dict)
    """Launcher -> command line or flags: torchrun, megatron, vllm, maxtext."""
    nearest: tuple[NearestRun, ...] = ()
    assumptions: tuple[str, ...] = ()
    evidence: str = "prior only"
    warnings: tuple[str, ...] = ()
    version: str = ""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)
