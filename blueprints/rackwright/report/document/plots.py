"""Plots as SVG text, drawn offline, in one width for wide and one for narrow screens."""

import math
from typing import Any

import altair
import vl_convert

from rackwright.report.groups import groups, runner_up
from rackwright.report.terminal.economics import SOLD, price, unit_cost, unit_revenue
from rackwright.sizing.economics.serving import Economics
from rackwright.sizing.plan import Fit, SizingPlan
from rackwright.spec.spec import Spec
from rackwright.units import GIB, HOUR
from rackwright.wording.formatting import TERMS, machines, short, span, usd

alt: Any = altair  # its annotations do not know what its decorators add
WIDE, NARROW = 940, 340
INK, MUTED, CHOSEN, OTHER, REJECTED, LIMIT = "#1c2430", "#5d6875", "#0b7a53", "#2f6fb3", "#98a2ae", "#c2410c"
COLOURS = ("#134e6f", "#2f6fb3", "#77a9dd", "#0b7a53", "#7cc3a2", "#d69e2e", "#8a94a0", "#d5dae0", "#5d6875")
"""Colours of the memory terms, in their order."""
BARS_SHOWN = 8
MAX_DISTANCE = 6.0
"""Rejected candidates beyond this multiple of limits and fits are not drawn, so that the others stay readable."""
FONT = "Arial, Helvetica, Liberation Sans, sans-serif"
"""Fonts of equal metrics; labels are measured with the first."""
Point = dict[str, Any]
Limits = dict[str, tuple[float, str]]
"""(value, label) by axis."""


def scatter(spec: Spec, plan: SizingPlan, width: int) -> str:
    """Cost against time (training, batch) or against time per token (serving), with ranges and limits; "" without a point."""
    serving = plan.chosen is not None and plan.chosen.duration_s is None
    points = _points(plan, serving)
    limits = _limits(spec, serving)
    refused = [] if serving else _rejected_points(plan, points, limits)
    if not points and not refused:
        return ""
    x = alt.X("x:Q", title="time per output token, ms" if serving else "hours", scale=_scale([*points, *refused], "x", limits))
    y = alt.Y("y:Q", title="USD a month" if serving else "USD for the run", scale=_scale([*points, *refused], "y", limits))
    layers: list[Any] = []
    if refused:
        grey = alt.Chart(alt.Data(values=refused)).mark_point(filled=False, size=30, color=REJECTED, strokeWidth=1.2)
        layers.append(grey.encode(x=x, y=y))
    if points and not serving:
        front = [{"x": f.time_s / HOUR, "y": f.cost_usd.p50} for f in plan.frontier if f.cost_usd]
        layers.append(alt.Chart(alt.Data(values=front)).mark_line(color=MUTED, strokeWidth=1, opacity=0.7).encode(x=x, y=y))
    if points:
        layers += _fits(points, x, y, serving)
    layers += _limit_lines(limits)
    return svg(alt.layer(*layers), width, 360 if width >= WIDE else 300)


def _scale(points: list[Point], axis: str, limits: Limits, room: tuple[float, float] = (1.25, 1.35)) -> Any:
    """A logarithmic scale over points, intervals and limits. room: factors below the least and above the largest value."""
    values = [p[key] for p in points for key in (f"{axis}10", f"{axis}90") if key in p] + [p[axis] for p in points]
    values += [limits[axis][0]] if axis in limits else []
    return alt.Scale(type="log", domain=[min(values) / room[0], max(values) * room[1]], nice=False)


def _points(plan: SizingPlan, serving: bool) -> list[Point]:
    """One point per group of fits with a time and a price; the choice and the runner-up have labels."""
    second = runner_up(plan.fits)
    labelled = {1, second[0]} if second else {1}
    scale = 1000.0 if serving else 1 / HOUR
    points = []
    for group in groups(plan.fits):
        fit, cost = group.fit, group.fit.cost_usd
        time = (fit.speed.tpot_s if serving else fit.time_s) or 0.0
        if time > 0 and cost and cost.p50 > 0:
            wide = fit.finish_s.times(scale) if fit.finish_s else None
            x = {"x": time * scale, "x10": wide.p10 if wide else time * scale, "x90": wide.p90 if wide else time * scale}
            y = {"y": cost.p50, "y10": cost.p10, "y90": cost.p90}
            role = {"role": "chosen", "size": 190} if group.rank == 1 else {"role": "fits", "size": 70}
            points.append(x | y | role | {"label": f"#{group.rank}: {_name(fit)}" if group.rank in labelled else ""})
    return points


