"""Plots as SVG text, drawn offline, in one width for wide and one for narrow screens."""

import math
from typing import Any

import altair
import vl_convert

from rackwright.report.groups import Group, groups, runner_up
from rackwright.sizing.plan import Fit, SizingPlan
from rackwright.spec.spec import Spec
from rackwright.units import GIB
from rackwright.wording.formatting import TERMS, machines, short, span, usd

alt: Any = altair  # its annotations do not know what its decorators add
WIDE, NARROW = 940, 340
INK, MUTED, CHOSEN, OTHER, REJECTED, LIMIT = "#1c2430", "#5d6875", "#0b7a53", "#2f6fb3", "#98a2ae", "#c2410c"
COLOURS = ("#134e6f", "#2f6fb3", "#77a9dd", "#0b7a53", "#7cc3a2", "#d69e2e", "#8a94a0", "#d5dae0")
"""Colours of the memory terms, in their order."""
MOST_BARS = 8
FAR = 6.0
"""Rejected candidates beyond this multiple of limits and fits are not drawn, so that the others stay readable."""
FONT = "Arial, Helvetica, Liberation Sans, sans-serif"
"""Fonts of equal metrics; labels are measured with the first."""
Point = dict[str, Any]


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
        front = [{"x": f.time_s / 3600, "y": f.cost_usd.p50} for f in plan.frontier if f.cost_usd]
        layers.append(alt.Chart(alt.Data(values=front)).mark_line(color=MUTED, strokeWidth=1, opacity=0.7).encode(x=x, y=y))
    if points:
        layers += _fits(points, x, y, serving)
    layers += _limit_lines(limits)
    return svg(alt.layer(*layers), width, 360 if width >= WIDE else 300)


def _scale(points: list[Point], axis: str, limits: dict[str, tuple[float, str]]) -> Any:
    """A logarithmic scale with room for intervals and limits."""
    values = [p[key] for p in points for key in (f"{axis}10", f"{axis}90") if key in p] + [p[axis] for p in points]
    values += [limits[axis][0]] if axis in limits else []
    return alt.Scale(type="log", domain=[min(values) / 1.25, max(values) * 1.35], nice=False)


def _points(plan: SizingPlan, serving: bool) -> list[Point]:
    second = runner_up(plan.fits)
    named = {1, second[0]} if second else {1}
    return [found for group in groups(plan.fits) if (found := _point(group, serving, group.rank in named))]


def _point(group: Group, serving: bool, named: bool) -> Point | None:
    fit = group.fit
    scale = 1000.0 if serving else 1 / 3600
    time = fit.speed.tpot_s if serving else fit.time_s
    if not time or not fit.cost_usd or fit.cost_usd.p50 <= 0:
        return None
    wide = fit.finish_s.times(scale) if fit.finish_s else None
    return {
        "x": time * scale,
        "x10": wide.p10 if wide else time * scale,
        "x90": wide.p90 if wide else time * scale,
        "y": fit.cost_usd.p50,
        "y10": fit.cost_usd.p10,
        "y90": fit.cost_usd.p90,
        "role": "chosen" if group.rank == 1 else "fits",
        "size": 190 if group.rank == 1 else 70,
        "label": f"#{group.rank}: {_name(fit)}" if named else "",
    }


def _name(fit: Fit) -> str:
    return machines(fit.candidate) if fit.candidate.topology else f"{fit.candidate.accelerators} x {short(fit.candidate.accelerator)}"


def _rejected_points(plan: SizingPlan, points: list[Point], limits: dict[str, tuple[float, str]]) -> list[Point]:
    """Rejected candidates with a time and a cost that are near enough, one per machines and capacity mode."""
    timed = {(machines(r.candidate), r.candidate.capacity): r for r in reversed(plan.rejected) if r.cost_usd and r.duration_s}
    found: list[Point] = [{"x": (r.duration_s or 0.0) / 3600, "y": r.cost_usd} for r in timed.values()]
    near = {axis: [p[axis] for p in points] + [limits[axis][0] for _ in limits.keys() & {axis}] for axis in "xy"}
    far = {axis: FAR * max(values, default=math.inf) for axis, values in near.items()}
    return sorted((p for p in found if p["x"] <= far["x"] and p["y"] <= far["y"]), key=lambda p: (p["x"], p["y"]))


