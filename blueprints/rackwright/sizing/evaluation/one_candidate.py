"""The outcome of one candidate, searched once more: a plan keeps memory and speed of the candidates that fit only."""

from datetime import date

from rackwright.catalog.read import Catalog
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.calibrated import calibrated
from rackwright.sizing.evaluation.host_limits import accelerator_job, fed_by_host, served_by_hosts
from rackwright.sizing.inputs.workload_inputs import workload_inputs
from rackwright.sizing.node.host_work import HostWork
from rackwright.sizing.offers.node_counts import searchable_fleet
from rackwright.sizing.plan import Candidate
from rackwright.sizing.search.outcome import Outcome
from rackwright.sizing.search.search import search
from rackwright.sizing.search.target import TargetArrays
from rackwright.sizing.selection.ranking import identity
from rackwright.spec.spec import Spec


def outcome_of(spec: Spec, candidate: Candidate, catalog: Catalog, a: Assumptions, today: date) -> Outcome | None:
    """None where the candidate is not searched: CPU machines, facts that are not published, machines that cannot be ordered."""
    inputs = workload_inputs(spec.workload, a, catalog)
    fleet = searchable_fleet(spec, catalog, a, today)
    for entry in fleet.entries:
        for nodes, target in entry.counts:
            made = entry.offer.candidate(candidate.nodes if inputs.serves else nodes, candidate.parallelism, candidate.precision)
            if identity(made) == identity(candidate):
                work, offer = HostWork.of(spec, inputs.facts, catalog), entry.offer
                job = accelerator_job(inputs.job, work)
                (found,) = search(job, TargetArrays.of((fleet.targets[target],)), a, calibrated(spec))
                served = served_by_hosts(found, inputs.job, offer.machine, offer.accelerator, work, a)
                return fed_by_host(offer, nodes, served, work)[0]
    return None
