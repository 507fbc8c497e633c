"""Errors of two sides on the rows that both answer, and gaps by reason. Numbers in, numbers out."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, median
from typing import Any

from tables import table


@dataclass(frozen=True)
class Errors:
    """Mean and median absolute error as shares of the reading, and the median of predicted / measured - 1."""

    n: int
    mean: float
    median: float
    bias: float


def errors(pairs: Iterable[tuple[float, float]]) -> Errors | None:
    """Pairs of measured and predicted; None without any."""
    ratios = [predicted / measured for measured, predicted in pairs]
    missed = [abs(ratio - 1) for ratio in ratios]
    return Errors(len(ratios), mean(missed), median(missed), median(ratios) - 1) if ratios else None


@dataclass(frozen=True)
class Line:
    """One table of rows. theirs, folds, shipped: on the rows that both answer; alone: ours in folds on the rows that the peer leaves."""

    table: str
    scored: int
    theirs: Errors | None
    folds: Errors | None
    shipped: Errors | None
    alone: Errors | None


def lines(rows: Sequence[Any], theirs: Mapping[tuple[str, str], float]) -> list[Line]:
    """A line for each table, in the order of the rows. theirs: predictions by row id and metric."""
    made = []
    for name in dict.fromkeys(row.table for row in rows):
        held = [row for row in rows if row.table == name]
        both = [row for row in held if (row.id, row.metric) in theirs]
        made.append(
            Line(
                name,
                len(held),
                errors((row.measured, theirs[row.id, row.metric]) for row in both),
                errors((row.measured, row.folds) for row in both),
                errors((row.measured, row.shipped) for row in both),
                errors((row.measured, row.folds) for row in held if (row.id, row.metric) not in theirs),
            )
        )
    return made


def answered(answers: Iterable[Mapping[str, Any]]) -> tuple[dict[tuple[str, str], float], dict[str, str], list[float]]:
    """Predictions by row id and metric, gaps by row id, and the seconds of each answer. Zero, negative and endless answers are gaps."""
    values: dict[tuple[str, str], float] = {}
    gaps: dict[str, str] = {}
    seconds = []
    for answer in answers:
        found = {m: v for m, v in answer.get("values", {}).items() if 0 < v < float("inf")}
        values |= {(answer["id"], metric): value for metric, value in found.items()}
        if found:
            seconds.append(answer["seconds"])
        else:
            gaps[answer["id"]] = answer.get("gap", "no number")
    return values, gaps, seconds


def fitted(rows: Sequence[Any], theirs: Mapping[tuple[str, str], float]) -> dict[tuple[str, str], float]:
    """Their predictions, each times the median of measured / predicted over the rows of every other group: the one number a peer leaves
    to its user, found without the row's own group."""
    known = [(row, theirs[row.id, row.metric]) for row in rows if (row.id, row.metric) in theirs]
    factors: dict[tuple[str, str], float] = {}
    for key in {(row.group, row.metric) for row, _ in known}:
        others = [row.measured / value for row, value in known if row.metric == key[1] and row.group != key[0]]
        factors[key] = median(others) if others else 1.0
    return {(row.id, row.metric): value * factors[row.group, row.metric] for row, value in known}


def gaps_by_table(rows: Sequence[Any], gaps: Mapping[str, str]) -> list[tuple[str, str, int]]:
    """Table, reason and rows, the most frequent first within a table. A printed name after a colon is kept."""
    counts = Counter((row.table, gaps[row.id]) for row in rows if row.id in gaps)
    order = list(dict.fromkeys(row.table for row in rows))
    return [(t, why, n) for (t, why), n in sorted(counts.items(), key=lambda c: (order.index(c[0][0]), -c[1], c[0][1]))]


HEAD = (
    "rows", "scored", "both", "gaps", "its mean", "its median", "its bias", "our mean", "our median", "in sample: mean", "median",
    "our mean on its gaps",
)  # fmt: skip


def errors_table(made: Iterable[Line]) -> str:
    """In percent."""
    return table(HEAD, (_cells(line) for line in made))


def _cells(line: Line) -> tuple[str, ...]:
    both = line.theirs.n if line.theirs else 0
    return (
        line.table, str(line.scored), str(both), str(line.scored - both), percent(line.theirs, "mean"), percent(line.theirs, "median"),
        percent(line.theirs, "bias"), percent(line.folds, "mean"), percent(line.folds, "median"), percent(line.shipped, "mean"),
        percent(line.shipped, "median"), percent(line.alone, "mean"),
    )  # fmt: skip


def percent(found: Errors | None, what: str) -> str:
    return f"{100 * getattr(found, what):{'+' if what == 'bias' else ''}.1f}" if found else ""
