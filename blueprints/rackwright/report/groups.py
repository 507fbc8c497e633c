"""Groups of fits that differ only in their region and are shown as one line."""

from collections.abc import Sequence
from dataclasses import dataclass

from rackwright.sizing.plan import Candidate, Fit, Rejected


@dataclass(frozen=True)
class Group:
    """A group of equal fits. rank: of the first. others: (rank, fit) in other regions, with the same time and cost."""

    rank: int
    fit: Fit
    others: tuple[tuple[int, Fit], ...] = ()

    @property
    def elsewhere(self) -> str:
        """`also #2 us-west-2`, or ""."""
        return "also " + ", ".join(f"#{rank} {region(fit.candidate)}" for rank, fit in self.others) if self.others else ""


def groups(fits: Sequence[Fit]) -> list[Group]:
    """Groups in order of rank."""
    found: dict[tuple, Group] = {}
    for rank, fit in enumerate(fits, 1):
        key = (shape(fit.candidate), fit.candidate.capacity, fit.candidate.capacity_id, fit.cost_usd, fit.duration_s, fit.not_buildable)
        first = found.get(key)
        found[key] = Group(first.rank, first.fit, (*first.others, (rank, fit))) if first else Group(rank, fit)
    return list(found.values())


def region(candidate: Candidate) -> str:
    """The region, and the region of the price where it differs."""
    elsewhere = candidate.price_region and candidate.price_region != candidate.region
    return (candidate.region or "your cluster") + (f" (price of {candidate.price_region})" if elsewhere else "")


def runner_up(fits: Sequence[Fit]) -> tuple[int, Fit] | None:
    """The best alternative: other machines before another region, another region before another capacity mode."""
    if len(fits) < 2:
        return None
    chosen, rest = fits[0].candidate, list(enumerate(fits[1:], 2))
    other = (f for f in rest if (f[1].candidate.machine, f[1].candidate.topology) != (chosen.machine, chosen.topology))
    placed = (f for f in rest if (f[1].candidate.cloud, f[1].candidate.region) != (chosen.cloud, chosen.region))
    return next(other, None) or next(placed, None) or rest[0]


def cheapest(rejected: Sequence[Rejected]) -> Rejected | None:
    """The rejected candidate with the lowest known cost."""
    priced = [r for r in rejected if r.cost_usd]
    return min(priced, key=lambda r: (r.cost_usd or 0.0, len(r.rejections), r.candidate.label), default=None)


def shape(candidate: Candidate) -> tuple:
    return (
        candidate.cloud,
        candidate.machine,
        candidate.topology,
        candidate.slices,
        candidate.nodes,
        str(candidate.parallelism),
        candidate.sharing,
    )
