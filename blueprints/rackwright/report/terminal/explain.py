"""Numbers behind the fits and rejections of a plan, on a terminal."""

from collections import defaultdict
from dataclasses import replace
from itertools import islice

from rich.console import Console

from rackwright.report.alternatives import GROUPS, goodput_text, rejection_rows
from rackwright.report.goals import tightest_of
from rackwright.report.intervals import decisive_text
from rackwright.report.terminal.layout.tables import heading, print_labelled, table, title
from rackwright.report.terminal.node import COLUMNS, requirement_lines, requirement_rows
from rackwright.report.terminal.plan import facts, show_frontier, show_misses, where_of
from rackwright.report.terminal.several import budget_text, workloads_text
from rackwright.sizing.metrics import Speed
from rackwright.sizing.plan import Fit, Rejected, SizingPlan, WorkloadFacts
from rackwright.sizing.rejection import Reason
from rackwright.sizing.unit import UNITS
from rackwright.spec.spec import Spec
from rackwright.wording.formatting import (
    TERMS,
    accelerators,
    count,
    evidence,
    gib,
    list_price,
    machines,
    machines_and_parts,
    percent,
    plural,
    readable,
    span,
    span_range,
    usd_range,
)
from rackwright.wording.option_effects import option_text
from rackwright.wording.plan_text import with_text
from rackwright.wording.rationale import compared_with
from rackwright.wording.rejections import candidate_remedy, rejection_text
from rackwright.wording.unit_rates import rate_number, rate_text
from rackwright.workflow.stack.stack_preview import StackPreview

FITS_SHOWN, REJECTED_SHOWN, REJECTED_OF_NAME = 3, 20, 2


def show_explanation(
    out: Console, plan: SizingPlan, spec: Spec, whole: SizingPlan | None = None, preview: StackPreview | None = None
) -> None:
    """plan: the requested part; whole: the plan it was taken from, for the frontier; preview: marks points that cannot be built."""
    plan = with_text(plan, whole)
    title(out, plan.spec, facts(plan))
    print_labelled(out, "why", plan.scaling)
    print_labelled(out, "options", "\n".join(map(option_text, plan.options)))
    if whole and whole.fits:
        show_frontier(out, whole, preview=preview)
    for fit in plan.fits[:FITS_SHOWN]:
        _show_fit(out, fit, spec, plan.facts)
    if plan.machine:
        heading(out, "Requirements of one node of the first choice")
        out.print(table(COLUMNS, requirement_rows(plan.machine), right=("needed", "available")))
        for label, text in requirement_lines(plan.machine):
            print_labelled(out, label, text if label != "node" else "")
    if plan.rejected:
        heading(out, f"Rejected: {plural(len(plan.rejected), 'candidate')} by worst constraint")
        out.print(table(GROUPS, rejection_rows(plan), right=("candidates", "distance")))
        _show_rejected(out, plan, REJECTED_SHOWN)
    heading(out, "Assumptions")
    assumptions = ((item.name, f"{item.value} {item.unit}".strip(), item.source) for item in map(readable, plan.assumptions))
    out.print(table(("assumption", "value", "source"), assumptions))


def show_workloads(out: Console, plan: SizingPlan, spec: Spec, whole: SizingPlan, preview: StackPreview | None = None) -> None:
    """The numbers of each workload: of the first requested combination, and of the limits that reject combinations.

    plan: the requested part of the whole plan.
    """
    plan = with_text(plan, whole)
    title(out, plan.spec, workloads_text(plan))
    print_labelled(out, "why", plan.scaling)
    if plan.fits:
        print_labelled(out, "budget", budget_text(spec, preview) if plan.fits[0].label == whole.fits[0].label else "")
        for part in plan.with_first(plan.fits[0]).each_workload:
            _show_fit(out, part.fits[0], spec, part.facts, part.facts.name)
            if part.machine:
                out.print(table(COLUMNS, requirement_rows(part.machine), right=("needed", "available")))
    if plan.rejected:
        show_misses(out, plan)
    for text in plan.warnings:
        print_labelled(out, "warning", text, "bold yellow")


def show_candidates(out: Console, plan: SizingPlan, spec: Spec, whole: SizingPlan) -> None:
    """The requested candidates of the whole plan on one screen: the best that fits, and the nearest rejected."""
    plan = with_text(plan, whole)
    if plan.fits:
        fit, rank = plan.fits[0], whole.fits.index(next(fit for fit in whole.fits if fit.candidate == plan.fits[0].candidate)) + 1
        against = f"against #1: {compared_with(fit, whole.fits[0])}" if rank > 1 else "the first choice"
        _show_fit(out, fit, spec, plan.facts, f"#{rank}, {against}")
        if len(plan.fits) > 1:
            print_labelled(out, "further", f"{plural(len(plan.fits) - 1, 'candidate')} of that name; name one by its rank")
    if plan.rejected:
        _show_rejected(out, plan, REJECTED_OF_NAME)


