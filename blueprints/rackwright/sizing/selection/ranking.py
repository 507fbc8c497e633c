"""Order of fits and rejections. Ties are broken by label, so the order does not depend on the order of the input."""

from collections.abc import Iterable

from rackwright.clouds import profile
from rackwright.sizing.note import NoteKind
from rackwright.sizing.plan import Candidate, Fit, Rejected, SizingPlan
from rackwright.sizing.rejection import Limit
from rackwright.sizing.selection.near_ties import near_ties, tie_order


def ranked(fits: Iterable[Fit], order: dict[tuple, tuple[int, int]], optimize_for: str, vertical_first: bool) -> tuple[Fit, ...]:
    """Fits in order of rank.

    Order: priced before unpriced, met goals before goals overruled by a pin, earlier places and capacity modes, one machine before several
    unless optimize_for is time, then near ties of the best objective (`near_ties`), then the objective. Of equal servers smaller machines
    first: they scale in smaller steps.
    """
    fits = list(fits)
    best_cost = min((f.paid_usd.p50 for f in fits if f.paid_usd), default=1.0) or 1.0
    best_time = min((f.time_s for f in fits), default=1.0) or 1.0

    def placed(f: Fit) -> tuple:
        several = vertical_first and optimize_for != "time" and f.candidate.is_spread
        return (is_unpriced(f), len(f.overruled), order[identity(f.candidate)], several)

    first = min(map(placed, fits), default=None)
    tied = {id(f) for f in near_ties([f for f in fits if placed(f) == first], optimize_for)} if first else set()

    def key(f: Fit) -> tuple:
        cost = f.paid_usd.p50 / best_cost if f.paid_usd else float("inf")
        time = f.time_s / best_time
        score = {"cost": (cost, time), "time": (time, cost), "balanced": (cost * time, cost)}[optimize_for]
        hourly = f.usd_per_hour if f.usd_per_hour is not None else float("inf")
        objective = tuple(round(s, 6) for s in score)
        borrowed = f.candidate.price_region != f.candidate.region  # the price of another place: behind the place that has its own
        equal = (0, *tie_order(f, optimize_for)) if id(f) in tied else (1,)
        step = 0 if vertical_first else f.candidate.devices_per_node  # of two that cost the same, the one that follows traffic closer
        return (*placed(f), equal, objective, hourly, borrowed, step, f.candidate.label)

    return tuple(sorted(fits, key=key))


def is_unpriced(fit: Fit) -> bool:
    """Whether the machines are bought at a price that is not published."""
    return fit.cost_usd is None and not profile(fit.candidate.cloud).is_owned


def identity(c: Candidate) -> tuple:
    """Key that identifies a candidate in a plan; of two equal places the first is kept."""
    return (c.cloud, c.machine, c.topology, c.slices, c.nodes, c.region, c.capacity, c.capacity_id, c.sharing and c.sharing.key)


def by_distance(rejected: Iterable[Rejected]) -> tuple[Rejected, ...]:
    """Nearest first; candidates whose metrics could not be computed come last."""

    def key(r: Rejected) -> tuple:
        return (r.duration_s is None, r.distance, len(r.rejections), r.cost_usd is None, r.cost_usd or 0.0, r.candidate.label)

    return tuple(sorted(rejected, key=key))


def nearest_misses(plan: SizingPlan, n: int = 3) -> tuple[Rejected, ...]:
    """The nearest rejected candidate of each machine, pinned machines first."""
    first: dict[str, Rejected] = {}
    for miss in sorted(plan.rejected, key=lambda miss: not miss.candidate.pinned):
        first.setdefault(miss.candidate.machine + miss.candidate.topology, miss)
    return tuple(first.values())[:n]


def cheapest_without_pin(fits: Iterable[Fit], rejected: Iterable[Rejected]) -> Rejected | None:
    """The cheapest candidate that only a pin rejects; None where no such candidate has a price or a fit that breaks no goal costs no more.

    Neuron machines are considered only where they are pinned, so they are no alternative without the pin.
    """
    free = [r for r in rejected if r.cost_usd is not None and r.rejections and all(x.limit is Limit.PIN for x in r.rejections)]
    best = min(free, key=lambda r: (r.cost_usd or 0.0, r.candidate.label), default=None)
    remains = (f for f in fits if not f.overruled and all(note.kind is not NoteKind.NEURON_UNCALIBRATED for note in f.notes))
    limit_usd = min((f.cost_usd.p50 for f in remains if f.cost_usd), default=float("inf"))
    return best if best and (best.cost_usd or 0.0) < limit_usd else None