def _name(fit: Fit) -> str:
    return machines(fit.candidate) if fit.candidate.topology else f"{fit.candidate.accelerators} x {short(fit.candidate.accelerator)}"


def _rejected_points(plan: SizingPlan, points: list[Point], limits: Limits) -> list[Point]:
    """Rejected candidates with a time and a cost that are near enough, one per machines and capacity mode."""
    timed = {(machines(r.candidate), r.candidate.capacity): r for r in reversed(plan.rejected) if r.cost_usd and r.duration_s}
    found: list[Point] = [{"x": (r.duration_s or 0.0) / HOUR, "y": r.cost_usd} for r in timed.values()]
    near = {axis: [p[axis] for p in points] + [limits[axis][0] for _ in limits.keys() & {axis}] for axis in "xy"}
    far = {axis: MAX_DISTANCE * max(values, default=math.inf) for axis, values in near.items()}
    return sorted((p for p in found if p["x"] <= far["x"] and p["y"] <= far["y"]), key=lambda p: (p["x"], p["y"]))


def _fits(points: list[Point], x: Any, y: Any, serving: bool) -> list[Any]:
    data = alt.Chart(alt.Data(values=points))
    colour = alt.Color("role:N", scale=alt.Scale(domain=["chosen", "fits"], range=[CHOSEN, OTHER]), legend=None)
    layers = [data.mark_rule(opacity=0.45).encode(x=x, y=alt.Y("y10:Q"), y2="y90:Q", color=colour)]
    if not serving:
        layers.append(data.mark_rule(opacity=0.45).encode(x=alt.X("x10:Q"), x2="x90:Q", y=y, color=colour))
    layers.append(data.mark_point(filled=True, opacity=1).encode(x=x, y=y, color=colour, size=alt.Size("size:Q", scale=None, legend=None)))
    for role, dy in (("chosen", 20), ("fits", -14)):  # one below its point and one above: they may be neighbours
        layers += _labels([p for p in points if p["label"] and p["role"] == role], x, y, align="center", dy=dy)
    return layers


def _labels(points: list[Point], x: Any, y: Any, **place: Any) -> list[Any]:
    """The labels of points on a white outline."""
    text = alt.Chart(alt.Data(values=points)).encode(x=x, y=y, text="label:N")
    style = {"fontSize": 12, "fontWeight": 600, **place}
    return [text.mark_text(stroke="white", strokeWidth=4, **style), text.mark_text(color=INK, **style)]


def _limits(spec: Spec, serving: bool) -> Limits:
    found: Limits = {}
    if serving and (goal := getattr(spec.workload, "tpot", None)):
        found["x"] = goal.target * 1000, f"limit {span(goal.target)}"
    if not serving and spec.goals.max_duration:
        found["x"] = spec.goals.max_duration / HOUR, f"limit {span(spec.goals.max_duration)}"
    if spec.goals.max_cost:
        found["y"] = spec.goals.max_cost, f"limit {usd(spec.goals.max_cost, 0)}"
    return found


def _limit_lines(limits: Limits) -> list[Any]:
    """Dashed lines with a label; horizontal for y, vertical for x."""
    layers: list[Any] = []
    for axis, (value, text) in limits.items():
        at = {axis: (alt.X if axis == "x" else alt.Y)("limit:Q")}
        place, offset = ({"x": alt.value(4)}, {"dy": -6}) if axis == "y" else ({"y": alt.value(10)}, {"dx": 5})
        line = alt.Chart(alt.Data(values=[{"limit": value, "text": text}])).encode(**at)
        layers.append(line.mark_rule(color=LIMIT, strokeDash=[5, 4]))
        layers.append(line.mark_text(color=LIMIT, fontSize=11, align="left", **offset).encode(**place, text="text:N"))
    return layers


