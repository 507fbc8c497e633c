"""Sentences of a plan, made from its typed fields: rationale, summary of each fit, warnings about pins."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakValueDictionary

from rackwright.sizing.node.requirements import FileSystem, NodeRequirement, NodeRequirements, Power
from rackwright.sizing.plan import Fit, Rejected, SizingPlan
from rackwright.sizing.rejection import Rejection
from rackwright.units import HOUR
from rackwright.wording.formatting import usd
from rackwright.wording.notes import joined_notes, note_text
from rackwright.wording.rationale import candidate_name, compared_with, rationale, time_and_cost
from rackwright.wording.rejections import explanation, joined_remedies, rejection_text, remedy
from rackwright.wording.several import further_warnings, together_text

if TYPE_CHECKING:
    from rackwright.sizing.economics.serving import Economics

REPLACEMENT = "a network disk of that size"
"""What replaces local disks that are too small."""
MIN_DIFFERENCE = 0.01
"""Relative difference of time or money below which pinned parallelism costs nothing."""


Described = TypeVar("Described", NodeRequirement, FileSystem, Power)


FILLED: WeakValueDictionary[int, SizingPlan] = WeakValueDictionary()
"""Plans with their sentences, by id: the report, the JSON and the decision of one plan fill it once."""


def with_text(plan: SizingPlan, whole: SizingPlan | None = None) -> SizingPlan:
    """The plan with every sentence filled in from its typed fields; a filled plan stays as it is.

    whole: the plan whose choice `scaling` explains, where `plan` is a part of it.
    """
    if whole is not None and whole is not plan:
        return _with_text(plan, whole)
    if FILLED.get(id(plan)) is not plan:
        plan = _with_text(plan, plan)
        FILLED[id(plan)] = plan
    return plan


def _with_text(plan: SizingPlan, whole: SizingPlan) -> SizingPlan:
    known: dict[Rejection, Rejection] = {}

    def described(rejections: Iterable[Rejection]) -> tuple[Rejection, ...]:
        return tuple(known.get(r) or known.setdefault(r, replace(r, words=explanation(r), remedy=remedy(r))) for r in rejections)

    if plan.further:
        plan = replace(plan, further=tuple(map(with_text, plan.further)))
    return replace(
        plan,
        scaling=together_text(whole) if plan.further else rationale(whole),
        fits=tuple(_fit(fit, described(fit.overruled)) for fit in plan.fits),
        rejected=tuple(_rejected(miss, described(miss.rejections)) for miss in plan.rejected),
        storage=replace(plan.storage, reason=joined_notes(plan.storage.basis) or plan.storage.reason),
        near_tie=_fit(plan.near_tie, described(plan.near_tie.overruled)) if plan.near_tie else None,
        unpinned=_fit(plan.unpinned, described(plan.unpinned.overruled)) if plan.unpinned else None,
        machine=_machine(plan.machine) if plan.machine else None,
        warnings=_once(
            plan.warnings, map(note_text, plan.notes), shortages(plan.machine), pinned_parallelism(plan), further_warnings(plan)
        ),
    )


def economics_with_text(e: "Economics") -> "Economics":
    """The economics with their sentences filled in."""
    replicas = (replace(row.replica, refused="; ".join(map(rejection_text, row.replica.rejections))) for row in e.comparison)
    rows = tuple(replace(row, replica=replica) for row, replica in zip(e.comparison, replicas, strict=True))
    return replace(e, warnings=_once(e.warnings, map(note_text, e.notes)), comparison=rows)


def _once(*sentences: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words for some in sentences for words in some))


def _fit(fit: Fit, overruled: tuple[Rejection, ...]) -> Fit:
    binding = joined_notes(fit.tightest) or fit.binding
    return replace(fit, why=fit_summary(fit), binding=binding, warnings=fit_warnings(fit), overruled=overruled)


def _rejected(miss: Rejected, rejections: tuple[Rejection, ...]) -> Rejected:
    return replace(miss, rejections=rejections, remedy=joined_remedies(rejections))


def _machine(found: NodeRequirements) -> NodeRequirements:
    return replace(
        found,
        needs=tuple(replace(_described(n), instead=REPLACEMENT if n.is_replaceable else n.instead) for n in found.needs),
        file_system=_described(found.file_system) if found.file_system else None,
        power=_described(found.power) if found.power else None,
        owned=_described(found.owned) if found.owned else None,
    )


def _described(item: Described) -> Described:
    return replace(item, words=joined_notes(item.basis) or item.words)


def shortages(found: NodeRequirements | None) -> Iterator[str]:
    """Requirements that the node does not meet."""
    for n in found.short if found else ():
        yield f"{n.name}: needs {n.need:,.4g} {n.unit} per node, has {n.have:,.4g} ({_described(n).words})"


def fit_warnings(fit: Fit) -> tuple[str, ...]:
    """Goals that a pin breaks, then the notes of sizing."""
    broken = (f"The pinned machines miss a goal: {rejection_text(r)}" for r in fit.overruled)
    return _once(fit.warnings, broken, map(note_text, fit.notes))


def fit_summary(fit: Fit) -> str:
    """Machines, place, parallelism, time, cost, the tightest constraint and why it cannot be built, in one line."""
    c, speed, duration = fit.candidate, fit.speed, fit.duration_s
    parts = [f"{candidate_name(c)} in {c.region or 'your cluster'}, {c.capacity}"]
    replicas = f"{c.replicas} {'replicas' if c.replicas > 1 else 'replica'}"
    if duration:
        parts.append(f"{c.parallelism}: {duration.p50 / HOUR:.1f} h ({duration.p10 / HOUR:.1f} to {duration.p90 / HOUR:.1f})")
    elif speed.tpot_s:
        parts.append(f"{replicas} of {c.parallelism}: first token {speed.ttft_s:.2f} s, then {speed.tpot_s * 1000:.0f} ms per token")
    elif speed.ttft_s:
        parts.append(f"{replicas}: answer in {speed.ttft_s:.2f} s under load")
    if fit.cost_usd:
        parts.append(usd(fit.cost_usd.p50) + ("" if duration else " a month"))
    parts.append(f"tightest constraint: {joined_notes(fit.tightest) or fit.binding}")
    return "; ".join([*parts, *filter(None, [fit.not_buildable])])


def pinned_parallelism(plan: SizingPlan) -> Iterator[str]:
    """What pinned parallelism costs on the chosen machines; nothing where parallelism is not pinned."""
    chosen, free = plan.chosen, plan.unpinned
    if chosen is None or free is None:
        return
    layout = chosen.candidate.parallelism
    ratio = free.cost_usd.p50 / chosen.cost_usd.p50 if free.cost_usd and chosen.cost_usd else 1.0
    if free.time_s >= (1 - MIN_DIFFERENCE) * chosen.time_s and ratio >= 1 - MIN_DIFFERENCE:
        yield f"The pinned parallelism, {layout}, costs nothing on these machines"
        return
    best = f"{free.candidate.parallelism}: {time_and_cost(free)}, {compared_with(free, chosen)}"
    yield f"Pinned parallelism, {layout}: {time_and_cost(chosen)}. Without the pin these machines would use {best}"