def _show_fit(out: Console, fit: Fit, spec: Spec, it: WorkloadFacts, rank: str = "") -> None:
    heading(out, f"Candidate: {machines(fit.candidate)}, {accelerators(fit.candidate)}, {where_of(fit)}")
    a_month = "" if fit.duration_s else " a month"
    lines = {
        "rank": rank,
        "build": fit.not_buildable or "",
        "layout": f"{fit.candidate.parallelism}, {fit.candidate.precision}",
        "time": span_range(fit.duration_s) if fit.duration_s else "",
        "queue": span_range(fit.wait_s) if fit.wait_s else "",
        "goodput": goodput_text(fit),
        "rate": rate_text(fit, it),
        "cost": usd_range(fit.cost_usd) + a_month if fit.cost_usd else "price not published",
        "p80": decisive_text(fit),
        "price": list_price("machine-hour", fit.candidate),
        "tightest": tightest_of(spec, fit),
        "evidence": evidence(fit.evidence),
    }
    for label, text in lines.items():
        print_labelled(out, label, text)
    for text in fit.warnings:
        print_labelled(out, "warning", text, "bold yellow")
    memory = fit.memory
    parts = [(name, getattr(memory, f"{term}_bytes")) for term, name in TERMS.items()]
    total = f"total, {percent(memory.fill)} of the device ({percent(memory.max_fill)} allowed)"
    rows = [*(part for part in parts if part[1]), (total, memory.total_bytes), ("device", memory.capacity_bytes)]
    out.print(table(("memory per accelerator", "GiB"), ((name, gib(value).removesuffix(" GiB")) for name, value in rows), right=("GiB",)))
    out.print(table(("speed", "value"), _speed_rows(fit.speed, it), right=("value",)))


def _rejection_row(miss: Rejected) -> tuple[str, str, str]:
    """Machines, failed constraints and remedy; all machines with an accelerator whose rates are not published share one row."""
    gap = next((r for r in miss.rejections if r.reason is Reason.UNPUBLISHED), None)
    if gap:
        return f"all with {gap.subject}", rejection_text(gap), candidate_remedy(replace(miss, rejections=(gap,)))
    return machines_and_parts(miss.candidate), "\n".join(map(rejection_text, miss.rejections)), candidate_remedy(miss)


def _show_rejected(out: Console, plan: SizingPlan, maximum: int) -> None:
    """A row per kind and number of machines, nearest first."""
    places: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for miss in plan.rejected:
        places[_rejection_row(miss)].append(where_of(miss))
    more = f", {maximum} of {len(places):,} groups" if len(places) > maximum else ""
    heading(out, f"Rejected candidates, nearest first{more}")
    rows = (
        (name, where[0] + (f" and {len(where) - 1} more" if len(where) > 1 else ""), why, remedy)
        for (name, why, remedy), where in islice(places.items(), maximum)
    )
    out.print(table(("machines", "place", "failed constraints, worst first", "meets them with"), rows, whole=("machines",)))


def _with_median(p80_s: float, p50_s: float | None) -> str:
    """`389 ms (p80; p50 214 ms)`."""
    return span(p80_s) + (f" (p80; p50 {span(p50_s)})" if p50_s else "")


def _speed_rows(speed: Speed, it: WorkloadFacts) -> list[tuple[str, str]]:
    rows = [
        ("tokens/s", speed.tokens_per_s and count(speed.tokens_per_s)),
        (
            "samples/s" if speed.units_per_s or it.kind == "custom" else "sequences/s",
            speed.samples_per_s and rate_number(speed.samples_per_s),
        ),
        (f"{UNITS[it.unit].plural}/s, all replicas", speed.units_per_s and rate_number(speed.units_per_s)),
        ("step", speed.step_s and span(speed.step_s)),
        ("rollout", speed.rollout_s and span(speed.rollout_s)),
        ("compute", speed.compute_s and span(speed.compute_s)),
        ("exposed communication", speed.communication_s and span(speed.communication_s)),
        ("pipeline bubble", speed.bubble_s and span(speed.bubble_s)),
        ("waiting for samples", speed.input_s and span(speed.input_s)),
        ("model FLOPs utilisation", speed.mfu and percent(speed.mfu)),
        (
            "time to first token" if it.unit == "token" else "time to the answer under load",
            speed.ttft_s and _with_median(speed.ttft_s, speed.ttft_p50_s),
        ),
        ("time to the answer without other traffic", speed.unloaded_s and span(speed.unloaded_s)),
        ("samples per pass, at most", speed.batch_size and f"{speed.batch_size:,}"),
        ("time per output token", speed.tpot_s and _with_median(speed.tpot_s, speed.tpot_p50_s)),
        ("prefill replicas", speed.prefill_replicas and str(speed.prefill_replicas)),
        ("requests/s", speed.requests_per_s and f"{speed.requests_per_s:,g}"),
        ("concurrent requests per replica", speed.concurrency and str(speed.concurrency)),
        ("KV cache, tokens", speed.kv_tokens and count(speed.kv_tokens)),
    ]
    return [(name, str(value)) for name, value in rows if value]
