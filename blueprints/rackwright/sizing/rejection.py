"""A constraint that a candidate fails: a typed reason with its numbers. `wording.rejections` renders it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import Field

IF_SEVERAL = Field(exclude_if=lambda value: not value)
"""Fields of plans with several workloads; JSON of a plan with one workload does not have them."""


class Limit(StrEnum):
    """The constraint that a candidate fails."""

    DEVICE_MEMORY = "accelerator memory"
    HOST_MEMORY = "host memory"
    GEOMETRY = "parallelism geometry"
    PRECISION = "number format"
    DEADLINE = "deadline"
    BUDGET = "budget"
    TTFT = "time to first token"
    TPOT = "time per output token"
    LATENCY = "time to the answer"
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
    ESTIMATE = "estimate"


class Reason(StrEnum):
    """The failed condition behind a rejection. `wording.rejections` renders each as a sentence with its remedy."""

    LIMIT = "limit"
    ACCELERATOR_FAMILY = "accelerator-family"
    ACCELERATOR_LIMIT = "accelerator-limit"
    BATCH_MEMORY = "batch-memory"
    BATCH_NOT_DIVISIBLE = "batch-not-divisible"
    BATCH_TOO_SMALL = "batch-too-small"
    BLOCK_ENDED = "block-ended"
    BLOCK_TOO_SHORT = "block-too-short"
    BLUEPRINT_DEVICE = "blueprint-device"
    BLUEPRINT_ON_CPU = "blueprint-on-cpu"
    BOX_IS_ONE_MACHINE = "box-is-one-machine"
    BUDGET_OF_BILL = "budget-of-bill"
    BUDGET_OF_MONTH = "budget-of-month"
    BUDGET_OF_RUN = "budget-of-run"
    CAPACITY_COUNT = "capacity-count"
    CAPACITY_MODE = "capacity-mode"
    CLUSTER_ON_CPU = "cluster-on-cpu"
    CONTEXT_OR_EXPERT = "context-or-expert"
    CPU_ENGINE_RATE = "cpu-engine-rate"
    CPU_FAMILY = "cpu-family"
    CPU_FORMAT = "cpu-format"
    CPU_MEMORY = "cpu-memory"
    CPU_METHOD = "cpu-method"
    CPU_MODEL_SIZE = "cpu-model-size"
    CUSTOM_ON_CPU = "custom-on-cpu"
    DEADLINE = "deadline"
    ESTIMATOR = "estimator"
    FALLBACK_MACHINE = "fallback-machine"
    FALLBACK_ZONE = "fallback-zone"
    FEWER_THAN_MEASURED = "fewer-than-measured"
    FORMAT = "format"
    HOST_LATENCY = "host-latency"
    HOST_MEMORY = "host-memory"
    IDLE_LATENCY = "idle-latency"
    MEASURED_MEMORY = "measured-memory"
    MODE_TOO_SHORT = "mode-too-short"
    NEURON_ENGINE = "neuron-engine"
    NEURON_METHOD = "neuron-method"
    NEURON_NOT_PINNED = "neuron-not-pinned"
    NEURON_SERVES_ONLY = "neuron-serves-only"
    NOT_IN_SPEC = "not-in-spec"
    NOT_ORDERABLE = "not-orderable"
    NO_COMMON_PLACE = "no-common-place"
    NO_CACHE_ROOM = "no-cache-room"
    NO_FABRIC = "no-fabric"
    NO_PRICE = "no-price"
    NO_RUN_OF_VENDOR = "no-run-of-vendor"
    OTHER_WORKLOADS = "other-workloads"
    PINNED_ELSEWHERE = "pinned-elsewhere"
    PINNED_NODES = "pinned-nodes"
    PIPELINE_PIN = "pipeline-pin"
    POOLS_TOO_SMALL = "pools-too-small"
    REGION_NOT_ALLOWED = "region-not-allowed"
    REGION_NOT_OFFERED = "region-not-offered"
    REGIONS_UNKNOWN = "regions-unknown"
    REPLICA_BLOCKS = "replica-blocks"
    REPLICA_LIMIT = "replica-limit"
    REPLICA_MEMORY = "replica-memory"
    REPLICA_TENSOR = "replica-tensor"
    REPLICAS_SEARCHED = "replicas-searched"
    RESIDENCY = "residency"
    ROLLOUT_MEMORY = "rollout-memory"
    SAMPLE_MEMORY = "sample-memory"
    TENSOR_PIN = "tensor-pin"
    TPU_ADAPTER = "tpu-adapter"
    TPU_BATCH = "tpu-batch"
    TPU_NOT_PINNED = "tpu-not-pinned"
    TPU_SERVING = "tpu-serving"
    TPU_SERVING_HOSTS = "tpu-serving-hosts"
    TRAINING_MEMORY = "training-memory"
    UNPUBLISHED = "unpublished"
    VCPU_QUOTA = "vcpu-quota"
    ZONE = "zone"


class Remedy(StrEnum):
    """A change that would make a candidate fit and that is no single value of the spec."""

    GPU = "gpu"
    LARGER_ACCELERATOR = "larger-accelerator"
    LARGER_SLICE = "larger-slice"
    MORE_MACHINES = "more-machines"
    NEWER_ACCELERATOR = "newer-accelerator"
    SHORTER_SEQUENCE = "shorter-sequence"


@dataclass(frozen=True)
class Rejection:
    """A constraint that a candidate fails, with its distance.

    need, have: in `unit`; None where the constraint is not a number, or the number is not published.
    p50: the median, where `need` is the 80th percentile of an estimate.
    subject, detail: names that the reason is about, such as an accelerator and a number format; amount: a further number, in `unit`.
    remedies: values of the spec or `Remedy` members that would make the candidate fit.
    workload: its name where the stack has several.
    words, remedy: the condition and the remedies as text; sizing leaves them empty, `wording.plan_text` fills them in.
    """

    limit: Limit
    need: float | None = None
    have: float | None = None
    unit: str = ""
    reason: Reason = Reason.LIMIT
    subject: str = ""
    detail: str = ""
    amount: float | None = None
    remedies: tuple[str, ...] = ()
    words: str = ""
    remedy: str = ""
    p50: float | None = None
    workload: Annotated[str, IF_SEVERAL] = ""

    @property
    def distance(self) -> float:
        """Ratio of required to available; 1.2 means 20 % short, inf that no amount helps."""
        if self.need is None or not self.have:
            return float("inf")
        ratio = self.need / self.have
        return ratio if ratio >= 1 else 1 / ratio if ratio else float("inf")


def answer_rejection(seconds: float, goal: tuple[float, int] | None, key: str, remedies: tuple[str, ...] = ()) -> tuple[Rejection, ...]:
    """Limit of the time to the whole answer that an idle replica misses. goal: (seconds, percentile). key: of the limit in the spec."""
    if goal is None or seconds <= goal[0]:
        return ()
    return (Rejection(Limit.LATENCY, seconds * 1000, goal[0] * 1000, "ms", Reason.IDLE_LATENCY, detail=key, remedies=remedies),)


def latency_rejections(
    ttft_s: float,
    tpot_s: float | None,
    ttft_goal_s: float | None,
    tpot_goal_s: float | None = None,
    remedies: tuple[str, ...] = (),
) -> tuple[Rejection, ...]:
    """Latency goals that an idle replica misses; a goal of None is not set. remedies: changes that make it faster."""
    goals = ((Limit.TPOT, tpot_s, tpot_goal_s, "tpot"), (Limit.TTFT, ttft_s, ttft_goal_s, "ttft"))
    return tuple(
        Rejection(limit, seconds * 1000, goal * 1000, "ms", Reason.IDLE_LATENCY, detail=key, remedies=remedies)
        for limit, seconds, goal, key in goals
        if goal and seconds is not None and seconds > goal
    )


def model_size_rejection(active_parameters: float, max_parameters: float) -> Rejection:
    """Rejection of a model that CPUs run slower than people read."""
    return Rejection(Limit.THROUGHPUT, active_parameters / 1e9, max_parameters / 1e9, "billion active parameters", Reason.CPU_MODEL_SIZE)
