"""Two candidates side by side, term by term: memory, time, rate, price, storage, start-up, bill, interval, quota, and what decided."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem
from rackwright.report.candidates import named_candidate
from rackwright.report.deciding import Side, deciding_text
from rackwright.report.terminal.node import storage_text
from rackwright.sizing.economics.formulas import cold_start_s
from rackwright.sizing.evaluation.evaluate import p80
from rackwright.sizing.evaluation.one_candidate import outcome_of
from rackwright.sizing.metrics import Interval
from rackwright.sizing.plan import Fit, Rejected, SizingPlan
from rackwright.sizing.rejection import Limit
from rackwright.sizing.unit import UNITS, unit_cost
from rackwright.wording.formatting import TERMS, UNKNOWN, accelerators, count, gib, money, percent, span
from rackwright.wording.rejections import rejection_text
from rackwright.wording.unit_rates import unit_price
from rackwright.workflow.pipeline import Pipeline

NONE = "-"
BILL, QUOTA = "bill, USD", "quota"
DETAILED = (BILL, QUOTA)


@dataclass(frozen=True)
class Cell:
    """One value of a term: a number with its text, or a text alone."""

    text: str
    value: float | None = None


Cells = dict[str, Cell]
Sides = tuple[Side, Side]


@dataclass(frozen=True)
class Term:
    """A term of both candidates; None where one has none. unit: of the numbers, empty for texts."""

    group: str
    name: str
    unit: str
    cells: tuple[Cell | None, Cell | None]

    @property
    def is_equal(self) -> bool:
        first, second = self.cells
        return first == second or (first is not None and second is not None and first.text == second.text)

    @property
    def is_detail(self) -> bool:
        """Whether the term is a line of a bill or a quota that the other side does not have."""
        return self.group in DETAILED and None in self.cells and not self.name.startswith("total")

    @property
    def ratio(self) -> float | None:
        """The second over the first."""
        first, second = (cell.value if cell else None for cell in self.cells)
        return second / first if first and second is not None else None

    @property
    def difference(self) -> str:
        """`+12 %`, `2.3 times`; empty for texts, equal and missing values."""
        if self.ratio is None or self.is_equal:
            return ""
        if abs(self.ratio - 1) < 0.005:
            return "< 1 %"
        return f"{self.ratio:,.1f} times" if self.ratio >= 2 else f"{(self.ratio - 1) * 100:+.0f} %"


@dataclass(frozen=True)
class CandidateComparison:
    """decided: why one ranks before the other, or fails."""

    spec: str
    sides: tuple[Side, Side]
    terms: tuple[Term, ...]
    decided: str


def comparison_of(pipeline: Pipeline, first: str, second: str) -> CandidateComparison:
    """first, second: a rank, a machine or an accelerator. Raises UserError for a name without candidate, and for one candidate twice."""
    plan = pipeline.plan
    sides = side_of(pipeline, first), side_of(pipeline, second)
    if sides[0].item is sides[1].item:
        reason = f"both sides are {sides[0].candidate.label}"
        raise UserError([Problem("U-usage", reason, fix="name another rank, machine or accelerator")])
    terms = tuple(term for group, unit, cells in GROUPS for term in terms_of(group, unit, cells, plan, sides))
    return CandidateComparison(plan.spec, sides, terms, deciding_text(*sides, pipeline.spec, plan))


def side_of(pipeline: Pipeline, name: str) -> Side:
    """A candidate with its bill, quotas and node requirements where it fits, else with its search outcome."""
    plan, item = pipeline.plan, named_candidate(pipeline.plan, name)
    if isinstance(item, Fit):
        rank = next(rank for rank, fit in enumerate(plan.fits, 1) if fit is item)
        preview = pipeline.preview(item)
        machine, start_s = pipeline.plan_for(item).machine, startup_s(pipeline, item)
        return Side(item, rank, item.memory, item.speed, item.evidence, preview, machine, preview.refusal(rank), start_s)
    found = outcome_of(pipeline.spec, item.candidate, pipeline.catalog, pipeline.assumptions, pipeline.today)
    known = Side(item, None, found.memory, found.speed, found.evidence) if found else Side(item)
    return replace(known, startup_s=startup_s(pipeline, item))


def comparison_json(found: CandidateComparison) -> dict[str, Any]:
    """candidates: both sides. terms: value, text per side; ratio: second over first; None where a side has no value."""
    sides = [
        {
            "candidate": side.candidate.label,
            "rank": side.rank,
            "feasible": side.rank is not None,
            "not_buildable": side.refusal or None,
            "rejections": [rejection_text(r) for r in side.rejections],
        }
        for side in found.sides
    ]
    terms = [
        {
            "group": term.group,
            "term": term.name,
            "unit": term.unit,
            "values": [cell.value if cell else None for cell in term.cells],
            "texts": [cell.text if cell else None for cell in term.cells],
            "ratio": term.ratio,
        }
        for term in found.terms
    ]
    return {"ok": True, "spec": found.spec, "candidates": sides, "terms": terms, "decided": found.decided}


def terms_of(
    group: str, unit: str, cells: Callable[[Side, SizingPlan], Cells], plan: SizingPlan, sides: tuple[Side, Side]
) -> Iterator[Term]:
    """Terms of one group: those that either side has."""
    first, second = (cells(side, plan) for side in sides)
    for name in dict.fromkeys((*first, *second)):
        yield Term(group, name, unit, (first.get(name), second.get(name)))


def _candidate(side: Side, plan: SizingPlan) -> Cells:
    c = side.candidate
    texts = {
        "rank": f"#{side.rank}" if side.rank else "rejected",
        "accelerators": accelerators(c),
        "place": f"{c.region or 'your cluster'}, {c.capacity}",
        "layout": f"{c.parallelism}, {c.precision}",
        "replicas": str(c.replicas) if plan.facts.kind == "serve" else "",
        "evidence": side.evidence,
        "fails": "; ".join(map(rejection_text, side.rejections)),
    }
    return {name: Cell(text) for name, text in texts.items() if text}


def _memory(side: Side, plan: SizingPlan) -> Cells:
    memory = side.memory
    if memory is None:
        return {}
    values = {name: getattr(memory, f"{term}_bytes") for term, name in TERMS.items()}
    values |= {"total": memory.total_bytes, "device": memory.capacity_bytes}
    return {name: Cell(gib(value), value) for name, value in values.items() if value}


def _fill(side: Side, plan: SizingPlan) -> Cells:
    memory = side.memory
    return {"filled": Cell(f"{percent(memory.fill)} of {percent(memory.max_fill)}", memory.fill)} if memory else {}


def _time(side: Side, plan: SizingPlan) -> Cells:
    speed = side.speed
    first = "first token" if plan.facts.unit == "token" else "answer under load"
    values = {
        "step": speed.step_s,
        "compute": speed.compute_s,
        "exposed communication": speed.communication_s,
        "pipeline bubble": speed.bubble_s,
        "rollout": speed.rollout_s,
        "waiting for samples": speed.input_s,
        f"{first}, p80": speed.ttft_s or _missed_s(side, Limit.TTFT) or _missed_s(side, Limit.LATENCY),
        f"{first}, p50": speed.ttft_p50_s,
        "answer without other traffic, p50": speed.unloaded_s,
        "each later token, p80": speed.tpot_s or _missed_s(side, Limit.TPOT),
        "each later token, p50": speed.tpot_p50_s,
        "start-up": side.startup_s,
    }
    return {name: Cell(span(value), value) for name, value in values.items() if value} | _interval("run", side.finish_s, span)


def _missed_s(side: Side, limit: Limit) -> float | None:
    """Seconds of an idle replica that misses a latency goal."""
    return next((r.need / 1000 for r in side.rejections if r.limit is limit and r.need), None)


def startup_s(pipeline: Pipeline, item: Fit | Rejected) -> float | None:
    """Start-up of a run, which is billed; cold start of a server, whose weights come over the baseline of its network."""
    plan = pipeline.plan
    if plan.facts.kind == "serve":
        return cold_start_s(plan.facts.weights_bytes, pipeline.catalog.machine(item.candidate.machine).sustained_network_bytes_per_s)
    return next((float(assumed.value) for assumed in plan.assumptions if assumed.name == "startup_s"), None)


def _interval(name: str, found: Interval | float | None, shown: Callable[[float], str]) -> Cells:
    """Median, p10 to p90, and the p80 that goals are compared with; a rejected candidate has its median alone."""
    if found is None:
        return {}
    if not isinstance(found, Interval):
        return {name: Cell(shown(found), found)}
    cells = {name: Cell(shown(found.p50), found.p50)}
    if found.p10 < found.p90:
        cells[f"{name}, p80"] = Cell(shown(p80(found)), p80(found))
        cells[f"{name}, p10 to p90"] = Cell(f"{shown(found.p10)} to {shown(found.p90)}")
    return cells


def _rate(side: Side, plan: SizingPlan) -> Cells:
    """Rates in the unit of the work; of a service the highest of all replicas beside the requests that it is sized for."""
    speed, unit = side.speed, plan.facts.unit
    if unit == "token":
        work = {"tokens/s": speed.tokens_per_s, "samples/s": speed.samples_per_s}
    else:
        work = {f"{UNITS[unit].plural}/s": speed.units_per_s or speed.samples_per_s}
    values = work | {
        "requests/s": speed.requests_per_s,
        "concurrent requests per replica": speed.concurrency,
        "KV cache, tokens": speed.kv_tokens,
    }
    cells = {name: Cell(count(value) if value >= 1000 else f"{value:,.3g}", value) for name, value in values.items() if value}
    cells |= {"samples per pass, at most": Cell(f"{speed.batch_size:,}", speed.batch_size)} if speed.batch_size else {}
    return cells | ({"model FLOPs utilisation": Cell(percent(speed.mfu), speed.mfu)} if speed.mfu else {})


def _price(side: Side, plan: SizingPlan) -> Cells:
    c = side.candidate
    if c.price_usd_per_hour is None:
        return {"one machine, per hour": Cell(UNKNOWN)}
    hourly = c.price_usd_per_hour * c.nodes
    cells = {"one machine, per hour": Cell(money(c.price_usd_per_hour, 2), c.price_usd_per_hour)}
    cells |= {"all machines, per hour": Cell(money(hourly, 2), hourly)}
    if isinstance(side.item, Fit) and (each := unit_cost(side.item, plan.facts)):
        cells[f"machines, per {each.per}"] = Cell(unit_price(each.usd), each.usd.p50)
    label = "machines, of a month" if plan.facts.kind == "serve" else "machines, of the run"
    return cells | _interval(label, side.cost_usd, money)


def _bill(side: Side, plan: SizingPlan) -> Cells:
    bill = side.preview.bill if side.preview else None
    if bill is None:
        return {}
    lines: dict[str, float] = {}
    for line in bill.lines:
        what = "accelerator machines" if line.what.startswith(side.candidate.machine) else line.what
        lines[what] = lines.get(what, 0.0) + (line.total_usd or 0.0)
    shown = {what: Cell(money(total, 2), total) for what, total in lines.items() if total}
    return shown | {f"total for {bill.covers.split(' of ')[0]}": Cell(money(bill.total_usd, 2), bill.total_usd)}


def _storage(side: Side, plan: SizingPlan) -> Cells:
    text = storage_text(side.machine)
    return {"file system": Cell(text)} if text else {}


def _quota(side: Side, plan: SizingPlan) -> Cells:
    needs = side.preview.quotas if side.preview else ()
    return {f"{n.code or 'code not published'}, {n.unit}": Cell(f"{n.amount:,g}", n.amount) for n in needs}


GROUPS: tuple[tuple[str, str, Callable[[Side, SizingPlan], Cells]], ...] = (
    ("candidate", "", _candidate),
    ("memory per accelerator", "bytes", _memory),
    ("memory per accelerator", "", _fill),
    ("time", "s", _time),
    ("rate", "", _rate),
    ("price, USD", "USD", _price),
    ("storage", "", _storage),
    (BILL, "USD", _bill),
    (QUOTA, "", _quota),
)
"""Groups of terms with the unit of their numbers, in order."""
