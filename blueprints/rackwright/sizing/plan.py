"""What sizing answers with: ranked fits, rejected candidates with their distance, the assumptions used. Frozen, JSON both ways."""

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, cached_property

from pydantic import TypeAdapter

from rackwright.sizing.machine_needs import MachineNeeds

PLAN_VERSION = "sizing/1"


class Limit(StrEnum):
    """The question a candidate failed."""

    DEVICE_MEMORY = "accelerator memory"
    HOST_MEMORY = "host memory"
    GEOMETRY = "parallelism geometry"
    PRECISION = "number format"
    DEADLINE = "deadline"
    BUDGET = "budget"
    TTFT = "time to first token"
    TPOT = "time per output token"
    THROUGHPUT = "throughput"
    CAPACITY = "capacity"
    REGION = "region"
    RESIDENCY = "residency"
    ORGANISATION = "organisation limit"
    QUOTA = "quota"
    RUN_LIMIT = "longest run of the capacity mode"
    PRICE = "price"
    FABRIC = "fabric"
    DATA = "published data"
    BLUEPRINT = "blueprint"
    PIN = "pin"


@dataclass(frozen=True)
class Rejection:
    """Why not, and by how much. `need` and `have` are in `unit`; None means the fact is not a number or not published."""

    limit: Limit
    need: float | None
    have: float | None
    unit: str = ""
    words: str = ""
    remedy: str = ""

    @property
    def distance(self) -> float:
        """How many times off; 1.2 is 20 % short, inf when no amount helps."""
        if self.need is None or not self.have:
            return float("inf")
        ratio = self.need / self.have
        return ratio if ratio >= 1 else 1 / ratio if ratio else float("inf")

    def __str__(self) -> str:
        if self.need is None or self.have is None:
            return f"{self.limit}: {self.words}"
        return f"{self.limit}: needs {self.need:,.1f} {self.unit}, has {self.have:,.1f}" + (f" ({self.words})" if self.words else "")


@dataclass(frozen=True)
class Interval:
    """p10, p50 and p90 of one answer."""

    p10: float
    p50: float
    p90: float

    def times(self, factor: float) -> "Interval":
        return Interval(self.p10 * factor, self.p50 * factor, self.p90 * factor)

    def plus(self, other: "Interval | None") -> "Interval":
        """Both late or both early: the widest the sum can be."""
        return Interval(self.p10 + other.p10, self.p50 + other.p50, self.p90 + other.p90) if other else self


@dataclass(frozen=True)
class Parallelism:
    """How one copy of the job is spread. `data` counts replicas of the model; zero_stage 3 is FSDP, with a shard_group HSDP: so many
    accelerators share the weights, 0 for all; virtual: stages each device holds of an interleaved pipeline."""

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
    """Bytes on the fullest accelerator, by term; `capacity_bytes` is what the device has, `max_fill` the part sizing may use."""

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

    @property
    def total_bytes(self) -> float:
        states = self.weights_bytes + self.gradients_bytes + self.optimizer_bytes
        return states + self.activations_bytes + self.head_bytes + self.kv_bytes + self.fixed_bytes + self.margin_bytes

    @property
    def fill(self) -> float:
        return self.total_bytes / self.capacity_bytes

    @property
    def headroom(self) -> float:
        """Part of what may be filled that stays free, on the pessimistic side of the estimate."""
        return 1 - self.fill / self.max_fill


@dataclass(frozen=True)
class Candidate:
    """One way to run the workload on one offering.

    machine: catalog name of one node (for TPUs the host machine type); nodes: in all; slices, topology: TPU only;
    replicas: serving copies now, max_replicas the ceiling; price_usd_per_hour: one node, None when not published.
    """

    cloud: str
    machine: str
    accelerator: str
    accelerators_per_node: int
    nodes: int
    region: str
    zones: tuple[str, ...]
    capacity: str
    fabric: str
    parallelism: Parallelism
    price_usd_per_hour: float | None
    price_as_of: str = ""
    price_source: str = ""
    price_region: str = ""
    capacity_id: str = ""
    precision: str = "bf16"
    slices: int = 0
    topology: str = ""
    replicas: int = 1
    max_replicas: int = 1
    place: int = 0
    pinned: bool = False

    @property
    def accelerators(self) -> int:
        return self.nodes * self.accelerators_per_node

    @property
    def is_spread(self) -> bool:
        """Whether the job leaves one scale-up unit: one machine, or one TPU slice, whose hosts share one interconnect."""
        return self.slices > 1 if self.topology else self.nodes > 1

    @property
    def label(self) -> str:
        """Unique among candidates of one plan: what, how many, where, how bought."""
        slices = f"{self.slices} x {self.accelerator} {self.topology} on {self.machine}"
        what = slices if self.topology else f"{self.nodes} x {self.machine}"
        return " ".join(filter(None, (what, self.region, self.capacity, self.capacity_id)))


