"""Serving economics as text, for terminal and report. Computes no number."""

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from rackwright.report.terminal.tables import print_labelled, ranked, table, title
from rackwright.sizing.economics.comparison import ComparisonRow
from rackwright.sizing.economics.formulas import LoadPoint, Returns
from rackwright.sizing.economics.serving import Economics
from rackwright.wording.formatting import UNKNOWN, plural, readable, short, span, usd

LOADS_SHOWN = 7
SOLD = {"token": "million output tokens", "image": "image", "request": "request"}


def show_economics(out: Console, e: Economics) -> None:
    """Load, month, revenue, and the same service on other accelerators."""
    title(out, e.spec, f"{e.model} on {e.machine}")
    out.print()
    numbers = ("requests/s", "replicas", "utilisation", "USD/h")
    made = table(*numbers, f"USD per {SOLD[e.unit]}", right=numbers)
    for row in loads(e):
        made.add_row(*row)
    out.print(made)
    out.print()
    for label, words in economics_lines(e):
        print_labelled(out, label, words)
    out.print(Text("\nThe same service on other accelerators at full utilisation, cheapest first (p10 to p90)\n", style="bold"))
    rows = [((cost, what, rate, hourly), words) for what, hourly, rate, cost, words in comparison(e)]
    out.print(ranked(rows, (f"USD per {SOLD[e.unit]}", "accelerators", "max requests/s", "USD/h")))
    if words := field_report_text(e):
        print_labelled(out, "reported", words)
    for words in e.warnings:
        print_labelled(out, "warning", words, "bold yellow")
    print_labelled(out, "assumed", "; ".join(f"{i.name} {i.value} {i.unit}" for i in map(readable, e.assumptions)), "dim")


def loads(e: Economics) -> list[tuple[str, ...]]:
    """Load table: named loads and some between, lowest first."""
    full, one = e.full_point.requests_per_s, e.full_point
    shares = [min(e.curve, key=lambda p: abs(p.requests_per_s - full * s)) for s in (0.05, 0.25, 0.5)]
    named = [(e.mean_point, "mean"), (e.p95_point, "p95"), (one, "full")] + [(p, "") for p in shares]
    seen: dict[float, tuple[LoadPoint, str]] = {}
    for p, name in named:
        old = seen.get(round(p.requests_per_s, 6))
        seen[round(p.requests_per_s, 6)] = (p, " ".join(filter(None, (old[1] if old else "", name))))
    return [_load(p, name, e) for _, (p, name) in sorted(seen.items())][:LOADS_SHOWN]


def _load(p: LoadPoint, name: str, e: Economics) -> tuple[str, ...]:
    rate = f"{p.requests_per_s:,.3g}" + (f" ({name})" if name else "")
    return rate, str(p.replicas), f"{p.share * 100:,.0f} %", usd(p.usd_per_hour, 2).removesuffix(" USD"), price(unit_cost(p, e))


def unit_cost(p: LoadPoint, e: Economics) -> float | None:
    """US dollars per unit sold."""
    return p.usd_per_million_tokens if e.unit == "token" else p.usd_per_request


def economics_lines(e: Economics) -> Iterator[tuple[str, str]]:
    """(label, text) per line."""
    s, m = e.service, e.month
    evidence = "prior only: allow a factor 2 either way" if e.evidence.startswith("prior") else e.evidence
    yield "replica", f"{s.requests_per_s:,.3g} requests/s within the latency goals, reserve included; {evidence}"
    if s.copies > 1:
        yield "machine", f"holds {plural(s.copies, 'replica')}; its full price is paid even if fewer run"
    yield (
        "traffic",
        (
            f"mean {e.mean_requests_per_s:,.3g}/s: {plural(e.mean_point.replicas, 'replica')}; p95 {e.p95_requests_per_s:,.3g}/s: "
            f"{plural(e.p95_point.replicas, 'replica')}; {m.mean_replicas:,.1f} on average over all hours"
        ),
    )
    follows, fixed = usd(m.follows_usd, 0), usd(m.fixed_usd, 0)
    words = f"machines cost {follows} with autoscaling, {fixed} with the replicas of p95 all the time (price of the plan)"
    yield "month", words + "; further costs are in the bill of the plan"
    yield "zero", _scale_to_zero(e)
    if e.revenue:
        yield "revenue", "; ".join(_revenue(e))


