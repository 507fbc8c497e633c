"""Serving economics as text, for terminal and report. Computes no number."""

from collections.abc import Iterator

from rich.console import Console

from rackwright.report.terminal.layout.tables import heading, print_labelled, ranked, table, title
from rackwright.sizing.economics.comparison import ComparisonRow
from rackwright.sizing.economics.formulas import LoadPoint, Returns
from rackwright.sizing.economics.serving import Economics
from rackwright.sizing.unit import UNITS
from rackwright.wording.formatting import UNKNOWN, evidence, money, plural, readable, short, span, usd
from rackwright.wording.rejections import explanation, rejection_text

LOADS_SHOWN = 7
COMPARED = "The same service on other accelerators at full utilisation, cheapest first: p80 (p50; p10 to p90)"
"""Heading of the comparison: rows are planned and ordered by the p80, as in the plan."""
SOLD = {name: unit.priced_per for name, unit in UNITS.items()} | {"token": "million output tokens"}


def show_economics(out: Console, e: Economics) -> None:
    """Load, month, revenue, and the same service on other accelerators."""
    title(out, e.spec, f"{e.model} on {e.machine}")
    out.print()
    numbers = ("requests/s", "replicas", "utilisation", "USD/h")
    out.print(table((*numbers, f"USD per {SOLD[e.unit]}"), loads(e), right=numbers))
    out.print()
    for label, text in economics_lines(e):
        print_labelled(out, label, text)
    if e.comparison:
        heading(out, f"{COMPARED}\n")
    rows = [((cost, name, rate, hourly), details) for name, hourly, rate, cost, details in comparison(e)]
    if rows:
        out.print(ranked(rows, (f"USD per {SOLD[e.unit]}", "accelerators", "max requests/s", "USD/h"), out.width))
    print_labelled(out, "reported", field_report_text(e))
    for text in e.warnings:
        print_labelled(out, "warning", text, "bold yellow")
    print_labelled(out, "assumed", "; ".join(f"{i.name} {i.value} {i.unit}" for i in map(readable, e.assumptions)), "dim")


def loads(e: Economics) -> list[tuple[str, ...]]:
    """Load table: mean, p95 and full load, and some between, lowest first; of a disaggregated service p95 alone."""
    full = e.full_point
    points = [(e.p95_point, "p95")]
    if e.prefill_replicas is None:
        points += [(e.mean_point, "mean"), (full, "full")]
        points += [(min(e.curve, key=lambda p: abs(p.requests_per_s - full.requests_per_s * share)), "") for share in (0.05, 0.25, 0.5)]
    named: dict[float, tuple[LoadPoint, str]] = {}
    for p, name in points:
        load = round(p.requests_per_s, 6)
        named[load] = (p, f"{named[load][1]} {name}".strip() if load in named else name)
    return [
        (
            f"{_rate(p.requests_per_s)}" + (f" ({name})" if name else ""),
            str(p.replicas),
            f"{p.share * 100:,.0f} %",
            money(p.usd_per_hour, 2),
            price(unit_cost(p, e)),
        )
        for _, (p, name) in sorted(named.items())[:LOADS_SHOWN]
    ]


def unit_cost(p: LoadPoint, e: Economics) -> float | None:
    """US dollars per unit sold."""
    if e.unit == "token" or p.usd_per_request is None:
        return p.usd_per_million_tokens
    return p.usd_per_request * e.requests_per_lot


def economics_lines(e: Economics) -> Iterator[tuple[str, str]]:
    """(label, text) per line."""
    s, m = e.service, e.month
    if e.overruled:
        broken = "; ".join(map(rejection_text, e.overruled))
        yield "replica", f"{_rate(s.requests_per_s)} requests/s, its share of the traffic; the pinned machines miss a goal: {broken}"
    elif e.prefill_replicas is not None:
        total = e.p95_point.replicas
        yield "replica", f"{total} planned: {e.prefill_replicas} prefill, {total - e.prefill_replicas} decode; {_evidence(e.evidence)}"
    else:
        yield "replica", f"{_rate(s.requests_per_s)} requests/s within the latency goals at p80, reserve included; {_evidence(e.evidence)}"
    if e.shared_with:
        yield "machine", f"shared with {' and '.join(e.shared_with)}; costs are the part of this workload's {plural(s.copies, 'replica')}"
    elif s.copies > 1:
        yield "machine", f"holds {plural(s.copies, 'replica')}; its full price is paid even if fewer run"
    yield (
        "traffic",
        (
            f"mean {_rate(e.mean_requests_per_s)}/s: {plural(e.mean_point.replicas, 'replica')}; p95 {_rate(e.p95_requests_per_s)}/s: "
            f"{plural(e.p95_point.replicas, 'replica')}; {m.mean_replicas:,.1f} on average over all hours"
        ),
    )
    follows, fixed = usd(m.follows_usd, 0), usd(m.fixed_usd, 0)
    if e.prefill_replicas is not None:
        yield "month", f"machines cost {fixed} with the planned replicas; no autoscaling is computed for disaggregated pools"
    else:
        machines = f"machines cost {follows} with autoscaling, {fixed} with the replicas of p95 all the time (price of the plan)"
        yield "month", machines + "; further costs are in the bill of the plan"
        yield "zero", _scale_to_zero(e)
    if e.revenue:
        yield "revenue", "; ".join(_revenue(e, e.revenue))


