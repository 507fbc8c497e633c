"""From spec and catalog to a SizingPlan: the one public function of this room."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date

from rackwright.catalog.read import Catalog
from rackwright.sizing import storage
from rackwright.sizing.assumptions import DEFAULT, Assumptions
from rackwright.sizing.candidates import Offer, needs_fabric, offers
from rackwright.sizing.demand import CustomJob, Demand, read_demand
from rackwright.sizing.hardware import Hardware, hardware
from rackwright.sizing.judge import Goals, judge
from rackwright.sizing.outcome import Outcome
from rackwright.sizing.plan import GIB, Fit, Limit, Memory, Rejected, Rejection, SizingPlan, StorageNeed, WorkloadFacts
from rackwright.sizing.rank import by_distance, identity, ranked, scaling, why
from rackwright.sizing.serve import ServingJob, best_batch, best_serving
from rackwright.sizing.target import Target
from rackwright.sizing.train import TrainingJob, best_training
from rackwright.spec.spec import Spec


def size(spec: Spec, catalog: Catalog | None = None, *, today: date | None = None, assumptions: Assumptions = DEFAULT) -> SizingPlan:
    """Every way to run the first workload of the spec, ranked, and every way that does not do, with its reasons.

    Never fails for a valid spec: when nothing fits, `fits` is empty. Raises UserError when the model is unknown.
    today: the date a capacity block is looked at; the real one when left out.
    """
    catalog, a = catalog or Catalog.default(), assumptions
    demand = read_demand(spec.workload, a)
    goals = Goals.of(spec, a)
    fits: dict[tuple, Fit] = {}
    rejected: dict[tuple, Rejected] = {}
    order: dict[tuple, tuple[int, int]] = {}
    points = 0
    for offer in offers(spec, catalog, a, today or date.today()):
        dearest = 0.0
        for nodes, found in _searched(offer, demand, spec, a):
            points += found.points
            answer = judge(offer, nodes, found, goals, a)
            key = identity(answer.candidate)
            order.setdefault(key, offer.rank)
            (fits if isinstance(answer, Fit) else rejected).setdefault(key, answer)
            cost = answer.cost_usd.p50 if isinstance(answer, Fit) and answer.cost_usd else answer.cost_usd
            if isinstance(answer, Rejected) and _hopeless(answer, dearest):
                break
            dearest = max(dearest, cost or 0.0)
    serves = isinstance(demand.job, ServingJob) and demand.job.rate is not None
    best = ranked(fits.values(), order, spec.goals.optimize_for, vertical_first=not serves)
    misses = by_distance(r for k, r in rejected.items() if k not in fits)
    best = tuple(replace(f, why=why(f)) for f in best)
    facts, need = _storage(demand, best, goals, spec, a)
    return SizingPlan(
        spec=spec.name,
        facts=facts,
        fits=best,
        rejected=misses,
        assumptions=(*demand.assumed, *a.listed("serving" if isinstance(demand.job, ServingJob) else "training")),
        catalog_digest=catalog.digest,
        scaling=scaling(best, misses, serves, spec.goals.optimize_for),
        storage=need,
        warnings=(*demand.warnings, *_warnings(spec, best, misses)),
        considered=points,
    )


def _searched(offer: Offer, demand: Demand, spec: Spec, a: Assumptions) -> Iterator[tuple[int, Outcome]]:
    """Node counts worth asking, each with the best way found."""
    blocked = any(r.limit in (Limit.DATA, Limit.BLUEPRINT, Limit.REGION, Limit.CAPACITY) for r in offer.rejections)
    if blocked or offer.accelerator is None:
        yield offer.nodes or 1, Outcome()
        return
    job = demand.job
    if isinstance(job, ServingJob) and job.rate is not None:
        found = _serve(job, _target(offer, 1, a), offer, a)
        pinned = _pinned_nodes(offer, spec)
        nodes = max(found.nodes, 1)
        if pinned is not None and nodes > pinned:
            short = Rejection(Limit.THROUGHPUT, nodes, pinned, "machines", "the pin's nodes", f"nodes: {nodes}")
            found = replace(found, rejections=(*found.rejections, short))
        yield (pinned or nodes), found
        return
    for nodes in _counts(offer, spec, a):
        yield nodes, _one(job, _target(offer, nodes, a), offer, a)


def _hopeless(miss: Rejected, dearest_usd: float) -> bool:
    """Whether more of the same machines cannot help: over the organisation's count, or too dear although memory suffices and the
    count before was no dearer; larger counts only add traffic."""
    limits = {r.limit for r in miss.rejections}
    dearer = Limit.BUDGET in limits and Limit.DEVICE_MEMORY not in limits and 0 < dearest_usd <= (miss.cost_usd or 0.0)
    return dearer or Limit.ORGANISATION in limits or any(r.limit is Limit.GEOMETRY and r.need for r in miss.rejections)


def _pinned_nodes(offer: Offer, spec: Spec) -> int | None:
    pin = spec.infra.places[offer.place].pin
    return pin.nodes if pin and offer.pinned else None


def _counts(offer: Offer, spec: Spec, a: Assumptions) -> list[int]:
    """What a slice, block or pin fixes; else powers of two up to the first that is over the organisation's limit. Machines without
    a fabric are asked twice: alone, and as a pair that cannot work together."""
    fixed = _pinned_nodes(offer, spec) or offer.nodes
    if fixed:
        return [fixed]
    most = (spec.limits.accelerators or a.most_accelerators / 2) / offer.machine.accelerator_count
    counts = [1]
    while counts[-1] <= most and not (needs_fabric(offer) and len(counts) == 2):
        counts.append(counts[-1] * 2)
    return counts


def _target(offer: Offer, nodes: int, a: Assumptions) -> Target:
    chips = offer.slice.chips if offer.slice else 0
    hw: Hardware = hardware(offer.machine, offer.accelerator, chips, nodes)  # type: ignore[arg-type]
    return Target(
        hw.accelerator, hw.vendor, float(hw.memory_bytes or 0), float(hw.bandwidth_bytes_per_s or 0), float(hw.base_peak or 0),
        hw.links(a), nodes, max(offer.slices, 1), hw.kind == "tpu",
    )  # fmt: skip


def _one(job: TrainingJob | ServingJob | CustomJob, target: Target, offer: Offer, a: Assumptions) -> Outcome:
    if isinstance(job, CustomJob):
        return _custom(job, target, a)
    if isinstance(job, ServingJob):
        return _serve(job, target, offer, a)
    refused = _precision(job.precision, offer)
    found = best_training(job, target, a)
    return replace(found, rejections=(*found.rejections, *refused)) if refused else found


def _serve(job: ServingJob, target: Target, offer: Offer, a: Assumptions) -> Outcome:
    """Weights in 16 bit unless said: bf16, or fp16 on accelerators that have no bf16."""
    precision = job.precision
    if precision == "auto":
        precision = "bf16" if offer.accelerator and offer.accelerator.supports("bf16") else "fp16"
    peak = offer.accelerator.peak(precision if precision not in ("nf4", "fp32") else "bf16") if offer.accelerator else None
    search = best_serving if job.rate is not None else best_batch
    found = search(job, target, peak or target.base_peak, precision, a)
    refused = _precision(precision, offer)
    return replace(found, rejections=(*found.rejections, *refused)) if refused else found


def _precision(precision: str, offer: Offer) -> tuple[Rejection, ...]:
    """Number formats the accelerator has no arithmetic for; nf4 is computed in 16 bit, everything has fp32."""
    if precision in ("nf4", "fp32") or (offer.accelerator and offer.accelerator.supports(precision)):
        return ()
    remedy = "precision: fp16" if precision == "bf16" else "precision: bf16, or a newer accelerator"
    name = offer.accelerator.name if offer.accelerator else "it"
    return (Rejection(Limit.PRECISION, None, None, words=f"no {precision} on {name}", remedy=remedy),)


def _custom(job: CustomJob, target: Target, a: Assumptions) -> Outcome:
    """The user's own numbers: memory per accelerator, how many, how long."""
    memory = Memory(target.memory_bytes, a.max_fill, weights_bytes=job.accelerator_memory_bytes)
    refused = []
    if memory.fill > a.max_fill:
        have = target.memory_bytes * a.max_fill / GIB
        refused.append(Rejection(Limit.DEVICE_MEMORY, job.accelerator_memory_bytes / GIB, have, "GiB per accelerator"))
    if target.accelerators < job.accelerators:
        refused.append(Rejection(Limit.THROUGHPUT, job.accelerators, target.accelerators, "accelerators", remedy="more machines"))
    evidence = "your own numbers"
    return Outcome(memory=memory, work_s=job.duration_s, band=1.2, evidence=evidence, nodes=target.nodes, rejections=tuple(refused))


