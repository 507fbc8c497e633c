"""What a choice costs: of the measured configurations of one system, how much faster the best is than the one that is predicted best.

    python benchmarks/regret.py        predictions of refits that never saw the group they choose in

A decision set holds the measured runs of one group_key that did the same work: training of one sequence length, offline serving of one
input and output length; at least two configurations. Regret is best measured / chosen measured - 1, in rate per accelerator; runs that
are predicted alike share it. Beside it, what choosing blindly costs: the median run, and the mean over all runs, of each set.
"""

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, median
from typing import Any

import fit
import numpy as np
from rackwright.estimator.calibration.registry import registry
from rackwright.estimator.case import stack_cases
from rackwright.estimator.dataset.runs import MeasuredValue, runs_of_model, scored_runs
from tables import table

ASKED = (
    ("training", "tokens_per_s_per_accel", "training_throughput"),
    ("offline serving", "output_tok_s_per_accel", "inference_throughput"),
)
"""Name, metric and file of what is decided."""
LEGEND = (
    "A set is the measured runs of one group with the same work (one sequence length; offline: one input and output length). The "
    "chosen run is the one with the fastest prediction from fits without the group. Regret is best measured / chosen measured - 1, "
    "in percent, in rate per accelerator. For comparison: the regret of the median run, and the mean over all runs of a set, which "
    'is the regret of a random choice. "Lengths together" compares rates of different work.'
)
MUCH = 0.05
MEAN_TARGET, MUCH_TARGET = 0.04, 0.15
WORST = 8
HEAD = ("decided", "sets", "runs", "mean regret", "target", "above 5 %", "target", "median run instead", "any run instead")
WORST_HEAD = ("set", "work", "runs", "regret", "chosen row", "best row")


@dataclass(frozen=True)
class Choice:
    """Of one decision set. Shares: regret of the predicted best, of the median run, of a run picked by chance."""

    group: str
    work: tuple[float, ...]
    runs: int
    regret: float
    median: float
    chance: float
    chosen: str
    best: str


def work_of(run: MeasuredValue) -> tuple[float, ...]:
    """What runs of a group must share to be ways of doing the same."""
    case = run.case
    return (float(case.input), float(case.output)) if hasattr(case, "kv_element") else (float(case.sequence),)


def choices(given: Iterable[MeasuredValue], predicted: Mapping[str, float], whole_groups: bool = False) -> list[Choice]:
    """One for every decision set, those that regret most first. predicted: by row_id, rate per accelerator; rows it lacks are never
    chosen. whole_groups: sets of all work together, as group_key says literally."""
    sets: dict[tuple, list[MeasuredValue]] = defaultdict(list)
    for run in given:
        sets[(run.group, *(() if whole_groups else (work_of(run),)))].append(run)
    made = [_choice(held, predicted) for held in sets.values() if len(held) > 1]
    return sorted(made, key=lambda c: (-c.regret, c.group, c.work))


def _choice(held: Sequence[MeasuredValue], predicted: Mapping[str, float]) -> Choice:
    said = [predicted.get(run.row_id, 0.0) for run in held]
    alike = [run for run, value in zip(held, said, strict=True) if value >= max(said) * (1 - 1e-9)]
    best = max(held, key=lambda run: run.measured)
    lost = {run.row_id: best.measured / run.measured - 1 for run in held}
    return Choice(
        held[0].group, work_of(held[0]), len(held), mean(lost[run.row_id] for run in alike), median(lost.values()), mean(lost.values()),
        alike[0].row_id, best.row_id,
    )  # fmt: skip


def unseen(metric: str, csv: str) -> dict[str, float]:
    """By row_id: predictions of refits that left the row's group out."""
    found: dict[str, float] = {}
    for model in registry():
        if model.metric == metric and csv in model.csv:
            for fold in fit.folds(model, [run for run in runs_of_model(model) if run.csv == csv], "group"):
                found.update(_values(model, fold))
    return found


def _values(model: Any, fold: fit.Fold) -> Iterator[tuple[str, float]]:
    with np.errstate(all="ignore"):
        values = np.broadcast_to(model.predict(stack_cases([run.case for run in fold.held]), fold.coefficients), len(fold.held))
    yield from zip((run.row_id for run in fold.held), map(float, values), strict=True)


def tables(predicted: Mapping[str, float] | None = None) -> str:
    """Markdown. predicted: out-of-fold rates by row_id, worked out here when left out."""
    rows, worst = [], []
    for name, metric, csv in ASKED:
        given = [run for run in scored_runs(metric) if run.csv == csv and not _online(run)]
        rates = predicted or unseen(metric, csv)
        same_work = choices(given, rates)
        rows += [_row(name, same_work), _row(f"{name}, all lengths of a group together", choices(given, rates, whole_groups=True))]
        worst += [_worst(choice) for choice in same_work[:WORST]]
    return f"{table(HEAD, rows)}\n\nSets that regret most.\n\n{table(WORST_HEAD, worst)}\n"


def _online(run: MeasuredValue) -> bool:
    """A server under a given load; there is no rate to choose by."""
    return run.csv.startswith("inference") and not np.isinf(run.case.concurrency)


def _row(name: str, made: Sequence[Choice]) -> tuple[str, ...]:
    much = mean(c.regret > MUCH for c in made)
    shares = (mean(c.regret for c in made), MEAN_TARGET, much, MUCH_TARGET, mean(c.median for c in made), mean(c.chance for c in made))
    return (name, str(len(made)), str(sum(c.runs for c in made)), *(f"{100 * share:.1f}" for share in shares))


def _worst(c: Choice) -> tuple[str, ...]:
    work = " + ".join(f"{tokens:g}" for tokens in c.work)
    return (c.group, work, str(c.runs), f"{100 * c.regret:.1f}", c.chosen, c.best)


if __name__ == "__main__":
    print(tables())
    sys.exit(0)