def cost_over_load(e: Economics, width: int) -> str:
    """Cost per unit sold over requests per second, both logarithmic; "" without a price. Each step is one more machine.

    Marks: mean and p95 traffic. Dashed line: revenue.
    """
    points = [{"x": p.requests_per_s, "y": cost} for p in e.curve if (cost := unit_cost(p, e))]
    if not points:
        return ""
    earned = unit_revenue(e)
    limits = {"y": (earned, f"earned: {price(earned)}")} if earned else {}
    x = alt.X("x:Q", title="requests per second", scale=_scale(points, "x", limits, (1.0, 1.3)))
    y = alt.Y("y:Q", title=f"USD per {SOLD[e.unit]}", scale=_scale(points, "y", limits, (1.6, 1.2)))
    layers = [alt.Chart(alt.Data(values=points)).mark_line(color=CHOSEN, strokeWidth=2).encode(x=x, y=y), *_limit_lines(limits)]
    for name, p, place in (
        ("mean", e.mean_point, {"align": "left", "dx": 9, "dy": -9}),
        ("p95", e.p95_point, {"align": "center", "dy": 26}),
    ):
        if cost := unit_cost(p, e):
            mark = [{"x": p.requests_per_s, "y": cost, "label": f"{name}: {price(cost)}"}]
            dot = alt.Chart(alt.Data(values=mark)).mark_point(filled=True, size=90, color=CHOSEN, opacity=1)
            layers += [dot.encode(x="x:Q", y="y:Q"), *_labels(mark, "x:Q", "y:Q", **place)]
    return svg(alt.layer(*layers), width, 320 if width >= WIDE else 260)


def memory_bars(plan: SizingPlan, width: int) -> str:
    """Memory of the fullest accelerator by term for the first fits, with marks at the capacity and the allowed fill."""
    rows, marks = [], []
    for group in groups(plan.fits)[:BARS_SHOWN]:
        memory, name = group.fit.memory, f"#{group.rank}: {_name(group.fit)}"
        for order, (term, label) in enumerate(TERMS.items()):
            if size := getattr(memory, f"{term}_bytes"):
                rows.append({"name": name, "term": label, "order": order, "gib": size / GIB})
        marks.append({"name": name, "gib": memory.capacity_bytes / GIB, "limit": "device"})
        marks.append({"name": name, "gib": memory.capacity_bytes * memory.max_fill / GIB, "limit": "allowed"})
    if not rows:
        return ""
    order = [mark["name"] for mark in marks if mark["limit"] == "device"]
    y = alt.Y("name:N", title=None, sort=order, axis=alt.Axis(labelLimit=int(width * 0.5), labelPadding=8, labelFontSize=12))
    colour = alt.Color("term:N", scale=alt.Scale(domain=list(TERMS.values()), range=list(COLOURS)), legend=None)
    bars = alt.Chart(alt.Data(values=rows)).mark_bar(height=16)
    stacked = bars.encode(x=alt.X("gib:Q", title="GiB per accelerator", stack="zero"), y=y, color=colour, order=alt.Order("order:Q"))
    ticks = alt.Chart(alt.Data(values=marks)).mark_tick(thickness=2.5, height=24)
    tick_colour = alt.condition("datum.limit == 'device'", alt.value(INK), alt.value(LIMIT))
    shown = alt.layer(stacked, ticks.encode(x="gib:Q", y=y, color=tick_colour)).resolve_scale(color="independent")
    return svg(shown, width, 34 * len(marks) // 2 + 10)


def legend(plan: SizingPlan) -> list[tuple[str, str]]:
    """(colour, term) of the memory terms in the plot."""
    shown = [group.fit.memory for group in groups(plan.fits)[:BARS_SHOWN]]
    pairs = zip(COLOURS, TERMS.items(), strict=True)
    return [(colour, label) for colour, (term, label) in pairs if any(getattr(memory, f"{term}_bytes") for memory in shown)]


def svg(chart: Any, width: int, height: int) -> str:
    """The chart as an SVG element; its style is the page's."""
    fitted = alt.AutoSizeParams(type="fit-x", contains="padding")
    styled = (
        chart.properties(width=width, height=height, background="transparent", autosize=fitted)
        .configure(font=FONT)
        .configure_axis(labelColor=MUTED, titleColor=INK, gridColor="#e6e9ed", domainColor="#c7ced6", tickColor="#c7ced6", labelFontSize=11)
        .configure_view(stroke=None)
    )
    return vl_convert.vegalite_to_svg(styled.to_json()).replace("<svg ", '<svg role="img" ', 1)
