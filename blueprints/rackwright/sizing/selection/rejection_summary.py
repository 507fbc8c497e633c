"""Rejected candidates grouped by their worst constraint, with the nearest candidate of each group."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rackwright.sizing.plan import Rejected
from rackwright.sizing.rejection import Limit, Rejection

NUMBER = re.compile(r"\d[\d,.]*")


@dataclass(frozen=True)
class RejectionGroup:
    """A group of rejected candidates, each counted once under its worst constraint.

    count: candidates. alone: candidates that fail only this constraint. nearest: the candidate with the smallest distance.
    rejection: its rejection by this constraint. is_pinned: whether the group has a pinned candidate.
    """

    limit: Limit
    count: int
    alone: int
    nearest: Rejected
    rejection: Rejection
    is_pinned: bool = False

    @property
    def distance(self) -> float:
        return self.rejection.distance


def rejection_summary(rejected: Sequence[Rejected]) -> tuple[RejectionGroup, ...]:
    """Groups by distance; those without a distance by count. `rejected` is in the order of the plan."""
    found: dict[tuple[str, ...], list[Rejected]] = {}
    for miss in rejected:
        found.setdefault(_group_key(_deciding(miss)), []).append(miss)
    made = []
    for misses in found.values():
        nearest = min(misses, key=lambda r: (_deciding(r).distance, len(r.rejections)))
        worst, alone = _deciding(nearest), sum(len(r.rejections) == 1 for r in misses)
        made.append(RejectionGroup(worst.limit, len(misses), alone, nearest, worst, any(r.candidate.pinned for r in misses)))
    return tuple(sorted(made, key=lambda c: (c.distance, -c.count, c.limit, c.rejection.reason, c.rejection.subject, c.rejection.detail)))


def _deciding(miss: Rejected) -> Rejection:
    """The pin, where it excludes the candidate; else the worst constraint."""
    return next((r for r in miss.rejections if r.limit is Limit.PIN), miss.rejections[0])


def _group_key(worst: Rejection) -> tuple[str, ...]:
    """Rejections with numbers share a group per constraint; others share one when their names differ in digits only."""
    if worst.need is not None:
        return (worst.limit,)
    return worst.limit, worst.reason, NUMBER.sub("#", worst.subject), NUMBER.sub("#", worst.detail)
