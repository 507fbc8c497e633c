"""The chosen machines without pinned parallelism, searched once more, to show what the pin costs."""

from collections.abc import Iterator
from datetime import date

from rackwright.catalog.read import Catalog
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.evaluation.evaluate import GoalLimits, evaluate
from rackwright.sizing.job import ServingJob
from rackwright.sizing.offers.node_counts import searchable_fleet
from rackwright.sizing.offers.offer import Offer
from rackwright.sizing.plan import Candidate, Fit
from rackwright.sizing.search.search import search
from rackwright.sizing.search.target import Target, TargetArrays
from rackwright.sizing.selection.ranking import identity
from rackwright.sizing.workload_inputs import WorkloadInputs, workload_inputs
from rackwright.spec.spec import Spec
from rackwright.spec.workload import Parallelism


def without_pinned_parallelism(spec: Spec, fit: Fit, catalog: Catalog, a: Assumptions, today: date) -> Fit | None:
    """The fit of the same machines without the pinned parallelism; the number of machines of a server follows its traffic.

    None where the workload pins none, and where the machines do not fit without it.
    """
    if getattr(spec.workload, "parallelism", Parallelism()) == Parallelism():
        return None
    chosen = fit.candidate
    workload = spec.workload.model_copy(update={"parallelism": Parallelism()})
    freed = spec.model_copy(update={"workloads": (workload, *spec.workloads[1:])})
    inputs = workload_inputs(freed.workload, a)
    found = next(_same_machines(freed, chosen, inputs, catalog, a, today), None)
    if found is None:
        return None
    offer, target = found
    (outcome,) = search(inputs.job, TargetArrays.of((target,)), a)
    judged = evaluate(offer, max(outcome.nodes, 1) if _serves(inputs) else chosen.nodes, outcome, GoalLimits.of(freed, a), a)
    return judged if isinstance(judged, Fit) else None


def _same_machines(
    spec: Spec, chosen: Candidate, inputs: WorkloadInputs, catalog: Catalog, a: Assumptions, today: date
) -> Iterator[tuple[Offer, Target]]:
    fleet = searchable_fleet(spec, catalog, a, today)
    for entry in fleet.entries:
        for nodes, target in entry.counts:
            made = entry.offer.candidate(chosen.nodes if _serves(inputs) else nodes, chosen.parallelism, chosen.precision)
            if identity(made) == identity(chosen):
                yield entry.offer, fleet.targets[target]


def _serves(inputs: WorkloadInputs) -> bool:
    return isinstance(inputs.job, ServingJob) and not inputs.job.ends