def _scale_to_zero(e: Economics) -> str:
    m, start = e.month, span(e.month.cold_start_s)
    if e.service.least:
        return f"at least {plural(e.service.least, 'replica')} at all times; a cold start would take {start}"
    saved = None if m.kept_warm_usd is None or m.follows_usd is None else m.kept_warm_usd - m.follows_usd
    words = f"{usd(saved, 0)} a month less than one warm replica" if saved is not None else f"savings {UNKNOWN}"
    hint = "" if e.idle_share else " (idle is not set)"
    return f"scales to zero: {words}{hint}; the first request after a pause waits {start}"


def _revenue(e: Economics) -> Iterator[str]:
    r = e.revenue
    assert r is not None
    yield f"{usd(r.earned_usd_per_month, 0)} a month at mean traffic, margin {usd(r.margin_usd_per_month, 0)}"
    if r.break_even_requests_per_s is None:
        never = "is unknown" if e.service.usd_per_hour is None else f"is not possible: {_full_cost(e, r)}"
        yield f"break-even {never}"
    else:
        yield f"break-even at {r.break_even_requests_per_s:,.3g} requests/s"
    if r.pays_month_s is not None:
        yield f"the revenue of {span(r.pays_month_s)} covers the machines of a month"
    if r.investment_usd is not None:
        back = f"paid back after {r.pay_back_s / 86400:,.0f} days" if r.pay_back_s is not None else "not paid back at this traffic"
        yield f"{usd(r.investment_usd, 0)} invested: {back}"


def _full_cost(e: Economics, r: Returns) -> str:
    """Cost and revenue per unit at full utilisation."""
    cost, earned = unit_cost(e.full_point, e), r.usd_per_request * (1e6 / e.service.output_tokens if e.unit == "token" else 1.0)
    return f"full machines cost {price(cost)} and earn {price(earned)} USD per {SOLD[e.unit]}"


def comparison(e: Economics) -> list[tuple[str, str, str, str, str]]:
    """(accelerators, USD per hour, requests per second, USD per unit, details) per accelerator."""
    return [_comparison_row(row, e) for row in e.comparison]


def _comparison_row(row: ComparisonRow, e: Economics) -> tuple[str, str, str, str, str]:
    r = row.replica
    what = f"{r.accelerators} x {short(r.accelerator)}" if r.accelerators else r.accelerator
    if r.requests_per_s is None:
        return what, "-", "-", "not possible", r.refused
    cost = row.usd_per_million_tokens if e.unit == "token" else row.usd_per_request
    words = f"{price(cost.p50)} ({price(cost.p10)} to {price(cost.p90)})" if cost else "unpriced"
    first = f"first token {span(r.ttft_s)}, then {span(r.tpot_s)}" if r.tpot_s else f"{span(r.ttft_s)} each"
    kind = "prior only" if r.evidence.startswith("prior") else r.evidence
    dated = f"{row.machine} {row.region}, list price of {row.price_as_of}" if cost else f"price {UNKNOWN}"
    return what, usd(row.usd_per_hour, 2).removesuffix(" USD"), f"{r.requests_per_s.p50:,.3g}", words, f"{dated}; {first}; {kind}"


def field_report_text(e: Economics) -> str:
    """The published ratio beside the estimate; "" if none is published."""
    if e.report is None:
        return ""
    parts = ", ".join(f"{ratio:g} x {short(name)}" for name, ratio in e.report.ratios)
    ours = ", ".join(f"{ratio:.1f} x {short(name)}" if ratio else f"{short(name)}: not possible" for name, ratio in e.report.ours)
    return f"one TPU equals {parts} ({e.report.source}, {e.report.as_of}); estimate for a {e.report.tpu} in images/s, prior only: {ours}"


def price(value: float | None) -> str:
    """Three significant digits below 1 USD, else cents."""
    if value is None:
        return UNKNOWN
    return f"{value:,.2f}" if value >= 1 else f"{value:.3g}"
