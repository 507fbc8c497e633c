"""Sizing: from a spec and a catalog to a SizingPlan."""

import gc
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date

from rackwright.catalog.read import Catalog
from rackwright.clouds import profile
from rackwright.estimator.calibration.coefficients import Calibration
from rackwright.sizing.assumptions import DEFAULT, Assumptions
from rackwright.sizing.calibrated import calibrated
from rackwright.sizing.evaluation import checkpoints
from rackwright.sizing.evaluation.evaluate import GoalLimits, evaluate
from rackwright.sizing.evaluation.host_limits import accelerator_job, served_by_hosts
from rackwright.sizing.evaluation.option_effects import option_effects
from rackwright.sizing.evaluation.pin_cost import without_pinned_parallelism
from rackwright.sizing.evaluation.transfers import location, named_buckets
from rackwright.sizing.evaluation.whole_bill import WholeBill, remove_unaffordable
from rackwright.sizing.inputs.workload_inputs import workload_inputs
from rackwright.sizing.job import ServingJob, TrainingJob, WorkloadInputs
from rackwright.sizing.metrics import Interval
from rackwright.sizing.node.bucket import with_cheapest_storage, writes_to_bucket
from rackwright.sizing.node.node_requirements import dataset_read_bytes_per_s, with_node_requirements
from rackwright.sizing.note import Note, NoteKind
from rackwright.sizing.offers.node_counts import UNSEARCHABLE, pinned_nodes, searchable_fleet
from rackwright.sizing.offers.offer import Offer, core_of
from rackwright.sizing.plan import Assumption, Fit, Rejected, SizingPlan, StorageNeed, WorkloadFacts
from rackwright.sizing.rejection import Limit, Reason, Rejection
from rackwright.sizing.search.outcome import Outcome
from rackwright.sizing.search.search import search
from rackwright.sizing.selection.near_ties import beaten_by
from rackwright.sizing.selection.ranking import by_distance, cheapest_without_pin, identity, is_unpriced, ranked
from rackwright.sizing.together import Order, size_together
from rackwright.spec.inventory import Inventory
from rackwright.spec.spec import Spec
from rackwright.spec.workload import TRAINING, Serve
from rackwright.units import HOUR


