"""One replica of a service on an accelerator: what it answers within the goals, by the estimator. Knows neither prices nor machines."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from rackwright.catalog.models.architecture import Architecture
from rackwright.diagnostics.errors import UserError
from rackwright.estimator.calibration.coefficients import calibration
from rackwright.estimator.config.configuration import EngineConfig, HardwareConfig, NumberFormat, SampleConfig, ServingConfig, ServingLayout
from rackwright.estimator.config.resolve import serving_case
from rackwright.estimator.estimate import MAX_FILL, estimate
from rackwright.estimator.model.dimensions import ModelDimensions
from rackwright.estimator.model.from_architecture import model_dimensions
from rackwright.estimator.predict import ServingPrediction
from rackwright.estimator.result import Estimate, Interval
from rackwright.sizing.job import lora_overhead
from rackwright.units import GIB

MOST_RUNNING = 512
"""Requests at once in one replica that are looked at."""


@dataclass(frozen=True)
class ServiceRequest:
    """The service in numbers. passes: of the network per request, where nothing is generated; tpot_s, ttft_s: goals, None for none;
    reserve: share of a replica's rate that is planned with; max_sequences: requests at once that an engine allows."""

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
    """One copy on so many accelerators. requests_per_s: its most within the goals, before the reserve; concurrency: requests at once then;
    refused: why it cannot run there, and then there are no numbers."""

    accelerator: str
    accelerators: int
    requests_per_s: Interval | None = None
    ttft_s: float | None = None
    tpot_s: float | None = None
    concurrency: int = 1
    evidence: str = ""
    refused: str = ""


def replica(asked: ServiceRequest, accelerator: str, tensor: int = 1, pipeline: int = 1) -> Replica:
    """One copy laid out so; `refused` where the estimator refuses it, the model does not fit, or it is too slow."""
    try:
        return _generating(asked, accelerator, tensor, pipeline) if asked.generates else _sampled(asked, accelerator)
    except UserError as error:
        return Replica(accelerator, tensor * pipeline, refused="; ".join(p.reason for p in error.problems))


def _sampled(asked: ServiceRequest, accelerator: str) -> Replica:
    hardware = HardwareConfig(accelerator=accelerator)
    found = estimate(SampleConfig(model=asked.model, hardware=hardware, passes=asked.passes, numbers=asked.numbers))
    if not found.fits:
        return Replica(accelerator, 1, refused=_too_big(found))
    assert found.samples_per_s is not None
    slower = 1 + asked.lora_overhead
    rate = Interval(
        *(v / slower for v in (found.samples_per_s.p10, found.samples_per_s.p50, found.samples_per_s.p90)), found.samples_per_s.n
    )
    late = 1 / rate.p50
    if asked.ttft_s is not None and late > asked.ttft_s:
        return Replica(accelerator, 1, refused=f"an answer takes {late:,.1f} s, {asked.ttft_s:g} s allowed")
    return Replica(accelerator, 1, rate, late, None, 1, found.evidence)


def _generating(asked: ServiceRequest, accelerator: str, tensor: int, pipeline: int) -> Replica:
    config, width = _config(asked, accelerator, tensor, pipeline), tensor * pipeline
    c, case = calibration(), serving_case(config)

    def at(running: int) -> ServingPrediction:
        return ServingPrediction.of(replace(case, concurrency=float(running)), c)

    idle = at(1)
    if not idle.can_start or idle.kv_tokens < sum(asked.tokens):
        have = float(case.chip.memory_bytes) / GIB
        return Replica(accelerator, width, refused=f"the weights leave {width} x {have:,.0f} GiB no room for a cache")
    most = most_running(lambda running: _keeps(asked, at(running)))
    if not most:
        return Replica(accelerator, width, refused=_slow(asked, idle))
    found = estimate(config.model_copy(update={"concurrency": float(most)}))
    first, each = found.ttft_s, found.tpot_s
    return Replica(accelerator, width, found.requests_per_s, first.p50 if first else None, each.p50 if each else None, most, found.evidence)


def _config(asked: ServiceRequest, accelerator: str, tensor: int, pipeline: int) -> ServingConfig:
    return ServingConfig(
        model=asked.model,
        hardware=HardwareConfig(accelerator=accelerator, count=tensor * pipeline),
        engine=EngineConfig(name=asked.engine),
        input_tokens=asked.tokens[0],
        output_tokens=asked.tokens[1],
        layout=ServingLayout(tensor=tensor, pipeline=pipeline),
        concurrency=1.0,
        weight_numbers=asked.numbers,
        kv_numbers=asked.kv_numbers,
        max_context=asked.max_context,
        max_sequences=asked.max_sequences,
        prefix_hit_rate=asked.cached_share,
        loras=asked.loras,
        lora_rank=asked.lora_rank,
    )


def _keeps(asked: ServiceRequest, at: ServingPrediction) -> bool:
    """Whether all of the requests run at once, and as fast as is asked, in the median."""
    running = at.running >= at.case.concurrency * 0.999
    return running and at.tpot_s <= (asked.tpot_s or math.inf) and at.ttft_s <= (asked.ttft_s or math.inf)


def most_running(keeps: Callable[[int], bool]) -> int:
    """The largest number of requests at once that keeps the goals; 0 for none. More never makes any of them faster."""
    low = 0
    high = next((1 << i for i in range(MOST_RUNNING.bit_length()) if not keeps(1 << i)), MOST_RUNNING + 1)
    low = high // 2 if high <= MOST_RUNNING else MOST_RUNNING
    while high - low > max(low // 16, 1):
        middle = (low + high) // 2
        low, high = (middle, high) if keeps(middle) else (low, middle)
    return low


def _slow(asked: ServiceRequest, idle: ServingPrediction) -> str:
    if asked.tpot_s and idle.tpot_s > asked.tpot_s:
        return f"{idle.tpot_s * 1000:,.0f} ms per token without other traffic, {asked.tpot_s * 1000:g} ms allowed"
    return f"first token after {idle.ttft_s:,.2f} s without other traffic, {asked.ttft_s or 0:g} s allowed"


def _too_big(found: Estimate) -> str:
    return f"needs {found.peak_memory_bytes.p50 / GIB:,.1f} GiB, has {found.capacity_bytes * MAX_FILL / GIB:,.1f}"
