"""Plans on a terminal, in tables that fit 100 columns."""

from collections.abc import Iterable
from dataclasses import replace

from rich.console import Console
from rich.table import Table

from rackwright.report.catalog_text import catalog_rows, show_catalog
from rackwright.report.stack_text import show_diff, show_graph, show_stack
from rackwright.report.words import count, gib, percent, span, span_range, usd, usd_range
from rackwright.sizing.plan import Fit, Memory, Rejected, SizingPlan, Speed

MEMORY_TERMS = ("weights", "gradients", "optimizer", "activations", "head", "kv", "fixed", "margin")
MISSES = 3

__all__ = ["about", "catalog_rows", "show_catalog", "show_diff", "show_explanation", "show_graph", "show_plan", "show_stack", "table"]


def table(*columns: str, right: Iterable[str] = ()) -> Table:
    """A plain table; columns named in `right` hold numbers."""
    made = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    for column in columns:
        made.add_column(column, justify="right" if column in right else "left", overflow="fold")
    return made


def show_plan(out: Console, plan: SizingPlan, top: int) -> None:
    """The ranking, the reason for its first line, the nearest misses."""
    out.print(f"[bold]{plan.spec}[/]: {_facts(plan)}", highlight=False)
    if plan.fits:
        out.print(_ranking(plan, top))
        _say(out, "why", plan.scaling)
        _say(out, "chosen", plan.fits[0].why)
    else:
        out.print(f"[bold]Nothing meets every goal[/] ({plan.considered:,} candidates considered).", highlight=False)
    show_misses(out, plan)
    for warning in (*plan.warnings, *(plan.fits[0].warnings if plan.fits else ())):
        _say(out, "warning", warning)


def _facts(plan: SizingPlan) -> str:
    facts = plan.facts
    size = count(facts.parameters) if facts.parameters == facts.active_parameters else f"{count(facts.parameters)}, {count(facts.active_parameters)} active"
    amount = f", {count(facts.tokens)} tokens" if facts.tokens else ""
    return f"{facts.kind} {facts.model} ({size} parameters{amount})"


def _ranking(plan: SizingPlan, top: int) -> Table:
    serving = plan.fits[0].duration_s is None
    goal = "TTFT / TPOT" if serving else "time (p10 to p90)"
    made = table("#", "machines", "where", "capacity", "memory", goal, "USD/h", "cost (p10 to p90)", right=("#", "memory", "USD/h"))
    for rank, fit in enumerate(plan.fits[:top], 1):
        chosen = fit.candidate
        what = f"{chosen.slices} x {chosen.accelerator} {chosen.topology}" if chosen.topology else f"{chosen.nodes} x {chosen.machine}"
        time = f"{span(fit.speed.ttft_s)} / {span(fit.speed.tpot_s)}" if serving else span_range(fit.duration_s)
        made.add_row(
            str(rank), what, chosen.region, chosen.capacity, percent(fit.memory.fill), time, f"{fit.usd_per_hour:,.2f}", usd_range(fit.cost_usd)
        )
    return made


def show_misses(out: Console, plan: SizingPlan) -> None:
    if not plan.rejected:
        return
    out.print(f"\n{len(plan.rejected):,} candidates were rejected. The nearest:", highlight=False)
    made = table("machines", "where", "why not", "what would make it fit")
    for miss in _distinct(plan.rejected)[:MISSES]:
        made.add_row(_what(miss), miss.candidate.region, "; ".join(map(str, miss.rejections)), miss.remedy or miss.rejections[0].remedy)
    out.print(made)


def _distinct(rejected: Iterable[Rejected]) -> list[Rejected]:
    """The nearest of each machine, so that three lines tell three things."""
    nearest: dict[tuple[str, str], Rejected] = {}
    for miss in rejected:
        nearest.setdefault((miss.candidate.machine, miss.candidate.topology), miss)
    return list(nearest.values())


def _what(item: Rejected | Fit) -> str:
    chosen = item.candidate
    return f"{chosen.slices} x {chosen.accelerator} {chosen.topology}" if chosen.topology else f"{chosen.nodes} x {chosen.machine}"


def about(plan: SizingPlan, name: str) -> SizingPlan:
    """The plan narrowed to candidates with `name` in machine, accelerator or label; to the chosen one when empty."""
    if not name:
        return replace(plan, fits=plan.fits[:1], rejected=tuple(_distinct(plan.rejected)))
    wanted = name.lower()

    def named(item: Fit | Rejected) -> bool:
        return wanted in f"{item.candidate.machine} {item.candidate.accelerator} {item.candidate.label}".lower()

    return replace(plan, fits=tuple(filter(named, plan.fits)), rejected=tuple(filter(named, plan.rejected)))


def show_explanation(out: Console, plan: SizingPlan) -> None:
    """Every number behind a choice and behind each refusal."""
    out.print(f"[bold]{plan.spec}[/]: {_facts(plan)}", highlight=False)
    _say(out, "scaling", plan.scaling)
    for fit in plan.fits[:3]:
        out.print(f"\n[bold]fits[/]: {fit.candidate.label} with {fit.candidate.parallelism}", highlight=False)
        _say(out, "why", fit.why)
        out.print(_memory(fit.memory))
        out.print(_speed(fit.speed))
        _say(out, "evidence", fit.evidence)
    if plan.rejected:
        out.print("\n[bold]rejected[/]", highlight=False)
        made = table("candidate", "limits broken, worst first")
        for miss in plan.rejected[:20]:
            made.add_row(miss.candidate.label, "\n".join(map(str, miss.rejections)))
        out.print(made)
    out.print("\n[bold]assumed[/]", highlight=False)
    made = table("assumption", "value", "source")
    for item in plan.assumptions:
        made.add_row(item.name, f"{item.value} {item.unit}".strip(), item.source)
    out.print(made)


def _memory(memory: Memory) -> Table:
    made = table("memory per accelerator", "GiB", right=("GiB",))
    for term in MEMORY_TERMS:
        held = getattr(memory, f"{term}_bytes")
        if held:
            made.add_row(term, gib(held).removesuffix(" GiB"))
    made.add_row("total", gib(memory.total_bytes).removesuffix(" GiB"))
    made.add_row(f"device, {percent(memory.fill)} full, {percent(memory.max_fill)} allowed", gib(memory.capacity_bytes).removesuffix(" GiB"))
    return made


def _speed(speed: Speed) -> Table:
    made = table("speed", "value", right=("value",))
    rows = [
        ("tokens/s", speed.tokens_per_s and count(speed.tokens_per_s)),
        ("samples/s", speed.samples_per_s and f"{speed.samples_per_s:,.1f}"),
        ("step", speed.step_s and span(speed.step_s)),
        ("of it compute", speed.compute_s and span(speed.compute_s)),
        ("of it exposed communication", speed.communication_s and span(speed.communication_s)),
        ("of it pipeline bubble", speed.bubble_s and span(speed.bubble_s)),
        ("model FLOPs utilisation", speed.mfu and percent(speed.mfu)),
        ("time to first token", speed.ttft_s and span(speed.ttft_s)),
        ("time per output token", speed.tpot_s and span(speed.tpot_s)),
        ("requests at once per replica", speed.concurrency and str(speed.concurrency)),
    ]
    for name, value in rows:
        if value:
            made.add_row(name, value)
    return made


def _say(out: Console, what: str, words: str) -> None:
    if words:
        out.print(f"[bold]{what}[/]: {words}", highlight=False)


__all__ += ["show_misses", "usd"]