def _fits(points: list[Point], x: Any, y: Any, serving: bool) -> list[Any]:
    data = alt.Chart(alt.Data(values=points))
    colour = alt.Color("role:N", scale=alt.Scale(domain=["chosen", "fits"], range=[CHOSEN, OTHER]), legend=None)
    layers = [data.mark_rule(opacity=0.45).encode(x=x, y=alt.Y("y10:Q"), y2="y90:Q", color=colour)]
    if not serving:
        layers.append(data.mark_rule(opacity=0.45).encode(x=alt.X("x10:Q"), x2="x90:Q", y=y, color=colour))
    layers.append(data.mark_point(filled=True, opacity=1).encode(x=x, y=y, color=colour, size=alt.Size("size:Q", scale=None, legend=None)))
    for role, dy in (("chosen", 20), ("fits", -14)):  # one below its point and one above: they may be neighbours
        named = alt.Chart(alt.Data(values=[p for p in points if p["label"] and p["role"] == role]))
        style = {"fontSize": 12, "fontWeight": 600, "dy": dy, "align": "center"}
        layers.append(named.mark_text(stroke="white", strokeWidth=4, **style).encode(x=x, y=y, text="label:N"))
        layers.append(named.mark_text(color=INK, **style).encode(x=x, y=y, text="label:N"))
    return layers


def _limits(spec: Spec, serving: bool) -> dict[str, tuple[float, str]]:
    """(value, text) by axis."""
    found: dict[str, tuple[float, str]] = {}
    if serving and (goal := getattr(spec.workload, "tpot", None)):
        found["x"] = goal.target * 1000, f"limit {span(goal.target)}"
    if not serving and spec.goals.max_duration:
        found["x"] = spec.goals.max_duration / 3600, f"limit {span(spec.goals.max_duration)}"
    if spec.goals.max_cost:
        found["y"] = spec.goals.max_cost, f"limit {usd(spec.goals.max_cost, 0)}"
    return found


def _limit_lines(limits: dict[str, tuple[float, str]]) -> list[Any]:
    layers: list[Any] = []
    for axis, (value, words) in limits.items():
        data = alt.Chart(alt.Data(values=[{"limit": value, "words": words}]))
        at = {axis: alt.X("limit:Q") if axis == "x" else alt.Y("limit:Q")}
        layers.append(data.mark_rule(color=LIMIT, strokeDash=[5, 4]).encode(**at))
        edge = {"x": alt.value(4), "align": "left", "dy": -6} if axis == "y" else {"y": alt.value(10), "align": "left", "dx": 5}
        place = {key: edge.pop(key) for key in ("x", "y") if key in edge}
        layers.append(data.mark_text(color=LIMIT, fontSize=11, **edge).encode(**at, **place, text="words:N"))
    return layers


def memory_bars(plan: SizingPlan, width: int) -> str:
    """Memory of the fullest accelerator by term for the first fits, with marks at the capacity and the allowed fill."""
    rows, marks = [], []
    for group in groups(plan.fits)[:MOST_BARS]:
        memory, name = group.fit.memory, f"#{group.rank}: {_name(group.fit)}"
        for order, (term, words) in enumerate(TERMS.items()):
            if held := getattr(memory, f"{term}_bytes"):
                rows.append({"name": name, "rank": group.rank, "term": words, "order": order, "gib": held / GIB})
        marks.append({"name": name, "rank": group.rank, "gib": memory.capacity_bytes / GIB, "what": "device"})
        marks.append({"name": name, "rank": group.rank, "gib": memory.capacity_bytes * memory.max_fill / GIB, "what": "may be filled"})
    if not rows:
        return ""
    order = [mark["name"] for mark in marks if mark["what"] == "device"]
    y = alt.Y("name:N", title=None, sort=order, axis=alt.Axis(labelLimit=int(width * 0.45), labelPadding=8, labelFontSize=12))
    colour = alt.Color("term:N", scale=alt.Scale(domain=list(TERMS.values()), range=list(COLOURS)), legend=None)
    bars = alt.Chart(alt.Data(values=rows)).mark_bar(height=16)
    stacked = bars.encode(x=alt.X("gib:Q", title="GiB per accelerator", stack="zero"), y=y, color=colour, order=alt.Order("order:Q"))
    ticks = alt.Chart(alt.Data(values=marks)).mark_tick(thickness=2.5, height=24)
    tick_colour = alt.condition("datum.what == 'device'", alt.value(INK), alt.value(LIMIT))
    shown = alt.layer(stacked, ticks.encode(x="gib:Q", y=y, color=tick_colour)).resolve_scale(color="independent")
    return svg(shown, width, 34 * len(marks) // 2 + 10)


def legend(plan: SizingPlan) -> list[tuple[str, str]]:
    """(colour, term) of the memory terms in the plot."""
    shown = [group.fit.memory for group in groups(plan.fits)[:MOST_BARS]]
    pairs = zip(COLOURS, TERMS.items(), strict=True)
    return [(colour, words) for colour, (term, words) in pairs if any(getattr(memory, f"{term}_bytes") for memory in shown)]


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
