"""The chosen machines without pinned parallelism, searched once more, to show what the pin costs."""

from datetime import date

from rackwright.catalog.read import Catalog
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.calibrated import calibrated
from rackwright.sizing.evaluation.evaluate import GoalLimits, evaluate
from rackwright.sizing.inputs.workload_inputs import workload_inputs
from rackwright.sizing.offers.node_counts import searchable_fleet
from rackwright.sizing.plan import Fit
from rackwright.sizing.search.search import search
from rackwright.sizing.search.target import TargetArrays
from rackwright.sizing.selection.ranking import identity
from rackwright.spec.spec import Spec
from rackwright.spec.workload_parts import Parallelism


def without_pinned_parallelism(spec: Spec, fit: Fit, catalog: Catalog, a: Assumptions, today: date) -> Fit | None:
    """The fit of the same machines without the pinned parallelism; the number of machines of a server follows its traffic.

    None where the workload pins none, and where the machines do not fit without it.
    """
    if getattr(spec.workload, "parallelism", Parallelism()) == Parallelism():
        return None
    chosen = fit.candidate
    workload = spec.workload.model_copy(update={"parallelism": Parallelism()})
    freed = spec.model_copy(update={"workloads": (workload, *spec.workloads[1:])})
    inputs = workload_inputs(freed.workload, a, catalog)
    fleet, goals = searchable_fleet(freed, catalog, a, today), GoalLimits.of(freed, inputs.facts, catalog, a)
    for entry in fleet.entries:
        for nodes, target in entry.counts:
            made = entry.offer.candidate(chosen.nodes if inputs.serves else nodes, chosen.parallelism, chosen.precision)
            if identity(made) != identity(chosen):
                continue
            (outcome,) = search(inputs.job, TargetArrays.of((fleet.targets[target],)), a, calibrated(spec))
            found = evaluate(entry.offer, max(outcome.nodes, 1) if inputs.serves else chosen.nodes, outcome, goals, a)
            return found if isinstance(found, Fit) else None
    return None
