"""Metrics of one candidate: intervals, parallel layout, memory, speed, goodput, effects of options."""

from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True)
class Interval:
    """Quantiles p10, p50 and p90 of a value."""

    p10: float
    p50: float
    p90: float

    def times(self, factor: float) -> "Interval":
        return Interval(self.p10 * factor, self.p50 * factor, self.p90 * factor)

    def plus(self, other: "Interval | None") -> "Interval":
        """Both late or both early: the widest the sum can be."""
        return Interval(self.p10 + other.p10, self.p50 + other.p50, self.p90 + other.p90) if other else self


@dataclass(frozen=True)
class ParallelLayout:
    """Parallel layout of one copy of the job.

    data: replicas of the model. zero_stage 3: FSDP. shard_group: accelerators that share the weights (HSDP), 0 for all.
    virtual: stages per device of an interleaved pipeline.
    """

    tensor: int = 1
    pipeline: int = 1
    context: int = 1
    expert: int = 1
    data: int = 1
    zero_stage: int = 0
    micro_batch: int = 1
    gradient_accumulation: int = 1
    recompute: str = "none"
    virtual: int = 1
    shard_group: int = 0

    @property
    def accelerators(self) -> int:
        return self.tensor * self.pipeline * self.context * self.data

    def __str__(self) -> str:
        return self._words

    @cached_property
    def _words(self) -> str:
        parts = [("TP", self.tensor), ("PP", self.pipeline), ("CP", self.context), ("EP", self.expert), ("DP", self.data)]
        named = " ".join(f"{n}{v}" for n, v in parts if v > 1) or "one accelerator"
        named += f" VP{self.virtual}" if self.virtual > 1 else ""
        recompute = f" recompute {self.recompute}" if self.recompute != "none" else ""
        sharded = f" HSDP-{self.shard_group}" if self.shard_group else f" ZeRO-{self.zero_stage}" if self.zero_stage else ""
        return named + sharded + recompute


@dataclass(frozen=True)
class Memory:
    """Bytes on the fullest accelerator by term. capacity_bytes: of the device. max_fill: share of it that sizing may use.

    measured_bytes: peak of a measured run, which has no terms.
    """

    capacity_bytes: float
    max_fill: float
    weights_bytes: float = 0.0
    gradients_bytes: float = 0.0
    optimizer_bytes: float = 0.0
    activations_bytes: float = 0.0
    head_bytes: float = 0.0
    kv_bytes: float = 0.0
    fixed_bytes: float = 0.0
    margin_bytes: float = 0.0
    measured_bytes: float = 0.0

    @property
    def total_bytes(self) -> float:
        states = self.weights_bytes + self.gradients_bytes + self.optimizer_bytes
        others = self.activations_bytes + self.head_bytes + self.kv_bytes + self.fixed_bytes + self.margin_bytes
        return states + others + self.measured_bytes

    @property
    def fill(self) -> float:
        return self.total_bytes / self.capacity_bytes

    @property
    def headroom(self) -> float:
        """Part of what may be filled that stays free, on the pessimistic side of the estimate."""
        return 1 - self.fill / self.max_fill


@dataclass(frozen=True)
class Speed:
    """Times and rates. Training sets step_*, serving sets ttft and tpot; the others are None.

    input_s: part of a step in which the accelerators wait for samples; None where the host feeds them in time.
    ttft_s, tpot_s: p80 of the estimate, which goals are compared with; *_p50_s: its median.
    units_per_s: of all replicas, in the unit of the workload (images, seconds of audio, documents). unloaded_s: one request without other
    traffic, where ttft_s is under load. batch_size: samples per pass.
    """

    tokens_per_s: float | None = None
    samples_per_s: float | None = None
    step_s: float | None = None
    compute_s: float | None = None
    communication_s: float | None = None
    bubble_s: float | None = None
    mfu: float | None = None
    ttft_s: float | None = None
    tpot_s: float | None = None
    concurrency: int | None = None
    requests_per_s: float | None = None
    kv_tokens: int | None = None
    rollout_s: float | None = None
    """Seconds of a step in which reinforcement learning generates answers."""
    input_s: float | None = None
    ttft_p50_s: float | None = None
    tpot_p50_s: float | None = None
    units_per_s: float | None = None
    unloaded_s: float | None = None
    batch_size: int | None = None
    prefill_replicas: int | None = None
    """Replicas of a disaggregated service that compute prompts; the others generate answers."""


@dataclass(frozen=True)
class Goodput:
    """Goodput of a run.

    share: productive share of the paid time. interruptions: expected faults and reclaims. checkpoint_interval_s: 0 where none is written.
    """

    share: float
    interruptions: float = 0.0
    checkpoint_interval_s: float = 0.0


@dataclass(frozen=True)
class ReplicaFigures:
    """Memory of the fullest accelerator, latency at p50, and rate of one replica at the traffic of the plan.

    pause_s: longest pause between two tokens of an answer. None: the replica does not carry the traffic, or the value does not exist.
    """

    weights_bytes: float
    activations_bytes: float
    kv_tokens: int
    ttft_s: float | None
    tpot_s: float | None
    pause_s: float
    requests_per_s: float | None


OptionValue = bool | int | float | str | dict[str, int | float | str | None]
"""Value of an option; keys and values of one that is a mapping, with shares as fractions of one."""


@dataclass(frozen=True)
class OptionEffect:
    """Figures of the chosen replica without an option of the spec and with all of them.

    key, value: of the spec. searched: replicas of each pool that sizing chose for disaggregation: auto.
    """

    key: str
    value: OptionValue = field(hash=False)
    before: ReplicaFigures
    after: ReplicaFigures
    searched: dict[str, int] = field(default_factory=dict, hash=False)
