"""Cost over load as SVG text, in the style of plots.py."""

from typing import Any

import altair

from rackwright.report.document.plots import CHOSEN, INK, LIMIT, WIDE, svg
from rackwright.report.terminal.economics import SOLD, price, unit_cost
from rackwright.sizing.economics.serving import Economics

alt: Any = altair  # its annotations do not know what its decorators add


def cost_over_load(e: Economics, width: int) -> str:
    """Cost per unit sold over requests per second, both logarithmic; "" without a price. Each step is one more machine.

    Marks: mean and p95 traffic. Dashed line: revenue.
    """
    points = [{"x": p.requests_per_s, "y": cost} for p in e.curve if (cost := unit_cost(p, e))]
    if not points:
        return ""
    named = [("mean", e.mean_point), ("p95", e.p95_point)]
    marks = [{"x": p.requests_per_s, "y": cost, "label": f"{name}: {price(cost)}"} for name, p in named if (cost := unit_cost(p, e))]
    earned = _earned(e)
    values = [p["y"] for p in points] + ([earned] if earned else [])
    x = alt.X("x:Q", title="requests per second", scale=_scale(points[0]["x"], points[-1]["x"] * 1.3))
    y = alt.Y("y:Q", title=f"USD per {SOLD[e.unit]}", scale=_scale(min(values) / 1.6, max(values) * 1.2))
    layers = [alt.Chart(alt.Data(values=points)).mark_line(color=CHOSEN, strokeWidth=2).encode(x=x, y=y)]
    if earned:
        line = alt.Chart(alt.Data(values=[{"y": earned, "words": f"earned: {price(earned)}"}]))
        layers.append(line.mark_rule(color=LIMIT, strokeDash=[5, 4]).encode(y="y:Q"))
        layers.append(line.mark_text(color=LIMIT, fontSize=11, align="left", dy=-6).encode(x=alt.value(4), y="y:Q", text="words:N"))
    data = alt.Chart(alt.Data(values=marks))
    layers.append(data.mark_point(filled=True, size=90, color=CHOSEN, opacity=1).encode(x="x:Q", y="y:Q"))
    for mark, place in zip(marks, ({"align": "left", "dx": 9, "dy": -9}, {"align": "center", "dy": 26}), strict=False):
        label, style = alt.Chart(alt.Data(values=[mark])), {"fontSize": 12, "fontWeight": 600, **place}
        layers.append(label.mark_text(stroke="white", strokeWidth=4, **style).encode(x="x:Q", y="y:Q", text="label:N"))
        layers.append(label.mark_text(color=INK, **style).encode(x="x:Q", y="y:Q", text="label:N"))
    return svg(alt.layer(*layers), width, 320 if width >= WIDE else 260)


def _scale(low: float, high: float) -> Any:
    return alt.Scale(type="log", domain=[low, high], nice=False)


def _earned(e: Economics) -> float | None:
    """Revenue per unit sold."""
    if e.revenue is None:
        return None
    return e.revenue.usd_per_request / e.service.output_tokens * 1e6 if e.unit == "token" else e.revenue.usd_per_request
