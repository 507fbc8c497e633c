"""What pinned parallelism costs: the same machines, searched once more without it. A pinned machine is compared in scaling.py."""

from collections.abc import Iterator
from datetime import date

from rackwright.catalog.read import Catalog
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.evaluation.evaluate import GoalLimits, evaluate
from rackwright.sizing.job import ServingJob
from rackwright.sizing.offers.node_counts import fleet
from rackwright.sizing.offers.offer import Offer
from rackwright.sizing.plan import Candidate, Fit
from rackwright.sizing.search.search import search
from rackwright.sizing.search.target import Target, TargetArrays
from rackwright.sizing.selection.ranking import identity
from rackwright.sizing.selection.rationale import against, answer
from rackwright.sizing.workload_inputs import Demand, read_demand
from rackwright.spec.spec import Spec
from rackwright.spec.workload import Parallelism

LEAST = 0.01
"""Of time and of money; what differs by less costs nothing."""


def cost_of_pins(spec: Spec, chosen: Fit | None, catalog: Catalog, a: Assumptions, today: date) -> Iterator[str]:
    """One sentence where the workload pins its parallelism, nothing where it does not."""
    pins = getattr(spec.workload, "parallelism", Parallelism())
    if chosen is None or pins == Parallelism():
        return
    free = _free(spec, chosen.candidate, catalog, a, today)
    if free is None or not _differs(chosen, free):
        yield f"the pinned parallelism, {chosen.candidate.parallelism}, costs nothing on these machines"
        return
    said = f"pinned parallelism, {chosen.candidate.parallelism}: {answer(chosen)}"
    yield f"{said}; left free these machines would take {free.candidate.parallelism}: {answer(free)}, {against(free, chosen)}"


def _differs(chosen: Fit, free: Fit) -> bool:
    paid = free.cost_usd.p50 / chosen.cost_usd.p50 if free.cost_usd and chosen.cost_usd else 1.0
    return free.time_s < (1 - LEAST) * chosen.time_s or paid < 1 - LEAST


def _free(spec: Spec, chosen: Candidate, catalog: Catalog, a: Assumptions, today: date) -> Fit | None:
    """The fit of the chosen machines without the pins; a server's number of machines follows its traffic."""
    workload = spec.workload.model_copy(update={"parallelism": Parallelism()})
    freed = spec.model_copy(update={"workloads": (workload, *spec.workloads[1:])})
    demand = read_demand(freed.workload, a)
    found = next(_asked(freed, chosen, demand, catalog, a, today), None)
    if found is None:
        return None
    offer, target = found
    (outcome,) = search(demand.job, TargetArrays.of((target,)), a)
    judged = evaluate(offer, max(outcome.nodes, 1) if _serves(demand) else chosen.nodes, outcome, GoalLimits.of(freed, a), a)
    return judged if isinstance(judged, Fit) else None


def _asked(spec: Spec, chosen: Candidate, demand: Demand, catalog: Catalog, a: Assumptions, today: date) -> Iterator[tuple[Offer, Target]]:
    machines = fleet(spec, catalog, a, today)
    for one in machines.asked:
        for nodes, target in one.counts:
            made = one.offer.candidate(chosen.nodes if _serves(demand) else nodes, chosen.parallelism, chosen.precision)
            if identity(made) == identity(chosen):
                yield one.offer, machines.targets[target]


def _serves(demand: Demand) -> bool:
    return isinstance(demand.job, ServingJob) and not demand.job.ends