def _storage(demand: Demand, fits: tuple[Fit, ...], goals: Goals, spec: Spec, a: Assumptions) -> tuple[WorkloadFacts, StorageNeed]:
    """Checkpoint plan and file-system need of the chosen fit."""
    facts, chosen = demand.facts, fits[0] if fits else None
    if not isinstance(demand.job, TrainingJob):
        return facts, StorageNeed(facts.weights_bytes, 0.0, "weights, read once per replica")
    count, nodes = (chosen.candidate.accelerators, chosen.candidate.nodes) if chosen else (1, 1)
    between = storage.time_between_failures_s(count, nodes, bool(chosen and chosen.candidate.capacity == "spot"), a)
    plan = storage.plan_checkpoints(facts.checkpoint_bytes, between, goals.checkpoint_interval_s, a)
    rate = (chosen.speed.tokens_per_s or 0.0) if chosen else 0.0
    read = storage.read_bytes_per_s(rate, facts.dataset_bytes, facts.tokens, a)
    keep = spec.workload.checkpoint.keep
    reason = f"{keep} checkpoints of {plan.bytes / 1e9:,.1f} GB and one being written in {plan.write_s:.0f} s, dataset, weights"
    capacity = storage.capacity_bytes(plan.bytes, keep, facts.dataset_bytes, facts.weights_bytes)
    return replace(facts, checkpoint_interval_s=plan.interval_s), StorageNeed(capacity, max(plan.throughput_bytes_per_s, read), reason)


def _warnings(spec: Spec, fits: tuple[Fit, ...], rejected: tuple[Rejected, ...]) -> Iterator[str]:
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
