"""Sizing of several serving workloads: a pool for each in one cluster, or one that several share, chosen together under one budget, quota
and accelerator limit."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat

from rackwright.catalog.query import quota_amount, quota_code
from rackwright.catalog.read import Catalog
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.evaluation.accelerator_notes import scaled_beyond_limit
from rackwright.sizing.evaluation.whole_bill import PRICED_FITS, WholeBill
from rackwright.sizing.node.node_requirements import with_node_requirements
from rackwright.sizing.note import Note, NoteKind
from rackwright.sizing.plan import Candidate, Fit, Rejected, SizingPlan
from rackwright.sizing.rejection import Limit, Reason, Rejection
from rackwright.sizing.selection.combinations import Combination, Option, Rank, best_combinations, share_a_zone
from rackwright.sizing.selection.near_ties import tie_order_of_all, tolerance_of_all
from rackwright.sizing.selection.ranking import identity
from rackwright.sizing.selection.shared_pools import shared_pools
from rackwright.spec.reading.quotas_file import known_quotas
from rackwright.spec.spec import Spec

Order = Callable[[SizingPlan], tuple[Fit, ...]]
"""Plan -> its fits in another order of rank."""
SHOWN_REJECTIONS = 3
"""Rejected combinations of a plan in which none fits: the best of each place, nearest first."""
OBJECTIVE = 4
"""Index of the objective in a rank, after broken goals, missing prices, and the order of places and capacity modes."""
USD, ACCELERATORS = "USD a month", "accelerators"
"""Names of the limits beside quotas, which have their codes."""


def size_together(
    spec: Spec, catalog: Catalog, a: Assumptions, alone: Iterable[SizingPlan], rerank: Order | None, whole_bill: WholeBill | None
) -> SizingPlan:
    """The plan of a spec with several workloads: `fits` are combinations in one place, those of the further workloads in `Fit.further`.

    alone: plans of the workloads, each as if it had the stack for itself; budget, quotas and accelerators then limit the sum. The others
    as of `size`.
    """
    names = [workload.name for workload in spec.workloads]
    plans = [replace(p, fits=tuple(replace(f, workload=name) for f in p.fits)) for name, p in zip(names, alone, strict=True)]
    choice = _Choice(spec, catalog, plans)
    base = replace(
        plans[0], fits=(), rejected=(), near_tie=None, unpinned=None, further=tuple(replace(p, fits=(), rejected=()) for p in plans[1:])
    )
    base = replace(base, considered=sum(p.considered for p in plans), machine=None)
    if missing := [p for p in plans if not p.fits]:
        return replace(
            base,
            rejected=tuple(map(_named, missing[0].rejected, repeat(missing[0].facts.name))),
            notes=tuple(Note(NoteKind.FITS_NOWHERE, {"workload": p.facts.name}) for p in missing),
        )
    fits, over = _within_budget(base, choice, rerank, whole_bill)
    if not fits:
        rejected = _nearest((*over, *choice.unaffordable(base, whole_bill))) or _nearest(choice.rejected())
        return replace(base, rejected=rejected, notes=(*base.notes, *choice.separate_notes(whole_bill)))
    most = sum(fit.candidate.max_nodes * fit.candidate.accelerators_per_node for fit in fits[0].each_pool)
    base = replace(base, near_tie=choice.near_tie(fits))
    notes = (*base.notes, *choice.differences(fits[0], over), *scaled_beyond_limit(most, spec.limits.accelerators))
    made = replace(base, fits=fits, rejected=_nearest(over), notes=notes).with_first(fits[0])
    each = [with_node_requirements(p, spec.of_workload(i), catalog, a) for i, p in enumerate(made.each_workload)]
    return replace(each[0], fits=fits, further=tuple(each[1:]), near_tie=base.near_tie)


def _within_budget(
    base: SizingPlan, choice: "_Choice", rerank: Order | None, whole_bill: WholeBill | None
) -> tuple[tuple[Fit, ...], list[Rejected]]:
    """Combinations whose whole bill is within the budget, by rank, and those whose bill is not.

    The search compares machines only. Where all that it finds exceed the budget with network and cluster, it repeats with what these leave.
    """
    total = budget = choice.budget_usd
    over: list[Rejected] = []
    while True:
        combined = [_combined(combination) for _, combination in choice.combinations(budget)]
        fits = rerank(replace(base, fits=tuple(combined))) if rerank and combined else tuple(combined)
        if total is None or whole_bill is None or not fits:
            return fits, over
        bills = {fit: bill for fit in fits if (bill := whole_bill(replace(base, fits=(fit,)).with_first(fit)))}
        exceeding = [_over_budget(fit, bill.p50, total) for fit, bill in bills.items() if bill.p50 > total]
        over += exceeding
        if len(exceeding) < len(fits):
            return tuple(fit for fit in fits if fit not in bills or bills[fit].p50 <= total), over
        rest_usd = min(bill.p50 - (fit.stack_usd or 0.0) for fit, bill in bills.items())
        if budget is None or total - rest_usd >= budget:
            return (), over
        budget = total - rest_usd


def _combined(combination: Combination) -> Fit:
    first, *further = (option.fit for option in combination)
    return replace(first, further=tuple(further))


def _over_budget(fit: Fit, bill_usd: float, budget_usd: float) -> Rejected:
    over = Rejection(Limit.BUDGET, bill_usd, budget_usd, "USD", Reason.BUDGET_OF_BILL, detail="a month", amount=fit.stack_usd)
    return _rejected((fit.candidate, *(each.candidate for each in fit.further)), (over,), fit.stack_usd)


def _rejected(candidates: tuple[Candidate, ...], rejections: Iterable[Rejection], usd: float | None) -> Rejected:
    return Rejected(candidates[0], tuple(rejections), usd, further=candidates[1:])


def _nearest(rejected: Iterable[Rejected]) -> tuple[Rejected, ...]:
    return tuple(sorted(rejected, key=lambda miss: (miss.distance, miss.cost_usd or float("inf")))[:SHOWN_REJECTIONS])


def _named(miss: Rejected, workload: str) -> Rejected:
    """The rejected candidate of one workload, with its name."""
    return replace(miss, rejections=tuple(replace(rejection, workload=workload) for rejection in miss.rejections))


def _cost_alone(plan: SizingPlan) -> Note:
    best = plan.fits[0]
    usd = best.cost_usd.p50 if best.cost_usd else 0.0
    return Note(NoteKind.COST_ALONE, {"workload": plan.facts.name, "alone": best.candidate.label, "usd": usd})


@dataclass(frozen=True)
class _Choice:
    """The choice of one fit per workload. plans: of each workload alone, with every fit."""

    spec: Spec
    catalog: Catalog
    plans: list[SizingPlan]

    @property
    def budget_usd(self) -> float | None:
        """Budget of the whole bill; None without one, and for pinned machines, which overrule it."""
        pinned = any(place.pin for place in self.spec.infra.places)
        return None if pinned else self.spec.goals.max_cost

    def combinations(self, budget_usd: float | None) -> list[tuple[Rank, Combination]]:
        """The first combinations by rank, of every place, that keep every limit."""
        found = []
        for place, region in self._places():
            limits = self._limits(place, region) | ({} if budget_usd is None else {USD: budget_usd})
            for options in self._choices(place, region):
                for combination in best_combinations(options, limits, PRICED_FITS):
                    ranks = zip(*(option.rank for option in combination), strict=True)
                    found.append((tuple(sum(terms, 0.0) for terms in ranks), combination))
        return self._near_ties_first(sorted(found, key=lambda entry: entry[0])[:PRICED_FITS])

    def near_tie(self, fits: Sequence[Fit]) -> Fit | None:
        """The combination with a better objective than the chosen one, by less than the uncertainty; None without one."""
        ranked = [(self._total(fit), fit) for fit in fits if not fit.not_buildable]
        best = min(ranked, key=lambda entry: entry[0], default=None)
        is_better = best and best[1] is not fits[0] and best[0][:OBJECTIVE] == self._total(fits[0])[:OBJECTIVE]
        return best[1] if best and is_better and self._total(fits[0])[OBJECTIVE] > best[0][OBJECTIVE] else None

    def _near_ties_first(self, ranked: list[tuple[Rank, Combination]]) -> list[tuple[Rank, Combination]]:
        """The combinations by rank; those equal to the best one within the uncertainty come first, in the order of `tie_order_of_all`."""
        if not ranked:
            return ranked
        (best, first), order = ranked[0], self.spec.goals.optimize_for
        limit = best[OBJECTIVE] * (1 + tolerance_of_all([option.fit for option in first], order))
        tied = [entry for entry in ranked if entry[0][:OBJECTIVE] == best[:OBJECTIVE] and entry[0][OBJECTIVE] <= limit]
        rest = [entry for entry in ranked if entry not in tied]
        return sorted(tied, key=lambda entry: tie_order_of_all([option.fit for option in entry[1]], order)) + rest

    def _total(self, fit: Fit) -> Rank:
        ranks = (self._rank(i, each, 0) for i, each in enumerate(fit.each_workload))
        return tuple(sum(terms, 0.0) for terms in zip(*ranks, strict=True))

    def rejected(self) -> Iterator[Rejected]:
        """The best combination of each place without limits, with what it exceeds; the separate choices without such a place."""
        here = (options for place, region in self._places() for options in self._choices(place, region))
        found = [combination for options in here for combination in best_combinations(options, {}, 1)]
        yield from map(self._exceeding, found)
        if not found:
            best = tuple(plan.fits[0].candidate for plan in self.plans)
            yield _rejected(best, (Rejection(Limit.CAPACITY, reason=Reason.NO_COMMON_PLACE),), None)

    def unaffordable(self, base: SizingPlan, whole_bill: WholeBill | None) -> Iterator[Rejected]:
        """The cheapest combinations that only the budget rejects, each with its whole bill."""
        total = self.budget_usd
        if total is None or whole_bill is None:
            return
        goals = self.spec.goals.model_copy(update={"optimize_for": "cost"})
        cheapest = replace(self, spec=self.spec.model_copy(update={"goals": goals}))
        for fit in (_combined(combination) for _, combination in cheapest.combinations(None)):
            bill = whole_bill(replace(base, fits=(fit,)).with_first(fit))
            if bill and bill.p50 > total:
                yield _over_budget(fit, bill.p50, total)

    def differences(self, chosen: Fit, over: Iterable[Rejected]) -> Iterator[Note]:
        """A note per workload that would run on other machines alone: the separate choices share no zone or exceed limits together.

        over: combinations whose whole bill exceeds the budget.
        """
        separate = tuple(self._option(i, plan.fits[0], 0) for i, plan in enumerate(self.plans))
        is_apart = len({(o.fit.candidate.place, o.fit.candidate.region) for o in separate}) > 1 or not share_a_zone(separate)
        limits = () if is_apart else self._limits_of_separate(separate, over)
        for plan, option, fit in zip(self.plans, separate, chosen.each_workload, strict=True):
            name, best = plan.facts.name, option.fit.candidate
            if identity(best) == identity(fit.candidate):
                continue
            if is_apart:
                yield Note(NoteKind.OTHER_PLACES_ALONE, {"workload": name, "alone": best.label, "region": best.region})
            elif limits:
                yield Note(NoteKind.OTHER_MACHINES_ALONE, {"workload": name, "alone": best.label, "limits": limits})
            else:
                yield _cost_alone(plan)

    def separate_notes(self, whole_bill: WholeBill | None) -> Iterator[Note]:
        """What each workload alone would cost, where no combination fits, and whether its whole bill is within the budget."""
        for plan in self.plans:
            best, values = plan.fits[0], {"workload": plan.facts.name, "alone": plan.fits[0].candidate.label}
            bill = whole_bill(replace(plan, fits=(replace(best, workload=""),))) if whole_bill and self.budget_usd is not None else None
            if bill is None or self.budget_usd is None:
                yield Note(NoteKind.COST_ALONE, values | {"usd": best.cost_usd.p50 if best.cost_usd else 0.0})
            else:
                kind = NoteKind.BILL_ALONE_FITS if bill.p50 <= self.budget_usd else NoteKind.BILL_ALONE_EXCEEDS
                yield Note(kind, values | {"bill_usd": bill.p50, "budget_usd": self.budget_usd})

    def _limits_of_separate(self, separate: Combination, over: Iterable[Rejected]) -> tuple[Limit, ...]:
        """Limits that the separate choices exceed together; the budget also where only their whole bill exceeds it."""
        found = [rejection.limit for rejection in self._exceeded(separate)]
        candidates = [option.fit.candidate for option in separate]
        if any([identity(c) for c in (miss.candidate, *miss.further)] == [identity(c) for c in candidates] for miss in over):
            found.append(Limit.BUDGET)
        return tuple(dict.fromkeys(found))

    def _exceeding(self, combination: Combination) -> Rejected:
        """The combination with every limit that it exceeds."""
        fit, exceeded = _combined(combination), self._exceeded(combination)
        return _rejected(tuple(each.candidate for each in fit.each_workload), exceeded, fit.stack_usd)

    def _exceeded(self, combination: Combination) -> list[Rejection]:
        first = combination[0].fit.candidate
        limits = self._limits(first.place, first.region) | ({} if self.budget_usd is None else {USD: self.budget_usd})
        uses = {name: sum(option.uses.get(name, 0.0) for option in combination) for name in limits}
        return [_limit_rejection(name, uses[name], have) for name, have in limits.items() if uses[name] > have]

    def _places(self) -> list[tuple[int, str]]:
        """Entry of infra and region of every place where each workload fits."""
        places = [{(f.candidate.place, f.candidate.region) for f in plan.fits} for plan in self.plans]
        return sorted(set.intersection(*places))

    def _limits(self, place: int, region: str) -> dict[str, float]:
        most = self.spec.limits.accelerators
        return {**known_quotas(self.spec, place, region), **({} if most is None else {ACCELERATORS: float(most)})}

    def _options(self, place: int, region: str) -> list[list[Option]]:
        here = (place, region)
        return [
            [self._option(i, f, rank) for rank, f in enumerate(plan.fits) if (f.candidate.place, f.candidate.region) == here]
            for i, plan in enumerate(self.plans)
        ]

    def _choices(self, place: int, region: str) -> Iterator[list[list[Option]]]:
        """The options of each workload on its own pool; then, for every pool that several can share, with the one option of those."""
        alone = self._options(place, region)
        yield alone
        for pool in shared_pools([[option.fit for option in options] for options in alone]):
            yield [[self._option(i, pool[i], 0)] if i in pool else options for i, options in enumerate(alone)]

    def _option(self, index: int, fit: Fit, rank: int) -> Option:
        """A fit with what it uses. Machines that several workloads share count for the first of them."""
        c, is_owner = fit.candidate, fit.pool_owner == fit.workload
        machine = self.catalog.machine(c.machine)
        uses = {ACCELERATORS: float(c.accelerators) * is_owner, USD: fit.paid_usd.p50 if fit.paid_usd else 0.0}
        if code := quota_code(machine, c.capacity):
            uses[code] = float(quota_amount(machine)[0] * c.max_nodes) * is_owner
        return Option(fit, self._rank(index, fit, rank), uses)

    def _rank(self, index: int, fit: Fit, rank: int) -> Rank:
        """Broken goals, missing prices, order of places and capacity modes, the objective, then the rank of the workload alone.

        cost: US dollars. time: relative to the workload's fastest fit. balanced: both, each relative to its best, added.
        """
        c, fits = fit.candidate, self.plans[index].fits
        best_s = min(each.time_s for each in fits) or 1.0
        usd, time = fit.paid_usd.p50 if fit.paid_usd else 0.0, fit.time_s / best_s
        best_usd = sum(min((f.paid_usd.p50 for f in p.fits if f.paid_usd), default=1.0) for p in self.plans) or 1.0
        objective = {"cost": (usd, time), "time": (time, usd), "balanced": (usd / best_usd + time / len(self.plans), usd)}
        order = self.spec.infra.places[c.place].capacity.ordered
        mode = next((i for i, entry in enumerate(order) if entry == c.capacity), 0)
        placed = (len(fit.overruled), fit.paid_usd is None, c.place if self.spec.infra.ordered else 0, mode)
        return (*map(float, placed), *objective[self.spec.goals.optimize_for], float(rank))


def _limit_rejection(name: str, need: float, have: float) -> Rejection:
    if name == USD:
        return Rejection(Limit.BUDGET, need, have, "USD", Reason.BUDGET_OF_MONTH, detail="a month")
    if name == ACCELERATORS:
        return Rejection(Limit.ORGANISATION, need, have, ACCELERATORS, Reason.ACCELERATOR_LIMIT)
    return Rejection(Limit.QUOTA, need, have, "vCPU", Reason.VCPU_QUOTA, name)
