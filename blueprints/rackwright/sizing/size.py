"""From spec and catalog to a SizingPlan: the one public function of this room."""

import gc
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date

from rackwright.catalog.read import Catalog
from rackwright.estimator.calibration.coefficients import calibration
from rackwright.sizing.assumptions import DEFAULT, Assumptions
from rackwright.sizing.evaluation import checkpoints
from rackwright.sizing.evaluation.evaluate import GoalLimits, evaluate
from rackwright.sizing.evaluation.pin_cost import cost_of_pins
from rackwright.sizing.job import ServingJob, TrainingJob
from rackwright.sizing.metrics import Limit, Rejection
from rackwright.sizing.node.node_requirements import dataset_read_bytes_per_s, with_machine
from rackwright.sizing.offers.node_counts import UNASKABLE, fleet, pinned_nodes
from rackwright.sizing.offers.offer import Offer
from rackwright.sizing.plan import Assumption, Fit, Rejected, SizingPlan, StorageNeed, WorkloadFacts
from rackwright.sizing.search import cpu_only, cpu_roofline
from rackwright.sizing.search.outcome import Outcome
from rackwright.sizing.search.search import search
from rackwright.sizing.selection.ranking import by_distance, identity, ranked
from rackwright.sizing.selection.rationale import rationale
from rackwright.sizing.workload_inputs import Demand, read_demand
from rackwright.spec.spec import Spec
from rackwright.spec.workload import TRAINING, Serve


@contextmanager
def _collector_at_rest() -> Generator[None]:
    """A search makes thousands of objects, keeps them, and has no cycles among them: looking for some takes a tenth of its time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@_collector_at_rest()
def size(spec: Spec, catalog: Catalog | None = None, *, today: date | None = None, assumptions: Assumptions = DEFAULT) -> SizingPlan:
    """Every way to run the first workload of the spec, ranked, and every way that does not do, with its reasons.

    Never fails for a valid spec: when nothing fits, `fits` is empty. Raises UserError when the model is unknown.
    today: the date a capacity block is looked at; the real one when left out.
    """
    catalog, a, today = catalog or Catalog.default(), assumptions, today or date.today()
    demand = read_demand(spec.workload, a)
    goals = GoalLimits.of(spec, a)
    fits: dict[tuple, Fit] = {}
    rejected: dict[tuple, Rejected] = {}
    order: dict[tuple, tuple[int, int]] = {}
    points = 0
    for offer, looked_at, answer in _answers(spec, catalog, demand, goals, a, today):
        points += looked_at
        key = identity(answer.candidate)
        order.setdefault(key, offer.rank)
        if isinstance(answer, Fit):
            fits.setdefault(key, answer)
        else:
            rejected.setdefault(key, answer)
    serves = isinstance(demand.job, ServingJob) and not demand.job.ends
    scope = "serving" if isinstance(demand.job, ServingJob) else "training"
    best = ranked(fits.values(), order, spec.goals.optimize_for, vertical_first=not serves)
    misses = by_distance(r for k, r in rejected.items() if k not in fits)
    facts, need = _storage(demand, best, goals, spec, a)
    made = SizingPlan(
        spec=spec.name,
        facts=facts,
        fits=best,
        rejected=misses,
        assumptions=(*demand.assumed, *_calibration(best), *a.listed(scope)),
        catalog_digest=catalog.digest,
        scaling=rationale(best, misses, serves, spec.goals.optimize_for),
        storage=need,
        warnings=(*demand.warnings, *_warnings(spec, best, misses, a), *cost_of_pins(spec, next(iter(best), None), catalog, a, today)),
        considered=points,
    )
    return with_machine(made, spec, catalog, a)


def _answers(
    spec: Spec, catalog: Catalog, demand: Demand, goals: GoalLimits, a: Assumptions, today: date
) -> Iterator[tuple[Offer, int, Fit | Rejected]]:
    """Every candidate judged, with the number of layouts looked at; larger counts of a machine are left out once they cannot help."""
    asked = fleet(spec, catalog, a, today)
    found = search(demand.job, asked.machines, a) if asked.targets else []
    for one in asked.asked:
        offer, dearest = one.offer, 0.0
        for nodes, target in one.counts or ((offer.nodes or 1, -1),):
            nodes, outcome = (nodes, _alone(offer, demand, a)) if target < 0 else _deployed(offer, nodes, found[target], spec, demand)
            answer = evaluate(offer, nodes, outcome, goals, a)
            yield offer, outcome.points, answer
            if isinstance(answer, Fit):
                dearest = max(dearest, answer.cost_usd.p50 if answer.cost_usd else 0.0)
            elif _hopeless(answer, dearest):
                break
            else:
                dearest = max(dearest, answer.cost_usd or 0.0)


def _alone(offer: Offer, demand: Demand, a: Assumptions) -> Outcome:
    """What needs no search: nothing can be said of a machine, or it has processors only."""
    m, core = offer.machine, cpu_roofline.CORES.get(offer.machine.family)
    if m.kind != "cpu" or core is None or not (m.vcpus and m.memory_bytes) or any(r.limit in UNASKABLE for r in offer.rejections):
        return Outcome()
    return cpu_only.answer(demand.job, cpu_only.CpuMachine(core, m.vcpus, m.memory_bytes), a)


def _deployed(offer: Offer, nodes: int, found: Outcome, spec: Spec, demand: Demand) -> tuple[int, Outcome]:
    """Machines to buy: those asked about, for a server those its replicas need, or those pinned."""
    if not isinstance(demand.job, ServingJob) or demand.job.ends:
        return nodes, found
    pinned, need = pinned_nodes(offer, spec), max(found.nodes, 1)
    if pinned is not None and need > pinned:
        short = Rejection(Limit.THROUGHPUT, need, pinned, "machines", "the pin's nodes", f"nodes: {need}")
        found = replace(found, rejections=(*found.rejections, short))
    return pinned or need, found


COUNTLESS = {Limit.ORGANISATION, Limit.PRECISION}
"""What no further machine changes: over the organisation's count already, no arithmetic for the format."""


