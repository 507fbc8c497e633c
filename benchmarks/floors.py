"""Noise floors: published runs that are equal in every input of the formulas, and how far their figures are apart.

    python benchmarks/floors.py

No model can predict both of two such runs. The floor of a set is the least mean error that any one prediction has on its runs. Releases of
a trainer count as equal, because a set of two releases shows what software changes.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import mean

from rackwright.estimator.calibration.registry import registry
from rackwright.estimator.dataset.runs import MeasuredValue, row_readings, runs_of_model
from tables import table

SHOWN = 4
"""Sets shown of each table, the widest first."""
LEAST_SHOWN = 0.02
"""Floor from which a set is shown."""
LEGEND = (
    "A set holds runs that are equal in every input of the formulas; releases of a trainer count as equal. Its floor is the least mean "
    "error that one prediction for all of them has, in percent, so a target below it cannot be met on these rows."
)
HEAD = ("table", "runs", "in sets", "floor of the sets", "widest sets: floor")
SET_HEAD = ("table", "highest / lowest", "floor", "rows (measured)", "source")


@dataclass(frozen=True)
class EqualRuns:
    """Runs of one table with equal inputs, two or more."""

    runs: tuple[MeasuredValue, ...]

    @property
    def spread(self) -> float:
        """Highest over lowest figure."""
        values = [run.measured for run in self.runs]
        return max(values) / min(values)

    @property
    def floor(self) -> float:
        """Least mean absolute error, as a share, of one prediction. It is at one of the figures: the mean is linear between them."""
        values = [run.measured for run in self.runs]
        return min(mean(abs(guess / value - 1) for value in values) for guess in values)


def equal_runs(given: Iterable[MeasuredValue]) -> list[EqualRuns]:
    """Return the sets of equal runs, those of the highest floor first."""
    sets: dict[tuple[str, str], list[MeasuredValue]] = defaultdict(list)
    for run in given:
        step = getattr(run.case, "step", run.case)
        inputs = replace(step, released=0.0) if hasattr(step, "released") else step
        whole = repr(run.case).replace(repr(step), "") if step is not run.case else ""
        sets[run.table, f"{inputs!r}{whole}"].append(run)
    found = [EqualRuns(tuple(runs)) for runs in sets.values() if len(runs) > 1]
    return sorted(found, key=lambda s: (-s.floor, s.runs[0].row_id))


def page(given: Sequence[MeasuredValue] | None = None) -> str:
    """Return the section of docs/accuracy.md. given: default: the scored runs of every model."""
    runs = [run for model in registry() for run in runs_of_model(model)] if given is None else given
    found, names = equal_runs(runs), list(dict.fromkeys(run.table for run in runs if run.table))
    summary, widest = [], []
    for name in names:
        of_table = [s for s in found if s.runs[0].table == name]
        inside = sum(len(s.runs) for s in of_table)
        if not inside:
            continue
        floor = sum(s.floor * len(s.runs) for s in of_table) / inside
        top = ", ".join(f"{100 * s.floor:.0f}" for s in of_table[:SHOWN])
        summary.append((name, str(sum(run.table == name for run in runs)), str(inside), f"{100 * floor:.1f}", top))
        shown = [s for s in of_table[:SHOWN] if s.floor >= LEAST_SHOWN]
        widest += [(name, f"{s.spread:.2f}", f"{100 * s.floor:.1f}", _rows(s), _source(s)) for s in shown]
    return f"{LEGEND}\n\n{table(HEAD, summary)}\n\n{table(SET_HEAD, widest)}\n"


def _rows(s: EqualRuns) -> str:
    ordered = sorted(s.runs, key=lambda run: run.measured)
    shown = ordered if len(ordered) <= SHOWN else [*ordered[:2], *ordered[-2:]]
    return ", ".join(f"{run.row_id} ({run.measured:,.4g})" for run in shown)


def _source(s: EqualRuns) -> str:
    return "; ".join(dict.fromkeys(_sources()[run.csv, run.row_id] for run in s.runs))


@cache
def _sources() -> dict[tuple[str, str], str]:
    return {(r.row.csv, r.row.id): f"{r.row.text('publisher')}, {r.row.text('source')}".replace("|", "/") for r in row_readings()}


if __name__ == "__main__":
    print(page())
