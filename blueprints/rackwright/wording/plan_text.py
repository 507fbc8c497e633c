"""Sentences of a plan, made from its typed fields: rationale, summary of each fit, warnings about pins."""

from collections.abc import Iterator
from dataclasses import replace

from rackwright.sizing.plan import Fit, SizingPlan
from rackwright.units import HOUR
from rackwright.wording.formatting import usd
from rackwright.wording.rationale import candidate_name, compared_with, rationale, time_and_cost
from rackwright.wording.rejections import fit_warnings

MIN_DIFFERENCE = 0.01
"""Relative difference of time or money below which pinned parallelism costs nothing."""


def with_text(plan: SizingPlan) -> SizingPlan:
    """The plan with `scaling`, `warnings`, and `why` and `warnings` of each fit filled in; a filled plan stays as it is."""
    fits = tuple(replace(fit, why=fit_summary(fit), warnings=tuple(dict.fromkeys(fit_warnings(fit)))) for fit in plan.fits)
    return replace(plan, scaling=rationale(plan), fits=fits, warnings=tuple(dict.fromkeys((*plan.warnings, *pinned_parallelism(plan)))))


def fit_summary(fit: Fit) -> str:
    """Machines, place, parallelism, time, cost and the tightest constraint, in one line."""
    c, speed, duration = fit.candidate, fit.speed, fit.duration_s
    parts = [f"{candidate_name(c)} in {c.region or 'your cluster'}, {c.capacity}"]
    replicas = f"{c.replicas} {'replicas' if c.replicas > 1 else 'replica'}"
    if duration:
        parts.append(f"{c.parallelism}: {duration.p50 / HOUR:.1f} h ({duration.p10 / HOUR:.1f} to {duration.p90 / HOUR:.1f})")
    elif speed.tpot_s:
        parts.append(f"{replicas} of {c.parallelism}: first token {speed.ttft_s:.2f} s, then {speed.tpot_s * 1000:.0f} ms per token")
    elif speed.ttft_s:
        parts.append(f"{replicas}: answer in {speed.ttft_s:.2f} s")
    if fit.cost_usd:
        parts.append(usd(fit.cost_usd.p50) + ("" if duration else " a month"))
    return "; ".join([*parts, f"tightest constraint: {fit.binding}"])


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
