"""Training and serving jobs in numbers. Does not depend on the catalog or the spec."""

from dataclasses import dataclass, field, replace

from rackwright.estimator.case import RECOMPUTE
from rackwright.estimator.config.resolve import BYTES_PER_WEIGHT, NF4_BYTES_PER_WEIGHT
from rackwright.estimator.model.dimensions import ModelDimensions
from rackwright.sizing.inputs.training_recipe import Recipe
from rackwright.sizing.note import Note
from rackwright.sizing.plan import Assumption, WorkloadFacts
from rackwright.sizing.search.training.layouts import JobShape, PinnedLayout, context_ways

LORA_WIDTH = 1280
"""Width of adapted matrices where layer widths are unknown: the wider half of SDXL's U-Net (its published config.json)."""
KEPT_BYTES = 2.0, 4.0
"""Minimum and maximum bytes of a weight that no 8 or 4 bit format holds."""


def weight_bytes(n: ModelDimensions, numbers: str) -> float:
    """Bytes of all weights, scales included."""
    each = linear_bytes(numbers)
    return n.linear * each + (n.total - n.linear) * min(max(each, KEPT_BYTES[0]), KEPT_BYTES[1])


def lora_overhead(n: ModelDimensions, loras: int, rank: int) -> float:
    """Share of FLOPs added by unmerged adapters, and of the weights that each holds.

    Two thin matrices of rank r beside one of width h are 2 r / h of it (Hu et al. 2021, arXiv 2106.09685).
    """
    return 2.0 * rank / (n.hidden or LORA_WIDTH) if loras else 0.0


def linear_bytes(numbers: str) -> float:
    """Bytes per weight of a quantisable matrix."""
    return NF4_BYTES_PER_WEIGHT[True] if numbers == "nf4" else BYTES_PER_WEIGHT[numbers]


@dataclass(frozen=True)
class Objective:
    """What a sample costs besides the training of one sequence.

    sequences: trained per sample: a pair of answers, or the answers to a prompt. trained_models: of the size of the policy, one after the
    other. frozen_parameters: of other models in memory, in 16 bit. forward_passes: per sequence, in passes of the policy. rollouts: what an
    inference engine generates on the same accelerators before each of `steps`.
    """

    name: str = "sft"
    sequences: int = 1
    trained_models: float = 1.0
    frozen_parameters: float = 0.0
    forward_passes: float = 0.0
    rollouts: "ServingJob | None" = None
    steps: float = 0.0


SFT = Objective()
PAIRED = ("dpo", "reward")
"""Objectives that compare two answers, which share a micro-batch."""


@dataclass(frozen=True)
class Sample:
    """One sample of a network that works on whole samples.

    unit: key of `sizing.unit.UNITS`. units: of one sample, such as seconds of audio. passes: of the network per sample. guidance: 2 where
    each pass takes a sample twice. operation: dominant one, as in `SampleCase`. written_tokens: text per pass of a speech model,
    decoder_parameters: weights that each of them reads. image_bytes: on disk of one image that is read, 0 for none.
    """

    unit: str
    units: float = 1.0
    passes: float = 1.0
    guidance: float = 1.0
    operation: str = "transformer"
    written_tokens: float = 0.0
    decoder_parameters: float = 0.0
    image_bytes: float = 0.0


NO_SAMPLE = Sample("token")


