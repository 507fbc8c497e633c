"""Rate of one replica of a service on an accelerator, by the estimator. Does not depend on prices or machines."""

import math
from dataclasses import dataclass, replace
from typing import Any

from rackwright.catalog.models.architecture import Architecture
from rackwright.catalog.read import Catalog
from rackwright.diagnostics.errors import UserError
from rackwright.estimator.calibration.coefficients import Calibration, calibration
from rackwright.estimator.config.configuration import EngineConfig, HardwareConfig, NumberFormat, SampleConfig, ServingConfig, ServingLayout
from rackwright.estimator.config.resolve import serving_case
from rackwright.estimator.estimate import MAX_FILL, estimate
from rackwright.estimator.model.dimensions import ModelDimensions
from rackwright.estimator.model.from_architecture import model_dimensions
from rackwright.estimator.predict import ServingPrediction
from rackwright.estimator.result import PredictionInterval
from rackwright.sizing.job import lora_overhead
from rackwright.sizing.rejection import Limit, Reason, Rejection, Remedy, latency_rejections
from rackwright.sizing.search.outcome import max_concurrency
from rackwright.units import GIB


@dataclass(frozen=True)
class ServiceRequest:
    """A service in numbers.

    passes: network passes per request, where nothing is generated. tpot_s, ttft_s: goals or None. reserve: share of the rate of a
    replica that is planned with. max_sequences: concurrent requests that an engine allows.
    """

    model: str | dict[str, Any]
    architecture: Architecture
    tokens: tuple[float, float] = (0.0, 1.0)
    numbers: NumberFormat = "bf16"
    kv_numbers: NumberFormat | None = None
    engine: str = "vllm"
    passes: float = 1.0
    max_context: int | None = None
    ttft_s: float | None = None
    tpot_s: float | None = None
    cached_share: float = 0.0
    loras: int = 0
    lora_rank: int = 16
    reserve: float = 0.8
    max_sequences: int = 256
    calibrated: Calibration | None = None
    """Coefficients with the corrections of the user's runs; None for those of the release."""

    @property
    def generates(self) -> bool:
        return self.architecture.kind == "llm"

    @property
    def network(self) -> ModelDimensions:
        return model_dimensions(self.architecture)

    @property
    def lora_overhead(self) -> float:
        """Share of FLOPs that adapters add."""
        return lora_overhead(self.network, self.loras, self.lora_rank)


@dataclass(frozen=True)
class Replica:
    """A replica on a number of accelerators.

    requests_per_s: highest rate within the goals, before the reserve. concurrency: concurrent requests at that rate.
    rejections: why the replica is not possible; then it has no numbers. `wording.plan_text` fills in refused.
    """

    accelerator: str
    accelerators: int
    requests_per_s: PredictionInterval | None = None
    ttft_s: float | None = None
    tpot_s: float | None = None
    concurrency: int = 1
    evidence: str = ""
    refused: str = ""
    rejections: tuple[Rejection, ...] = ()


def replica(request: ServiceRequest, accelerator: str, catalog: Catalog, tensor: int = 1, pipeline: int = 1) -> Replica:
    """A replica with this layout; with rejections where the estimator rejects it, the model does not fit, or it misses a latency goal."""
    try:
        if request.generates:
            return _generating_replica(_config(request, accelerator, tensor, pipeline), request, catalog)
        return _sampled_replica(request, accelerator, catalog)
    except UserError as error:
        rejections = (Rejection(Limit.ESTIMATE, reason=Reason.ESTIMATOR, detail=p.reason) for p in error.problems)
        return Replica(accelerator, tensor * pipeline, rejections=tuple(rejections))


def _sampled_replica(request: ServiceRequest, accelerator: str, catalog: Catalog) -> Replica:
    hardware = HardwareConfig(accelerator=accelerator)
    config = SampleConfig(model=request.model, hardware=hardware, passes=request.passes, numbers=request.numbers)
    found = estimate(config, catalog=catalog)
    if not found.fits:
        need, have = found.peak_memory_bytes.p50 / GIB, found.capacity_bytes * MAX_FILL / GIB
        larger = (Remedy.LARGER_ACCELERATOR,)
        return Replica(accelerator, 1, rejections=(Rejection(Limit.DEVICE_MEMORY, need, have, "GiB", remedies=larger),))
    assert found.samples_per_s is not None
    slower = 1 + request.lora_overhead
    rate = PredictionInterval(
        *(v / slower for v in (found.samples_per_s.p10, found.samples_per_s.p50, found.samples_per_s.p90)), found.samples_per_s.n
    )
    late = 1 / rate.p50
    if late_rejections := latency_rejections(late, None, request.ttft_s):
        return Replica(accelerator, 1, rejections=late_rejections)
    return Replica(accelerator, 1, rate, late, None, 1, found.evidence)


def _generating_replica(config: ServingConfig, request: ServiceRequest, catalog: Catalog) -> Replica:
    accelerator, width = config.hardware.accelerator, config.hardware.count
    c, case = request.calibrated or calibration(), serving_case(config, catalog=catalog)

    def at(running: int) -> ServingPrediction:
        return ServingPrediction.of(replace(case, concurrency=float(running)), c)

    idle = at(1)
    if not idle.can_start or idle.kv_tokens < sum(request.tokens):
        have = float(case.chip.memory_bytes) / GIB
        larger = (Remedy.LARGER_ACCELERATOR,)
        full = Rejection(Limit.DEVICE_MEMORY, reason=Reason.NO_CACHE_ROOM, subject=str(width), amount=have, remedies=larger)
        return Replica(accelerator, width, rejections=(full,))
    maximum = max_concurrency(lambda running: _meets_goals(request, at(running)))
    if not maximum:
        late = latency_rejections(float(idle.ttft_s), float(idle.tpot_s), request.ttft_s, request.tpot_s)
        return Replica(accelerator, width, rejections=late)
    found = estimate(config.model_copy(update={"concurrency": float(maximum)}), c, catalog=catalog)
    first, each = found.ttft_s, found.tpot_s
    return Replica(
        accelerator, width, found.requests_per_s, first.p50 if first else None, each.p50 if each else None, maximum, found.evidence
    )


def _config(request: ServiceRequest, accelerator: str, tensor: int, pipeline: int) -> ServingConfig:
    return ServingConfig(
        model=request.model,
        hardware=HardwareConfig(accelerator=accelerator, count=tensor * pipeline),
        engine=EngineConfig(name=request.engine),
        input_tokens=request.tokens[0],
        output_tokens=request.tokens[1],
        layout=ServingLayout(tensor=tensor, pipeline=pipeline),
        concurrency=1.0,
        weight_numbers=request.numbers,
        kv_numbers=request.kv_numbers,
        max_context=request.max_context,
        max_sequences=request.max_sequences,
        prefix_hit_rate=request.cached_share,
        loras=request.loras,
        lora_rank=request.lora_rank,
    )


def _meets_goals(request: ServiceRequest, at: ServingPrediction) -> bool:
    """Whether all requests run concurrently and the medians meet the latency goals."""
    running = at.running >= at.case.concurrency * 0.999
    return running and at.tpot_s <= (request.tpot_s or math.inf) and at.ttft_s <= (request.ttft_s or math.inf)
