"""The best combinations of one option per workload under limits that all workloads share."""

from bisect import insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from rackwright.sizing.plan import Fit

Rank = tuple[float, ...]


@dataclass(frozen=True)
class Option:
    """One way to run one workload. rank: terms that add up over the workloads, most important first. uses: amount by shared limit."""

    fit: Fit
    rank: Rank
    uses: Mapping[str, float] = field(default_factory=dict)


Combination = tuple[Option, ...]


def best_combinations(options: Sequence[Sequence[Option]], limits: Mapping[str, float], count: int) -> list[Combination]:
    """The first `count` combinations by the sum of their ranks, of those that keep every limit, in order of rank.

    options: per workload. limits: by name; names that are not listed have none. The search is exact: an option is left out only where even
    the best options of the remaining workloads rank behind what was found, or exceed a limit.
    """
    ordered = [sorted(each, key=attrgetter("rank")) for each in options]
    if not all(ordered):
        return []
    search = _Search(ordered, count)
    search.extend((), _zero(ordered), dict(limits))
    return [combination for _, combination in search.found]


class _Search:
    def __init__(self, ordered: list[list[Option]], count: int):
        self.ordered, self.count = ordered, count
        self.found: list[tuple[Rank, Combination]] = []
        self.best: list[Rank] = [_zero(ordered)]
        """Sum of the best ranks of the last workloads: of none, of one, and so on."""
        for each in reversed(ordered):
            self.best.append(_sum(self.best[-1], each[0].rank))

    def extend(self, chosen: Combination, rank: Rank, left: dict[str, float]) -> None:
        """Adds the combinations that begin with `chosen`. left: what remains of each limit."""
        if len(chosen) == len(self.ordered):
            insort(self.found, (rank, chosen), key=lambda entry: entry[0])
            del self.found[self.count :]
            return
        rest = self.best[len(self.ordered) - len(chosen) - 1]
        for option in self.ordered[len(chosen)]:
            total = _sum(rank, option.rank)
            if len(self.found) == self.count and _sum(total, rest) >= self.found[-1][0]:
                return
            remains = {name: amount - option.uses.get(name, 0.0) for name, amount in left.items()}
            if all(amount >= 0 for amount in remains.values()) and share_a_zone((*chosen, option)):
                self.extend((*chosen, option), total, remains)


def _zero(ordered: list[list[Option]]) -> Rank:
    return (0.0,) * len(ordered[0][0].rank)


def _sum(one: Rank, other: Rank) -> Rank:
    return tuple(a + b for a, b in zip(one, other, strict=True))


def share_a_zone(combination: Combination) -> bool:
    """Whether some zone offers every machine; a machine without known zones is assumed to be everywhere."""
    known = [{*option.fit.candidate.zones} for option in combination if option.fit.candidate.zones]
    return not known or bool(set.intersection(*known))
