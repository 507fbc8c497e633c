"""Plots as SVG text, drawn offline. Each comes in two widths, so that a phone shows one it can read."""

from typing import Any

import altair as alt
import vl_convert

from rackwright.report.view import what_of
from rackwright.sizing.plan import GIB, SizingPlan
from rackwright.spec.spec import Spec

WIDE, NARROW = 760, 300
INK, MUTED, CHOSEN, OTHER, REJECTED, LIMIT = "#1c2430", "#6b7684", "#0b7a53", "#2f6fb3", "#b9c1cb", "#c2410c"
TERMS = ("weights", "gradients", "optimizer", "activations", "head", "kv", "fixed", "margin")
TERM_COLOURS = ("#134e6f", "#2f6fb3", "#77a9dd", "#0b7a53", "#7cc3a2", "#d69e2e", "#8a94a0", "#d5dae0")
MOST_BARS, MOST_REJECTED = 8, 60


def scatter(spec: Spec, plan: SizingPlan, width: int) -> str:
    """Cost against time (training, batch) or against time per token (serving), with p10 to p90 bars and the spec's limits."""
    serving = bool(plan.fits) and plan.fits[0].duration_s is None
    points, rejected = _points(plan, serving), _rejected_points(plan, serving)
    if not points and not rejected:
        return ""
    x_title = "time per output token, ms" if serving else "duration, hours"
    y_title = "USD a month" if serving else "USD for the run"
    x = alt.X("x:Q", title=x_title, scale=alt.Scale(type="log", nice=True, padding=16))
    y = alt.Y("y:Q", title=y_title, scale=alt.Scale(type="log", nice=True, padding=16))
    layers: list[Any] = []
    if rejected:
        grey = alt.Chart(alt.Data(values=rejected)).mark_point(filled=False, size=26, color=REJECTED, strokeWidth=1.2)
        layers.append(grey.encode(x=x, y=y))
    if points:
        data = alt.Chart(alt.Data(values=points))
        colour = alt.Color("role:N", scale=alt.Scale(domain=["chosen", "fits"], range=[CHOSEN, OTHER]), legend=None)
        layers.append(data.mark_rule(opacity=0.55).encode(x=x, y=alt.Y("y10:Q"), y2="y90:Q", color=colour))
        if not serving:
            layers.append(data.mark_rule(opacity=0.55).encode(x=alt.X("x10:Q"), x2="x90:Q", y=y, color=colour))
        layers.append(data.mark_point(filled=True, opacity=1).encode(x=x, y=y, color=colour, size=alt.Size("size:Q", scale=None, legend=None)))
        named = alt.Chart(alt.Data(values=[p for p in points if p["label"]]))
        layers.append(named.mark_text(align="left", dx=9, dy=-9, fontSize=12, color=INK).encode(x=x, y=y, text="label:N"))
    layers += _limits(spec, serving)
    return _svg(alt.layer(*layers), width, 320)


def _points(plan: SizingPlan, serving: bool) -> list[dict[str, Any]]:
    points = []
    for rank, fit in enumerate(plan.fits):
        time = fit.speed.tpot_s if serving else fit.duration_s and fit.duration_s.p50
        if not time or fit.cost_usd.p50 <= 0:
            continue
        scale = 1000.0 if serving else 1 / 3600
        spread = fit.duration_s.times(scale) if fit.duration_s else None
        points.append(
            {
                "x": time * scale,
                "x10": spread.p10 if spread else time * scale,
                "x90": spread.p90 if spread else time * scale,
                "y": fit.cost_usd.p50,
                "y10": fit.cost_usd.p10,
                "y90": fit.cost_usd.p90,
                "role": "fits" if rank else "chosen",
                "size": 60 if rank else 170,
                "label": "" if rank else what_of(fit),
            }
        )
    return points


def _rejected_points(plan: SizingPlan, serving: bool) -> list[dict[str, Any]]:
    if serving:
        return []
    timed = [r for r in plan.rejected if r.cost_usd and r.duration_s]
    return [{"x": (r.duration_s or 0) / 3600, "y": r.cost_usd} for r in timed[:MOST_REJECTED]]


def _limits(spec: Spec, serving: bool) -> list[Any]:
    tpot = getattr(spec.workload, "tpot", None)
    along_x = (tpot.target * 1000 if tpot else None) if serving else spec.goals.max_duration and spec.goals.max_duration / 3600
    layers = []
    for axis, value in (("x", along_x), ("y", spec.goals.max_cost)):
        if value:
            data = alt.Chart(alt.Data(values=[{"limit": value}]))
            layers.append(data.mark_rule(color=LIMIT, strokeDash=[5, 4]).encode(**{axis: "limit:Q"}))
    return layers


def memory_bars(plan: SizingPlan, width: int) -> str:
    """Bytes on the fullest accelerator by term, for the first fits, with a mark at what the device holds and at what may be filled."""
    rows, marks = [], []
    for rank, fit in enumerate(plan.fits[:MOST_BARS], 1):
        name = f"{rank}  {what_of(fit)}, {fit.candidate.region}, {fit.candidate.capacity}"
        for order, term in enumerate(TERMS):
            held = getattr(fit.memory, f"{term}_bytes") / GIB
            if held > 0:
                rows.append({"name": name, "rank": rank, "term": term, "order": order, "gib": held})
        marks.append({"name": name, "rank": rank, "gib": fit.memory.capacity_bytes / GIB, "what": "device"})
        marks.append({"name": name, "rank": rank, "gib": fit.memory.capacity_bytes * fit.memory.max_fill / GIB, "what": "may be filled"})
    if not rows:
        return ""
    y = alt.Y("name:N", title=None, sort=alt.SortField("rank"), axis=alt.Axis(labelLimit=int(width * 0.42), labelPadding=8))
    colour = alt.Color(
        "term:N",
        scale=alt.Scale(domain=list(TERMS), range=list(TERM_COLOURS)),
        legend=alt.Legend(title=None, orient="top", columns=3 if width < WIDE else 8, values=[t for t in TERMS if any(r["term"] == t for r in rows)]),
    )
    bars = alt.Chart(alt.Data(values=rows)).mark_bar(height=16)
    layered = bars.encode(x=alt.X("gib:Q", title="GiB per accelerator", stack="zero"), y=y, color=colour, order=alt.Order("order:Q"))
    ticks = alt.Chart(alt.Data(values=marks)).mark_tick(thickness=2, height=24)
    tick_colour = alt.condition("datum.what == 'device'", alt.value(INK), alt.value(LIMIT))
    shown = alt.layer(layered, ticks.encode(x="gib:Q", y=y, color=tick_colour)).resolve_scale(color="independent")
    return _svg(shown, width, 34 * min(len(plan.fits), MOST_BARS) + 10)


def _svg(chart: alt.LayerChart, width: int, height: int) -> str:
    styled = (
        chart.properties(width=width - 90, height=height, background="transparent")
        .configure(font="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif")
        .configure_axis(labelColor=MUTED, titleColor=INK, gridColor="#e6e9ed", domainColor="#c7ced6", tickColor="#c7ced6", labelFontSize=11)
        .configure_view(stroke=None)
    )
    svg = vl_convert.vegalite_to_svg(styled.to_json())
    return svg.replace("<svg ", f'<svg role="img" style="max-width:100%;height:auto" data-width="{width}" ', 1)