@dataclass(frozen=True)
class TrainingJob:
    """method: full, lora, qlora or p-tuning; sampled: whole samples are counted, not tokens (diffusion, vision); sequence: tokens
    of one sequence; mean_length: of the real samples where they are padded, not packed, and padded_length: of them with
    padding; imbalance: tokens of the fullest expert over the mean; flops_per_sequence: model FLOPs of one sequence of mean
    length, forward and backward; adaptable: may take an adapter; batch: sequences; any_sixteen: bf16 where the accelerator has
    it, else fp16; sample: of a network that is counted in whole samples.
    """

    network: ModelDimensions
    recipe: Recipe
    method: str
    sequence: int
    flops_per_sequence: float
    batch: int
    sequences: float
    pins: PinnedLayout = field(default_factory=PinnedLayout)
    sampled: bool = False
    mean_length: float = 0.0
    padded_length: float = 0.0
    imbalance: float = 1.0
    adaptable: bool = True
    objective: Objective = SFT
    any_sixteen: bool = False
    sample: Sample = NO_SAMPLE

    @property
    def precision(self) -> str:
        return self.recipe.numbers

    @property
    def steps(self) -> float:
        return self.sequences / self.batch

    @property
    def timed_length(self) -> float:
        """Mean tokens that are computed per sequence: all where samples are packed, else those of a sample with its padding."""
        return self.padded_length or float(self.sequence)

    @property
    def shape(self) -> JobShape:
        """Geometry of the job; sampled networks use data parallelism only, because only their totals are known."""
        n = self.network
        if self.sampled:
            return JobShape(0, 1, 0, 0, (1,), self.batch, self.recipe.is_adapter)
        pair = 2 if self.objective.name in PAIRED else 1
        ways = context_ways(n.layers, self.sequence, self.pins.context)
        return JobShape(n.layers, n.heads, n.kv_heads, n.experts, ways, self.batch, self.recipe.is_adapter, pair)

    @property
    def recomputes(self) -> tuple[int, ...]:
        """Codes of recompute to search, least first. Under FlashAttention selective equals none for the assumed trainers."""
        return (0, 2) if self.pins.recompute is None else (RECOMPUTE.index(self.pins.recompute),)

    def on_tpu(self) -> "TrainingJob":
        return replace(self, recipe=self.recipe.on_tpu())


@dataclass(frozen=True)
class ServingJob:
    """Requests in numbers.

    rate: per second, 0 for a batch of `requests`; ttft, tpot: (seconds, percentile); longest: tokens of the longest request; generates
    False: one `sample` per request, in forward passes (diffusion, vision, speech, encoder); precision: of the weights, auto for `native`,
    the format they are published in; products: of the arithmetic, where the spec sets it; engine: family; loras: adapters of rank
    `lora_rank` served beside the base; batch_size: limit set by the spec; latency_key: key of the spec that sets `ttft`.
    """

    network: ModelDimensions
    generates: bool
    precision: str
    kv_element: float
    engine: str
    input_tokens: float
    input_p95: float
    output_tokens: float
    longest: int
    cached_share: float
    rate: float
    requests: float
    ttft: tuple[float, int] | None
    tpot: tuple[float, int] | None
    min_replicas: int = 1
    max_replicas: int | None = None
    tensor: int | None = None
    pipeline: int | None = None
    products: str = "auto"
    native: str = "bf16"
    loras: int = 0
    lora_rank: int = 16
    speculation: tuple[tuple[str, float], ...] = ()
    """Fields of ServingCase for speculative decoding."""
    sample: Sample = NO_SAMPLE
    batch_size: int | None = None
    latency_key: str = "ttft"
    is_chunked: bool = True
    batched_tokens: int | None = None
    """Tokens of one iteration, where the spec sets them."""
    pools: tuple[int, int] | None = None
    """Prefill and decode replicas of a disaggregated service, (0, 0) where both are searched; None: each replica does both."""

    @property
    def ttft_s(self) -> float | None:
        return self.ttft[0] if self.ttft else None

    @property
    def tpot_s(self) -> float | None:
        return self.tpot[0] if self.tpot else None

    @property
    def has_later_tokens(self) -> bool:
        """Whether an answer has tokens after its first one: only then a time per output token exists."""
        return self.generates and self.output_tokens > 1

    @property
    def ends(self) -> bool:
        """Whether the job is a batch that ends."""
        return self.requests > 0


@dataclass(frozen=True)
class CustomRun:
    """A measured run. flops: sustained FLOP/s of one accelerator in the format of the job; memory_bytes: peak of one accelerator;
    samples_per_s: of all accelerators together."""

    vendor: str
    accelerators: int
    flops: float
    bandwidth_bytes_per_s: float
    memory_bytes: float
    samples_per_s: float


@dataclass(frozen=True)
class CustomJob:
    """A workload described by the user's measured runs. samples: of the whole run."""

    runs: tuple[CustomRun, ...]
    samples: float
    precision: str = "auto"


Job = TrainingJob | ServingJob | CustomJob


@dataclass(frozen=True)
class WorkloadInputs:
    """The first workload as numbers, its facts, and the assumptions behind them."""

    job: Job
    facts: WorkloadFacts
    assumed: tuple[Assumption, ...] = ()
    notes: tuple[Note, ...] = ()

    @property
    def serves(self) -> bool:
        """Whether the job serves requests without an end."""
        return isinstance(self.job, ServingJob) and not self.job.ends
