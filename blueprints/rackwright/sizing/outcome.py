"""What the search found for one machine and count, before goals, prices and places are asked. Plain numbers."""

import math
from dataclasses import dataclass, field

from rackwright.sizing.plan import Interval, Memory, Parallelism, Rejection, Speed


@dataclass(frozen=True)
class Outcome:
    """The best way found, or the nearest miss with its rejections.

    work_s: median seconds of pure work (training, batch), None for serving; band: p90 over median; points: ways that were looked at.
    """

    parallelism: Parallelism = field(default_factory=Parallelism)
    memory: Memory | None = None
    speed: Speed = field(default_factory=Speed)
    work_s: float | None = None
    band: float = 1.0
    evidence: str = "prior only"
    precision: str = "bf16"
    nodes: int = 0
    replicas: int = 1
    max_replicas: int = 1
    rejections: tuple[Rejection, ...] = ()
    points: int = 1


Z80_OVER_Z90 = 0.6567
"""Standard normal quantiles 0.8416 / 1.2816."""


def at_p80(median: float, band: float) -> float:
    """The 80th percentile when p90 is `band` times the median and errors are lognormal."""
    return median * math.exp(math.log(band) * Z80_OVER_Z90)


def interval(median: float, band: float) -> Interval:
    return Interval(median / band, median, median * band)
