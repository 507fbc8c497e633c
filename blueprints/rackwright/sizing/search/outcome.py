"""Result of the search for one machine and count, before goals, prices and places. Plain numbers."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from rackwright.estimator.calibration.coefficients import PRIOR_ONLY, PRIOR_ONLY_FACTOR, ResidualQuantiles
from rackwright.sizing.metrics import Interval, Memory, ParallelLayout, Speed
from rackwright.sizing.note import Note
from rackwright.sizing.rejection import Rejection

MAX_CONCURRENCY = 512
"""Upper limit of concurrent requests per replica."""
Z80_OVER_Z90 = 0.6567
"""Standard normal quantiles 0.8416 / 1.2816."""


@dataclass(frozen=True)
class Spread:
    """p10 and p90 of a time relative to its median. runs: measured runs behind it, 0 for prior only and then at least a factor 2."""

    low: float = 1.0
    high: float = 1.0
    runs: int = 0

    @staticmethod
    def of_time(seen: ResidualQuantiles) -> "Spread":
        """seen: quantiles of measured over predicted times."""
        minimum = 1.0 if seen.n else PRIOR_ONLY_FACTOR
        return Spread(min(seen.p10, 1 / minimum), max(seen.p90, minimum), seen.n)

    @staticmethod
    def of_rate(seen: ResidualQuantiles) -> "Spread":
        """seen: quantiles of measured over predicted rates; a time is longer where a rate is lower."""
        minimum = 1.0 if seen.n else PRIOR_ONLY_FACTOR
        return Spread(1 / max(seen.p90, minimum), 1 / min(seen.p10, 1 / minimum), seen.n)

    def widened(self, slowdown: float) -> "Spread":
        """The spread of a replica that shares its accelerator. slowdown: p90 over median that the others cause."""
        return replace(self, high=self.high * slowdown) if slowdown > 1 else self

    @property
    def words(self) -> str:
        return f"measured (n={self.runs})" if self.runs else "prior only"

    @property
    def p80(self) -> float:
        """The 80th percentile over the median."""
        return at_p80(1.0, self.high)


UNKNOWN = Spread.of_time(PRIOR_ONLY)


@dataclass(frozen=True)
class Outcome:
    """The best layout, or the nearest one with its rejections.

    work_s: median seconds of work (training, batch), None for serving. band: its spread. points: layouts searched.
    """

    parallelism: ParallelLayout = field(default_factory=ParallelLayout)
    memory: Memory | None = None
    speed: Speed = field(default_factory=Speed)
    work_s: float | None = None
    band: Spread = UNKNOWN
    evidence: str = "prior only"
    precision: str = "bf16"
    nodes: int = 0
    replicas: int = 1
    max_replicas: int = 1
    rejections: tuple[Rejection, ...] = ()
    points: int = 1
    notes: tuple[Note, ...] = ()


def at_p80(median: float, band: float) -> float:
    """The 80th percentile when p90 is `band` times the median and errors are lognormal."""
    return median * math.exp(math.log(band) * Z80_OVER_Z90)


def interval(median: float, band: "Spread | float") -> Interval:
    """Interval around a median. band: a spread, or a symmetric factor."""
    s = band if isinstance(band, Spread) else Spread(1 / band, band)
    return Interval(median * s.low, median, median * s.high)


def max_concurrency(keeps: Callable[[int], bool]) -> int:
    """Highest number of concurrent requests that meets the goals; 0 for none."""
    low = 0
    high = next((1 << i for i in range(MAX_CONCURRENCY.bit_length()) if not keeps(1 << i)), MAX_CONCURRENCY + 1)
    low = high // 2 if high <= MAX_CONCURRENCY else MAX_CONCURRENCY
    while high - low > max(low // 16, 1):
        middle = (low + high) // 2
        low, high = (middle, high) if keeps(middle) else (low, middle)
    return low