def _scale_to_zero(e: Economics) -> str:
    m, start = e.month, span(e.month.cold_start_s)
    if e.service.least:
        return f"at least {plural(e.service.least, 'replica')} at all times; a cold start would take {start}"
    saved = None if m.kept_warm_usd is None or m.follows_usd is None else m.kept_warm_usd - m.follows_usd
    savings = f"{usd(saved, 0)} a month less than one warm replica" if saved is not None else f"savings {UNKNOWN}"
    hint = "" if e.idle_share else " (idle is not set)"
    return f"scales to zero: {savings}{hint}; the first request after a pause waits {start}"


def _revenue(e: Economics, r: Returns) -> Iterator[str]:
    yield f"{usd(r.earned_usd_per_month, 0)} a month at mean traffic, margin {usd(r.margin_usd_per_month, 0)}"
    if r.break_even_requests_per_s is not None:
        yield f"break-even at {_rate(r.break_even_requests_per_s)} requests/s"
    elif e.service.usd_per_hour is None:
        yield "break-even is unknown"
    else:
        cost, earned = price(unit_cost(e.full_point, e)), price(unit_revenue(e))
        yield f"break-even is not possible: full machines cost {cost} and earn {earned} USD per {SOLD[e.unit]}"
    if r.pays_month_s is not None:
        yield f"the revenue of {span(r.pays_month_s)} covers the machines of a month"
    if r.investment_usd is not None:
        back = f"paid back after {r.pay_back_s / 86400:,.0f} days" if r.pay_back_s is not None else "not paid back at this traffic"
        yield f"{usd(r.investment_usd, 0)} invested: {back}"


def unit_revenue(e: Economics) -> float | None:
    """US dollars earned per unit sold; None without a revenue."""
    if e.revenue is None:
        return None
    return e.revenue.usd_per_request * (1e6 / e.service.output_tokens if e.unit == "token" else e.requests_per_lot)


def comparison(e: Economics) -> Iterator[tuple[str, str, str, str, str]]:
    """(accelerators, USD per hour, requests per second, USD per unit, details) per accelerator."""
    for row in e.comparison:
        r = row.replica
        name = f"{r.accelerators} x {short(r.accelerator)}" if r.accelerators else r.accelerator
        if r.planned_requests_per_s is None:
            yield name, "-", "-", "not possible", r.refused
            continue
        cost, planned = row.usd_per_request, row.planned_usd_per_request
        if e.unit == "token":
            cost, planned = row.usd_per_million_tokens, row.planned_usd_per_million_tokens
        elif cost and planned is not None:
            cost, planned = cost.scaled(e.requests_per_lot), planned * e.requests_per_lot
        costs = f"{price(planned)} ({price(cost.p50)}; {price(cost.p10)} to {price(cost.p90)})" if cost else "unpriced"
        latency = f"first token {span(r.ttft_s)}, then {span(r.tpot_s)}" if r.tpot_s else f"{span(r.ttft_s)} each"
        further = (_source(row), latency, _evidence(r.evidence), *map(explanation, row.unsupported), *filter(None, [row.not_buildable]))
        yield name, money(row.usd_per_hour, 2), f"{_rate(r.planned_requests_per_s)}", costs, "; ".join(further)


def _source(row: ComparisonRow) -> str:
    """`p5.48xlarge us-east-1, list price of 2026-07-20`; of a candidate its rank."""
    where = f"{row.machine} {row.region} {row.capacity}".rstrip()
    if row.usd_per_hour is None:
        return f"price {UNKNOWN}"
    return f"#{row.rank} of the plan, {where}" if row.rank else f"{where}, list price of {row.price_as_of}"


def _evidence(words: str) -> str:
    return "prior only: allow a factor 2 either way" if words.startswith("prior") else evidence(words)


def field_report_text(e: Economics) -> str:
    """The published ratio beside the estimate; "" if none is published."""
    if e.report is None:
        return ""
    parts = ", ".join(f"{ratio:g} x {short(name)}" for name, ratio in e.report.ratios)
    ours = ", ".join(f"{ratio:.1f} x {short(name)}" if ratio else f"{short(name)}: not possible" for name, ratio in e.report.ours)
    return f"one TPU equals {parts} ({e.report.source}, {e.report.as_of}); estimate for a {e.report.tpu} in images/s, prior only: {ours}"


def _rate(requests_per_s: float) -> str:
    """Three significant digits, whole numbers from 1,000."""
    return f"{requests_per_s:,.0f}" if requests_per_s >= 1000 else f"{requests_per_s:,.3g}"


def price(value: float | None) -> str:
    """Three significant digits below 1 USD, else cents."""
    if value is None:
        return UNKNOWN
    return f"{value:,.2f}" if value >= 1 else f"{value:.3g}"
