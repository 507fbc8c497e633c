"""Workloads whose replicas share the divided accelerators of one pool: its machines, and each workload's part of their cost."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from rackwright.sizing.plan import Candidate, Fit

FEWEST = 2
"""Workloads that share a pool, at least."""


def joined(fits: Sequence[Fit]) -> tuple[Fit, ...]:
    """The fits of workloads on the same divided machine, as one pool that has room for the replicas of all.

    Each has the part of the cost that its replicas have of all replicas. The latency of each is that of busy neighbours, so it stays.
    """
    first, names = fits[0].candidate, tuple(fit.workload for fit in fits)
    assert first.sharing is not None
    replicas, per_node = sum(fit.candidate.replicas for fit in fits), first.devices_per_node
    nodes, most = (math.ceil(count / per_node) for count in (replicas, sum(fit.candidate.max_replicas for fit in fits)))
    sharing = replace(first.sharing, workloads=names, max_nodes=most)
    return tuple(_part(fit, replace(fit.candidate, nodes=nodes, sharing=sharing), replicas) for fit in fits)


def _part(fit: Fit, candidate: Candidate, replicas: int) -> Fit:
    share = fit.candidate.replicas / replicas * candidate.nodes / fit.candidate.nodes
    return replace(
        fit, candidate=candidate, cost_usd=fit.cost_usd and fit.cost_usd.times(share),
        usd_per_hour=None if fit.usd_per_hour is None else fit.usd_per_hour * share,
    )  # fmt: skip


def shared_pools(fits: Sequence[Sequence[Fit]]) -> Iterator[dict[int, Fit]]:
    """Every pool that several workloads can share: index of the workload -> its fit there. fits: of each workload, in one place."""
    by_machine: dict[tuple, dict[int, Fit]] = {}
    for index, found in enumerate(fits):
        for fit in (each for each in found if each.candidate.sharing):
            c = fit.candidate
            by_machine.setdefault((c.machine, c.capacity, c.capacity_id, c.sharing and c.sharing.key), {}).setdefault(index, fit)
    for together in by_machine.values():
        for count in range(FEWEST, len(together) + 1):
            for some in combinations(sorted(together), count):
                yield dict(zip(some, joined([together[index] for index in some]), strict=True))
