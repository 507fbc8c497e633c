"""Statistics of predictions against readings: errors by row and by cell, intervals, factors. Numbers in, numbers out."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import mean, median

from rackwright.estimator.result import PredictionInterval

UNSUPPORTED_ERROR = 1.0
"""An unsupported scored row counts as wholly wrong."""
WORST = 6


@dataclass(frozen=True)
class Point:
    """One scored reading. band: None where there is no prediction."""

    table: str
    row_id: str
    cell: str
    measured: float
    band: PredictionInterval | None = None

    @property
    def error(self) -> float:
        """Absolute, as a share of the reading."""
        return UNSUPPORTED_ERROR if self.band is None else abs(self.band.p50 / self.measured - 1)

    @property
    def ratio(self) -> float | None:
        return self.band.p50 / self.measured if self.band else None


@dataclass(frozen=True)
class Score:
    """Shares, not percent. exceeds: readings above p90; exceeds_much: by more than 5 %. width: median p90 / p10."""

    n: int
    coverage: float
    mean: float
    median: float
    cell_mean: float
    cells: int
    held: float | None = None
    width: float | None = None
    exceeds: float | None = None
    exceeds_much: float | None = None
    bias: float | None = None


def score(points: Sequence[Point]) -> Score:
    """At least one point."""
    known = [(p.measured, p.band) for p in points if p.band]
    cells = by_cell(points)
    return Score(
        n=len(points),
        coverage=len(known) / len(points),
        mean=mean(p.error for p in points),
        median=median(p.error for p in points),
        cell_mean=mean(mean(p.error for p in cell) for cell in cells.values()),
        cells=len(cells),
        held=mean(b.p10 <= value <= b.p90 for value, b in known) if known else None,
        width=median(b.p90 / b.p10 for _, b in known) if known else None,
        exceeds=mean(value > b.p90 for value, b in known) if known else None,
        exceeds_much=mean(value > 1.05 * b.p90 for value, b in known) if known else None,
        bias=median(b.p50 / value for value, b in known) - 1 if known else None,
    )


def within(points: Sequence[Point], factor: float) -> float:
    """Share of rows whose prediction is neither under nor over by more than the factor."""
    return mean(p.ratio is not None and 1 / factor <= p.ratio <= factor for p in points)


def by_cell(points: Iterable[Point]) -> dict[str, list[Point]]:
    found: dict[str, list[Point]] = defaultdict(list)
    for point in points:
        found[point.cell].append(point)
    return dict(found)


def worst(points: Sequence[Point]) -> list[tuple[str, int, float, float]]:
    """Cells with the largest mean error: cell, rows, mean error, median predicted / measured."""
    rows = [(cell, len(held), mean(p.error for p in held), median(p.ratio or 0.0 for p in held)) for cell, held in by_cell(points).items()]
    return sorted(rows, key=lambda r: -r[2] * r[1])[:WORST]


def confusion(pairs: Iterable[tuple[bool, bool]]) -> dict[tuple[bool, bool], int]:
    """Counts by (ran out of memory, was predicted to)."""
    counts = {(said, was): 0 for said in (True, False) for was in (True, False)}
    for pair in pairs:
        counts[pair] += 1
    return counts