@contextmanager
def _without_garbage_collection() -> Generator[None]:
    """Pauses the garbage collector: a search keeps thousands of objects without cycles, and collecting takes a tenth of its time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@_without_garbage_collection()
def size(
    spec: Spec,
    catalog: Catalog | None = None,
    *,
    today: date | None = None,
    assumptions: Assumptions = DEFAULT,
    rerank: Order | None = None,
    whole_bill: WholeBill | None = None,
) -> SizingPlan:
    """Ranked candidates for the workloads of the spec, and the rejected candidates with their reasons.

    `fits` is empty when nothing fits. Raises UserError when the model is unknown.
    today: date at which capacity blocks are evaluated; the current date by default. rerank: puts the fits of a plan in another order.
    whole_bill: prices the stack of a fit, for the budget; without it the budget is compared with the machines alone.
    """
    catalog, a, today = catalog or Catalog.default(), assumptions, today or date.today()
    if spec.is_several:
        alone = [_alone(spec.of_workload(i), catalog, today, a) for i in range(len(spec.workloads))]
        return size_together(spec, catalog, a, alone, rerank, whole_bill)
    inputs = workload_inputs(spec.workload, a, catalog)
    goals = GoalLimits.of(spec, inputs.facts, catalog, a)
    fits, rejected, order, points = _collected(_evaluations(spec, catalog, inputs, goals, a, today))

    def in_order() -> tuple[Fit, ...]:
        best = ranked(fits.values(), order, spec.goals.optimize_for, vertical_first=not inputs.serves)
        return rerank(SizingPlan(spec.name, inputs.facts, best, (), (), catalog.digest)) if rerank else best

    def bill_of(fit: Fit) -> Interval | None:
        facts, need = _storage(inputs, (fit,), goals, spec, catalog, a)
        return whole_bill(SizingPlan(spec.name, facts, (fit,), (), (), catalog.digest, storage=need)) if whole_bill else None

    over = remove_unaffordable(fits, in_order, bill_of, goals) if whole_bill else {}
    made = _plan(in_order(), by_distance(r for k, r in {**rejected, **over}.items() if k not in fits), inputs, goals, spec, catalog, a)
    if chosen := made.chosen:
        tie = beaten_by(chosen, _alternatives(made.fits, order, spec), spec.goals.optimize_for)
        free, options = without_pinned_parallelism(spec, chosen, catalog, a, today), option_effects(spec, chosen, catalog, a, today)
        made = replace(made, unpinned=free, near_tie=tie, options=options)
    return with_node_requirements(replace(made, considered=points), spec, catalog, a)


def _alone(spec: Spec, catalog: Catalog, today: date, a: Assumptions) -> SizingPlan:
    """The plan of one workload of several; with the priced fits beyond the budget where only the budget rejects it, for the whole bill."""
    plan = size(spec, catalog, today=today, assumptions=a)
    if plan.fits or not any(all(r.limit is Limit.BUDGET for r in miss.rejections) for miss in plan.rejected):
        return plan
    goals = spec.goals.model_copy(update={"max_cost": None})
    plan = size(spec.model_copy(update={"goals": goals}), catalog, today=today, assumptions=a)
    return replace(plan, fits=tuple(fit for fit in plan.fits if fit.cost_usd))


def _plan(
    fits: tuple[Fit, ...], rejected: tuple[Rejected, ...], inputs: WorkloadInputs, goals: GoalLimits, spec: Spec, catalog: Catalog,
    a: Assumptions,
) -> SizingPlan:  # fmt: skip
    facts, need = _storage(inputs, fits, goals, spec, catalog, a)
    return SizingPlan(
        spec=spec.name,
        facts=facts,
        fits=fits,
        rejected=rejected,
        assumptions=tuple(_assumptions(inputs, fits[:1], calibrated(spec), a, any(fit.candidate.sharing for fit in fits))),
        catalog_digest=catalog.digest,
        storage=need,
        optimize_for=spec.goals.optimize_for,
        notes=(*inputs.notes, *_notes(spec, fits, rejected, a)),
    )


def _alternatives(fits: tuple[Fit, ...], order: dict[tuple, tuple[int, int]], spec: Spec) -> Iterator[Fit]:
    """Fits that only the objective ranks after the first one: not a broken goal, a missing price, the order of places, a preference for one
    machine, or a stack that cannot be built."""

    def rank(fit: Fit) -> tuple:
        one_first = spec.workload.kind != "serve" and spec.goals.optimize_for != "time"
        spread = one_first and fit.candidate.is_spread
        return (is_unpriced(fit), len(fit.overruled), order[identity(fit.candidate)], spread, bool(fit.not_buildable))

    return (fit for fit in fits[1:] if rank(fit) == rank(fits[0]))


def _collected(
    answers: Iterator[tuple[Offer, int, Fit | Rejected]],
) -> tuple[dict[tuple, Fit], dict[tuple, Rejected], dict[tuple, tuple[int, int]], int]:
    """Fits and rejections by identity, ranks of offers, and the number of layouts searched. The first of two equal ones is kept."""
    fits: dict[tuple, Fit] = {}
    rejected: dict[tuple, Rejected] = {}
    order: dict[tuple, tuple[int, int]] = {}
    points = 0
    for offer, searched, answer in answers:
        points += searched
        key = identity(answer.candidate)
        order.setdefault(key, offer.rank)
        if isinstance(answer, Fit):
            fits.setdefault(key, answer)
        else:
            rejected.setdefault(key, answer)
    return fits, rejected, order, points


def _evaluations(
    spec: Spec, catalog: Catalog, inputs: WorkloadInputs, goals: GoalLimits, a: Assumptions, today: date
) -> Iterator[tuple[Offer, int, Fit | Rejected]]:
    """Every evaluated candidate with the number of layouts searched; larger counts of a machine are skipped once they cannot help."""
    fleet = searchable_fleet(spec, catalog, a, today)
    found = search(accelerator_job(inputs.job, goals.work), fleet.machines, a, calibrated(spec)) if fleet.targets else []
    for entry in fleet.entries:
        offer, max_cost_usd = entry.offer, 0.0
        for nodes, target in entry.counts or ((offer.nodes or 1, -1),):
            if target < 0:
                outcome = _cpu_outcome(offer, inputs, a)
            else:
                served = served_by_hosts(found[target], inputs.job, offer.machine, offer.accelerator, goals.work, a)
                nodes, outcome = _deployed_nodes(offer, nodes, served, spec, inputs)
            answer = evaluate(offer, nodes, outcome, goals, a)
            yield offer, outcome.points, answer
            if isinstance(answer, Fit):
                max_cost_usd = max(max_cost_usd, answer.cost_usd.p50 if answer.cost_usd else 0.0)
            elif _more_cannot_help(answer, max_cost_usd):
                break
            else:
                max_cost_usd = max(max_cost_usd, answer.cost_usd or 0.0)


def _cpu_outcome(offer: Offer, inputs: WorkloadInputs, a: Assumptions) -> Outcome:
    """Outcome without a search: the machine has CPUs only, or its facts are not published."""
    m, core = offer.machine, core_of(offer.machine)
    if core is None or not (m.vcpus and m.memory_bytes) or any(r.limit in UNSEARCHABLE for r in offer.rejections):
        return Outcome()
    from rackwright.sizing.search import cpu_only

    return cpu_only.evaluate_cpu(inputs.job, cpu_only.CpuMachine(core, m.vcpus, m.memory_bytes), a)


def _deployed_nodes(offer: Offer, nodes: int, found: Outcome, spec: Spec, inputs: WorkloadInputs) -> tuple[int, Outcome]:
    """Number of machines: the requested count, for a server the count its replicas need, or the pinned count."""
    if not inputs.serves:
        return nodes, found
    pinned, need = pinned_nodes(offer, spec), max(found.nodes, 1)
    if pinned is not None and need > pinned:
        short = Rejection(Limit.THROUGHPUT, need, pinned, "machines", Reason.PINNED_NODES)
        found = replace(found, rejections=(*found.rejections, short))
    return pinned or need, found


COUNT_INDEPENDENT = {Limit.ORGANISATION, Limit.PRECISION, Limit.QUOTA}
"""Constraints that more machines do not change: a limit or quota is exceeded already, or the number format is not supported."""


def _more_cannot_help(miss: Rejected, max_cost_usd: float) -> bool:
    """Whether more of the same machines cannot help: COUNT_INDEPENDENT, more machines than sequences, or over budget although memory
    suffices and the smaller count was not more expensive; larger counts only add traffic."""
    limits = {r.limit for r in miss.rejections}
    if Limit.BUDGET in limits and Limit.DEVICE_MEMORY not in limits and 0 < max_cost_usd <= (miss.cost_usd or 0.0):
        return True
    return not limits.isdisjoint(COUNT_INDEPENDENT) or any(r.limit is Limit.GEOMETRY and r.need for r in miss.rejections)


def _assumptions(inputs: WorkloadInputs, fits: tuple[Fit, ...], c: Calibration, a: Assumptions, shares: bool) -> Iterator[Assumption]:
    """Assumptions of the workload, the calibration behind the times of the fits, and the assumptions of the kind of plan. shares: whether
    candidates have divided accelerators."""
    yield from inputs.assumed
    for fit in fits:
        yield Assumption("calibration", c.version, fit.evidence, "fit of published runs, data/measured of the estimator")
    if c.factors:
        runs = sum(n for _, n in c.factors.values())
        yield Assumption("calibration factors", f"{len(c.factors)}", "of your measured runs", f"`rackwright calibrate`, {runs} readings")
    yield from a.listed("serving" if isinstance(inputs.job, ServingJob) else "training", *(["sharing"] if shares else []))


def _storage(
    inputs: WorkloadInputs, fits: tuple[Fit, ...], goals: GoalLimits, spec: Spec, catalog: Catalog, a: Assumptions
) -> tuple[WorkloadFacts, StorageNeed]:
    """Checkpoint plan and storage need of the first fit, with the choice between a bucket and a file system."""
    facts, chosen = inputs.facts, fits[0] if fits else None
    if not isinstance(inputs.job, TrainingJob):
        return facts, _inference_storage(facts, chosen)
    w, goodput = spec.workload, chosen.goodput if chosen else None
    interval_s = goodput.checkpoint_interval_s if goodput else goals.checkpoint_interval_s or a.checkpoint_max_interval_s
    plan = checkpoints.at_interval(facts.checkpoint_bytes, interval_s, a)
    read = dataset_read_bytes_per_s(facts, chosen.speed, w, a) if chosen and isinstance(w, TRAINING) else None
    keep = w.checkpoint.keep if isinstance(w, TRAINING) else 1
    basis = Note(NoteKind.CHECKPOINTS_KEPT, {"keep": keep, "gb": plan.bytes / 1e9, "write_s": plan.write_s})
    need = StorageNeed(
        capacity_bytes=checkpoints.capacity_bytes(plan.bytes, keep, facts.dataset_bytes, facts.weights_bytes),
        throughput_bytes_per_s=plan.throughput_bytes_per_s + (read or 0.0),
        basis=(basis,),
        checkpoints_bytes=(keep + 1) * plan.bytes,
        trainer=writes_to_bucket(inputs.job, tpu=bool(chosen and chosen.candidate.topology)),
        waited_bytes=2 * (goodput.interruptions if goodput else 0.0) * plan.bytes + (0.0 if w.kind == "pretrain" else facts.weights_bytes),
        hours=chosen.duration_s.p50 / HOUR if chosen and chosen.duration_s else 0.0,
        usd_per_hour=(chosen.usd_per_hour if chosen else None) or 0.0,
    )
    facts = replace(facts, checkpoint_interval_s=plan.interval_s)
    stored = SizingPlan(spec.name, facts, fits, (), (), catalog.digest, storage=need)
    return facts, with_cheapest_storage(stored, spec, catalog, a).storage


def _inference_storage(facts: WorkloadFacts, chosen: Fit | None) -> StorageNeed:
    """Weights; the samples of a batch stay in their bucket and are read once within its run."""
    weights = Note(NoteKind.WEIGHTS_READ_ONCE)
    if not facts.dataset_bytes:
        return StorageNeed(facts.weights_bytes, basis=(weights,))
    rate = facts.dataset_bytes / chosen.duration_s.p50 if chosen and chosen.duration_s else 0.0
    samples = Note(NoteKind.SAMPLES_READ, {"gb": facts.dataset_bytes / 1e9, "gb_per_s": rate / 1e9})
    return StorageNeed(facts.weights_bytes, basis=(weights, samples))


def _notes(spec: Spec, fits: tuple[Fit, ...], rejected: tuple[Rejected, ...], a: Assumptions) -> Iterator[Note]:
    chosen = fits[0] if fits else None
    if chosen and chosen.candidate.topology and spec.blueprint.kind == "auto" and spec.is_training:
        yield Note(NoteKind.TPU_CHOSEN)
    if chosen and chosen.cost_usd and isinstance(spec.workload, Serve) and spec.workload.revenue is not None:
        earned = (chosen.speed.tokens_per_s or 0.0) * spec.workload.revenue * HOUR * a.month_h
        yield Note(NoteKind.REVENUE_AT_PEAK, {"earned_usd": earned, "cost_usd": chosen.cost_usd.p50})
    for key, part in named_buckets(spec.workload).items():
        if location(part.uri, None) and part.region is None:
            yield Note(NoteKind.BUCKET_REGION_UNKNOWN, {"uri": part.uri or "", "key": f"{key}.region"})
    if any(profile(p.cloud).is_owned and not isinstance(p.inventory, Inventory) for p in spec.infra.places):
        yield Note(NoteKind.INVENTORY_NOT_READ)
    pinned = next((f for f in fits if f.candidate.pinned), None)
    best = cheapest_without_pin(fits, rejected)
    if pinned and pinned.cost_usd and best and best.cost_usd is not None:
        extra = pinned.cost_usd.p50 - best.cost_usd
        values = {"pinned": pinned.candidate.label, "free": best.candidate.label, "usd": abs(extra)}
        yield Note(NoteKind.PIN_COSTS if extra > 0 else NoteKind.PIN_SAVES, values)
