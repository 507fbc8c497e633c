"""Rates and costs in the unit of a workload as text: images, seconds of audio, documents, requests."""

from rackwright.sizing.metrics import Interval
from rackwright.sizing.plan import Fit, WorkloadFacts
from rackwright.sizing.unit import UNITS, unit_cost
from rackwright.wording.formatting import count, span
from rackwright.wording.notes import note_text


def amount_text(it: WorkloadFacts) -> str:
    """`50M images of 224x224`; of a service one sample: `image of 1024x1024, 30 steps`."""
    sample = note_text(it.sample) if it.sample else ""
    if not it.units:
        return sample
    described = sample.removeprefix(it.unit) if sample.startswith(it.unit) else ""
    return f"{count(it.units)} {UNITS[it.unit].plural}{described}"


def rate_text(fit: Fit, it: WorkloadFacts) -> str:
    """`1,200 images/s in batches of up to 256; 0.56 USD per 1,000 images`; empty for work that is counted in tokens."""
    if it.unit == "token":
        return ""
    each, s = unit_cost(fit, it), fit.speed
    batch = f" in batches of up to {s.batch_size:,}" if s.batch_size and s.batch_size > 1 else ""
    parts = [f"{rate_number(s.units_per_s)} {UNITS[it.unit].plural}/s{batch}"] if s.units_per_s else []
    if s.unloaded_s:
        parts.append(f"answer in {span(s.ttft_s)} under load, {span(s.unloaded_s)} without other traffic")
    parts += [f"{unit_price(each.usd)} USD per {each.per}" + ("" if fit.duration_s else " at peak traffic")] if each else []
    return "; ".join(parts)


def rate_number(per_s: float) -> str:
    """`1,200`, `34.5`, `0.0368`: three significant digits below 10."""
    return f"{per_s:,.0f}" if per_s >= 100 else f"{per_s:,.1f}" if per_s >= 10 else f"{per_s:.3g}"


def unit_price(usd: Interval) -> str:
    """`0.56 (0.28 to 1.12)`; three significant digits below 1 USD."""
    low, likely, high = (f"{v:,.2f}" if v >= 1 else f"{v:.3g}" for v in (usd.p10, usd.p50, usd.p90))
    return likely if low == high else f"{likely} ({low} to {high})"
