"""Revalidation of a recorded candidate after the spec was edited."""

from dataclasses import replace
from datetime import date

from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import CapacityMode, Price
from rackwright.sizing.evaluation.whole_bill import WholeBill
from rackwright.sizing.metrics import Interval
from rackwright.sizing.offers.offer import contract_discount
from rackwright.sizing.plan import Candidate, Fit, SizingPlan
from rackwright.sizing.rejection import Limit, Reason, Rejection
from rackwright.sizing.selection.ranking import identity
from rackwright.sizing.selection.shared_pools import joined
from rackwright.sizing.size import size
from rackwright.spec.reading.quotas_file import without_quotas
from rackwright.spec.spec import Spec
from rackwright.spec.workload import Serve


def resize_stack(
    spec: Spec, catalog: Catalog, chosen: Fit, *, today: date, at_recorded_price: bool = True, whole_bill: WholeBill | None = None
) -> SizingPlan | tuple[Rejection, ...]:
    """As `resize`, for the recorded machines of every workload, in the order of the spec; budgets then limit their sum."""
    if not spec.is_several and not chosen.further:
        bought = chosen.candidate
        return resize(spec, catalog, bought, today=today, at_recorded_price=at_recorded_price, whole_bill=whole_bill)
    recorded, names = ([fit.workload for fit in chosen.each_workload], [workload.name for workload in spec.workloads])
    if recorded != names:
        was, now = ", ".join(filter(None, recorded)) or "one workload", ", ".join(names)
        return (Rejection(Limit.PIN, reason=Reason.OTHER_WORKLOADS, subject=was, detail=now),)
    plans: list[SizingPlan] = []
    for index, fit in enumerate(chosen.each_workload):
        found = resize(spec.of_workload(index), catalog, fit.candidate, today=today, at_recorded_price=at_recorded_price)
        if not isinstance(found, SizingPlan):
            return tuple(replace(rejection, workload=names[index]) for rejection in found)
        plans.append(replace(found, fits=(replace(found.fits[0], workload=names[index]),)))
    plans = _in_recorded_pools(plans, chosen)
    first, *further = plans
    fit = replace(first.fits[0], further=tuple(plan.fits[0] for plan in further))
    made = replace(first, fits=(fit,), further=tuple(further))
    return _over_budget(made, spec, whole_bill) or made


def _in_recorded_pools(plans: list[SizingPlan], chosen: Fit) -> list[SizingPlan]:
    """The plans of the workloads, those that shared a pool with their fits joined again. chosen: recorded, in the order of the plans."""
    owners = [fit.pool_owner for fit in chosen.each_workload]
    found = list(plans)
    for owner in {name for name in owners if owners.count(name) > 1}:
        members = [index for index, name in enumerate(owners) if name == owner]
        for index, fit in zip(members, joined([plans[index].fits[0] for index in members]), strict=True):
            found[index] = replace(plans[index], fits=(fit,))
    return found


def _over_budget(plan: SizingPlan, spec: Spec, whole_bill: WholeBill | None) -> tuple[Rejection, ...]:
    bill, budget = whole_bill(plan) if whole_bill else None, spec.goals.max_cost
    if bill is None or budget is None or bill.p50 <= budget or plan.fits[0].candidate.pinned:
        return ()
    detail, machines_usd = "a month", plan.fits[0].stack_usd
    return (Rejection(Limit.BUDGET, bill.p50, budget, "USD", Reason.BUDGET_OF_BILL, detail=detail, amount=machines_usd),)


def resize(
    spec: Spec, catalog: Catalog, chosen: Candidate, *, today: date, at_recorded_price: bool = True, whole_bill: WholeBill | None = None
) -> SizingPlan | tuple[Rejection, ...]:
    """The plan with the recorded machines only, at their recorded price or the catalog's, for the current spec; else the rejections.

    whole_bill: as of `size`, asked for the recorded machines only.
    """

    def bill_of_recorded(candidate: SizingPlan) -> Interval | None:
        return whole_bill(candidate) if whole_bill and same_machines(candidate.fits[0].candidate, chosen, spec) else None

    priced = _at_its_price(catalog, chosen, spec) if at_recorded_price else catalog
    plan = size(without_quotas(spec), priced, today=today, whole_bill=bill_of_recorded)
    fit = next((fit for fit in plan.fits if same_machines(fit.candidate, chosen, spec)), None)
    if fit is not None:
        return replace(plan, fits=(fit,), rejected=())
    missed = next((miss for miss in plan.rejected if same_machines(miss.candidate, chosen, spec)), None)
    if missed is not None:
        return missed.rejections
    place = f"{chosen.cloud} {chosen.region} {chosen.capacity}".strip()
    machines = f"{chosen.nodes} x {chosen.machine}"
    return (Rejection(Limit.PIN, reason=Reason.NOT_IN_SPEC, subject=machines, detail=place),)


def same_machines(one: Candidate, other: Candidate, spec: Spec) -> bool:
    """Whether both are the same machines in any parallel layout. For a server only the kind counts, since its number follows traffic."""
    alike = {"nodes": 0} if isinstance(spec.workload, Serve) else {}
    return identity(replace(one, **alike)) == identity(replace(other, **alike))


def _at_its_price(catalog: Catalog, chosen: Candidate, spec: Spec) -> Catalog:
    if chosen.price_usd_per_hour is None or chosen.capacity not in set(CapacityMode):
        return catalog
    machine = catalog.machine_by_name.get(chosen.machine)
    sku = machine.accelerator if machine and machine.kind == "tpu" and machine.accelerator else chosen.machine
    mode = CapacityMode(chosen.capacity)
    discount = contract_discount(spec, chosen.cloud, mode)
    listed = chosen.price_usd_per_hour / (1 - discount) if discount < 1 else 0.0
    paid = Price(sku, chosen.cloud, chosen.region, mode, listed, "node", "recorded price", chosen.price_source, chosen.price_as_of)
    others = (p for p in catalog.prices if (p.sku, p.capacity, p.region) != (sku, mode, chosen.region))
    return replace(catalog, prices=(*others, paid))