def _hopeless(miss: Rejected, dearest_usd: float) -> bool:
    """Whether more of the same machines cannot help: COUNTLESS, more machines than sequences, or too dear although memory suffices and
    the count before was no dearer; larger counts only add traffic."""
    limits = {r.limit for r in miss.rejections}
    if Limit.BUDGET in limits and Limit.DEVICE_MEMORY not in limits and 0 < dearest_usd <= (miss.cost_usd or 0.0):
        return True
    return not limits.isdisjoint(COUNTLESS) or any(r.limit is Limit.GEOMETRY and r.need for r in miss.rejections)


def _calibration(fits: tuple[Fit, ...]) -> Iterator[Assumption]:
    """The fit that the chosen candidate's time rests on."""
    if fits:
        yield Assumption("calibration", calibration().version, fits[0].evidence, "fit of published runs, data/measured of the estimator")


def _storage(demand: Demand, fits: tuple[Fit, ...], goals: GoalLimits, spec: Spec, a: Assumptions) -> tuple[WorkloadFacts, StorageNeed]:
    """Checkpoint plan and file-system need of the chosen fit."""
    facts, chosen = demand.facts, fits[0] if fits else None
    if not isinstance(demand.job, TrainingJob):
        return facts, StorageNeed(facts.weights_bytes, 0.0, "weights, read once per replica")
    count, nodes = (chosen.candidate.accelerators, chosen.candidate.nodes) if chosen else (1, 1)
    between = checkpoints.time_between_failures_s(count, nodes, bool(chosen and chosen.candidate.capacity == "spot"), a)
    plan = checkpoints.plan_checkpoints(facts.checkpoint_bytes, between, goals.checkpoint_interval_s, a)
    w = spec.workload
    read = dataset_read_bytes_per_s(facts, chosen.speed, w, a) if chosen and isinstance(w, TRAINING) else None
    keep = w.checkpoint.keep if isinstance(w, TRAINING) else 1
    reason = f"{keep} checkpoints of {plan.bytes / 1e9:,.1f} GB and one being written in {plan.write_s:.0f} s, dataset, weights"
    capacity = checkpoints.capacity_bytes(plan.bytes, keep, facts.dataset_bytes, facts.weights_bytes)
    return replace(facts, checkpoint_interval_s=plan.interval_s), StorageNeed(
        capacity, max(plan.throughput_bytes_per_s, read or 0.0), reason
    )


def _warnings(spec: Spec, fits: tuple[Fit, ...], rejected: tuple[Rejected, ...], a: Assumptions) -> Iterator[str]:
    chosen = fits[0] if fits else None
    if chosen and chosen.candidate.topology and spec.blueprint.kind == "auto":
        yield "the first choice is a TPU: the trainer must run on JAX or PyTorch/XLA; blueprint.kind box or training-cluster leaves it out"
    if chosen and chosen.cost_usd and isinstance(spec.workload, Serve) and spec.workload.revenue is not None:
        earned = (chosen.speed.tokens_per_s or 0.0) * spec.workload.revenue * 3600 * a.month_h
        yield f"revenue: {earned:,.0f} USD a month at most, at peak traffic day and night; machines: {chosen.cost_usd.p50:,.0f} USD"
    if len(spec.workloads) > 1:
        yield f"sized for {spec.workload.name}; the other workloads share its machines"
    if any(p.cloud == "kubernetes" and p.pin is None for p in spec.infra.places):
        yield "an existing cluster is sized only for a pinned machine in this release: its inventory is not read here"
    pinned = next((f for f in fits if f.candidate.pinned), None)
    if pinned is None:
        return
    free = [r for r in rejected if r.rejections and all(x.limit is Limit.PIN for x in r.rejections) and r.cost_usd is not None]
    best = min(free, key=lambda r: (r.cost_usd, r.candidate.label), default=None)
    if best is not None and pinned.cost_usd is not None and best.cost_usd is not None:
        extra = pinned.cost_usd.p50 - best.cost_usd
        said = f"costs {extra:,.0f} USD more than" if extra > 0 else f"is {-extra:,.0f} USD cheaper than"
        yield f"pinned: {pinned.candidate.label} {said} the best without the pin, {best.candidate.label}"