@dataclass(frozen=True)
class Speed:
    """Seconds and rates. Training fills step_*, serving ttft/tpot; the others stay None."""

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


@dataclass(frozen=True)
class Goodput:
    """Of a run. share: of the paid time that is work; interruptions: faults and reclaims to expect; checkpoint_interval_s: seconds
    between two checkpoints, 0 where none is written."""

    share: float
    interruptions: float = 0.0
    checkpoint_interval_s: float = 0.0


@dataclass(frozen=True)
class Fit:
    """A candidate that meets every limit. duration: seconds of the run (training, batch) or None; cost: US dollars of the run, or of
    a month of 730 h for serving, compute only (the bill adds the rest); cost and hourly price are None where no price is published.
    wait: seconds in the queue of the capacity mode, before anything is paid; overruled: goals it breaks because a pin says so."""

    candidate: Candidate
    memory: Memory
    speed: Speed
    cost_usd: Interval | None
    usd_per_hour: float | None
    duration_s: Interval | None = None
    binding: str = ""
    why: str = ""
    warnings: tuple[str, ...] = ()
    evidence: str = "prior"
    goodput: Goodput | None = None
    wait_s: Interval | None = None
    overruled: tuple[Rejection, ...] = ()

    @property
    def finish_s(self) -> Interval | None:
        """From asking for machines to the end of the run."""
        return self.duration_s.plus(self.wait_s) if self.duration_s else None

    @property
    def time_s(self) -> float:
        """What being fast means: the median finish of a run, the first answer and the token after it of a server."""
        return self.finish_s.p50 if self.finish_s else (self.speed.ttft_s or 0.0) + (self.speed.tpot_s or 0.0)


@dataclass(frozen=True)
class Rejected:
    """A candidate and every limit it breaks, worst first; `fit` keeps its numbers where they could be computed."""

    candidate: Candidate
    rejections: tuple[Rejection, ...]
    remedy: str = ""
    cost_usd: float | None = None
    duration_s: float | None = None

    @property
    def distance(self) -> float:
        return max(r.distance for r in self.rejections)


@dataclass(frozen=True)
class Assumption:
    """A number sizing used that nobody told it."""

    name: str
    value: str
    unit: str
    source: str


@dataclass(frozen=True)
class WorkloadFacts:
    """What the workload came to, in numbers: shown in reports and used by storage and bill."""

    name: str
    kind: str
    model: str
    parameters: float
    active_parameters: float
    trainable_parameters: float = 0.0
    tokens: float = 0.0
    sequence_length: int = 0
    global_batch_size: int = 0
    weights_bytes: float = 0.0
    checkpoint_bytes: float = 0.0
    checkpoint_interval_s: float = 0.0
    dataset_bytes: float = 0.0


@dataclass(frozen=True)
class StorageNeed:
    """Shared storage the run needs: capacity and sustained throughput, with the reason in words."""

    capacity_bytes: float = 0.0
    throughput_bytes_per_s: float = 0.0
    reason: str = ""


@dataclass(frozen=True)
class SizingPlan:
    """The contract between sizing and everything after it. Order of `fits` is the rank; ties are broken by label."""

    spec: str
    facts: WorkloadFacts
    fits: tuple[Fit, ...]
    rejected: tuple[Rejected, ...]
    assumptions: tuple[Assumption, ...]
    catalog_digest: str
    scaling: str = ""
    """Why one machine, or why many: vertical before horizontal."""
    storage: StorageNeed = field(default_factory=StorageNeed)
    warnings: tuple[str, ...] = ()
    considered: int = 0
    version: str = PLAN_VERSION
    machine: MachineNeeds | None = None

    @property
    def chosen(self) -> Fit | None:
        return self.fits[0] if self.fits else None

    @property
    def frontier(self) -> tuple[Fit, ...]:
        """Fits that none beats on cost and on time at once, cheapest first. Those without a price cannot be compared; those that break
        a goal for a pin are left out where others break none."""
        kept = [f for f in self.fits if not f.overruled] or list(self.fits)
        priced = [(f.cost_usd.p50, f.time_s, rank, f) for rank, f in enumerate(kept) if f.cost_usd]
        found: list[Fit] = []
        best = float("inf")
        for _, time_s, _, fit in sorted(priced, key=lambda row: row[:3]):
            if time_s < best:
                found.append(fit)
                best = time_s
        return tuple(found)

    def to_json(self) -> str:
        return _adapter().dump_json(self, indent=2).decode()

    @staticmethod
    def from_json(text: str) -> "SizingPlan":
        return _adapter().validate_json(text)


@cache
def _adapter() -> TypeAdapter[SizingPlan]:
    return TypeAdapter(SizingPlan)
