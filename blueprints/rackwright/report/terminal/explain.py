"""Numbers behind the fits and rejections of a plan, on a terminal."""

from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rackwright.report.alternatives import GROUPS, goodput_text, rejection_rows
from rackwright.report.terminal.node import needs_table, requirement_lines
from rackwright.report.terminal.plan import facts, show_frontier, where_of
from rackwright.report.terminal.tables import print_labelled, table, title
from rackwright.sizing.metrics import Memory, Speed
from rackwright.sizing.plan import Fit, Rejected, SizingPlan
from rackwright.wording.formatting import (
    TERMS,
    accelerators,
    count,
    evidence,
    gib,
    list_price,
    machines,
    percent,
    plural,
    readable,
    span,
    span_range,
    usd_range,
)
from rackwright.wording.plan_text import with_text
from rackwright.wording.rejections import candidate_remedy, rejection_text
from rackwright.workflow.stack_preview import StackPreview

FITS_SHOWN, REJECTED_SHOWN = 3, 20


def about(plan: SizingPlan, name: str) -> SizingPlan:
    """The plan narrowed to candidates with `name` in machine, accelerator or label; to the chosen one when empty."""
    if not name:
        return replace(plan, fits=plan.fits[:1])
    requested = name.lower()

    def named(item: Fit | Rejected) -> bool:
        return requested in f"{item.candidate.machine} {item.candidate.accelerator} {item.candidate.label}".lower()

    return replace(plan, fits=tuple(filter(named, plan.fits)), rejected=tuple(filter(named, plan.rejected)))


def show_explanation(out: Console, plan: SizingPlan, whole: SizingPlan | None = None, preview: StackPreview | None = None) -> None:
    """plan: the requested part; whole: the plan it was taken from, for the frontier; preview: marks points that cannot be built."""
    plan = with_text(plan)
    title(out, plan.spec, facts(plan))
    print_labelled(out, "why", plan.scaling)
    if whole and whole.fits:
        show_frontier(out, whole, preview=preview)
    for fit in plan.fits[:FITS_SHOWN]:
        _show_fit(out, fit)
    _show_machine(out, plan)
    _show_rejected(out, plan)
    out.print(Text("\nAssumptions", style="bold"))
    made = table("assumption", "value", "source")
    for item in map(readable, plan.assumptions):
        made.add_row(item.name, f"{item.value} {item.unit}".strip(), item.source)
    out.print(made)


def _show_fit(out: Console, fit: Fit) -> None:
    out.print(Text(f"\nCandidate: {machines(fit.candidate)}, {accelerators(fit.candidate)}, {where_of(fit)}", style="bold"))
    print_labelled(out, "layout", f"{fit.candidate.parallelism}, {fit.candidate.precision}")
    print_labelled(out, "time", span_range(fit.duration_s) if fit.duration_s else "")
    print_labelled(out, "queue", span_range(fit.wait_s) if fit.wait_s else "")
    print_labelled(out, "goodput", goodput_text(fit))
    print_labelled(
        out,
        "cost",
        usd_range(fit.cost_usd) + ("" if fit.duration_s else " a month") if fit.cost_usd else "price not published",
    )
    print_labelled(out, "price", list_price("machine-hour", fit.candidate))
    print_labelled(out, "tightest", fit.binding)
    print_labelled(out, "evidence", evidence(fit.evidence))
    for words in fit.warnings:
        print_labelled(out, "warning", words, "bold yellow")
    out.print(_memory(fit.memory))
    out.print(_speed(fit.speed))


def _show_machine(out: Console, plan: SizingPlan) -> None:
    if plan.machine is None:
        return
    out.print(Text("\nRequirements of one node of the first choice", style="bold"))
    out.print(needs_table(plan.machine))
    for label, words in requirement_lines(plan.machine):
        if label != "node":
            print_labelled(out, label, words)


def _show_rejected(out: Console, plan: SizingPlan) -> None:
    if not plan.rejected:
        return
    out.print(Text(f"\nRejected: {plural(len(plan.rejected), 'candidate')} by worst constraint", style="bold"))
    made = table(*GROUPS, right=("candidates", "distance"))
    for row in rejection_rows(plan):
        made.add_row(*row)
    out.print(made)
    lines = list(_places(plan.rejected).items())
    more = f", {REJECTED_SHOWN} of {len(lines):,} groups" if len(lines) > REJECTED_SHOWN else ""
    out.print(Text(f"\nRejected candidates, nearest first{more}", style="bold"))
    made = table("machines", "place", "failed constraints, worst first", "would fit with", whole=("machines",))
    for (what, why, fix), places in lines[:REJECTED_SHOWN]:
        where = places[0] if len(places) == 1 else f"{places[0]} and {len(places) - 1} more"
        made.add_row(what, where, why, fix)
    out.print(made)


def _places(rejected: Sequence[Rejected]) -> dict[tuple[str, str, str], list[str]]:
    """Places of each group of rejected candidates with the same machines, reasons and remedy."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for miss in rejected:
        key = machines(miss.candidate), "\n".join(map(rejection_text, miss.rejections)), candidate_remedy(miss)
        found.setdefault(key, []).append(where_of(miss))
    return found


def _memory(memory: Memory) -> Table:
    made = table("memory per accelerator", "GiB", right=("GiB",))
    for term, words in TERMS.items():
        if held := getattr(memory, f"{term}_bytes"):
            made.add_row(words, _gib(held))
    made.add_row(f"total, {percent(memory.fill)} of the device ({percent(memory.max_fill)} allowed)", _gib(memory.total_bytes))
    made.add_row("device", _gib(memory.capacity_bytes))
    return made


def _gib(value: float) -> str:
    return gib(value).removesuffix(" GiB")


def _speed(speed: Speed) -> Table:
    made = table("speed", "value", right=("value",))
    rows = [
        ("tokens/s", speed.tokens_per_s and count(speed.tokens_per_s)),
        ("samples/s", speed.samples_per_s and f"{speed.samples_per_s:,.1f}"),
        ("step", speed.step_s and span(speed.step_s)),
        ("compute", speed.compute_s and span(speed.compute_s)),
        ("exposed communication", speed.communication_s and span(speed.communication_s)),
        ("pipeline bubble", speed.bubble_s and span(speed.bubble_s)),
        ("model FLOPs utilisation", speed.mfu and percent(speed.mfu)),
        ("time to first token", speed.ttft_s and span(speed.ttft_s)),
        ("time per output token", speed.tpot_s and span(speed.tpot_s)),
        ("requests/s", speed.requests_per_s and f"{speed.requests_per_s:,g}"),
        ("concurrent requests per replica", speed.concurrency and str(speed.concurrency)),
        ("KV cache, tokens", speed.kv_tokens and count(speed.kv_tokens)),
    ]
    for name, value in rows:
        if value:
            made.add_row(name, str(value))
    return made
