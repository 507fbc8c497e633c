"""An estimate on a terminal: memory by term, time by term, rates with their interval, flags, and the nearest measured run."""

from collections.abc import Iterator
from dataclasses import asdict
from math import floor, log10

from rich.console import Console
from rich.text import Text

from rackwright.estimator.calibration.calibrate import CalibrationResult
from rackwright.estimator.result import Estimate, PredictionInterval, StepTerms
from rackwright.report.terminal.layout.tables import print_labelled, table
from rackwright.spec.base import quote
from rackwright.units import GIB
from rackwright.wording.formatting import span

TERMS = {"kv": "cache", "reserved": "allocator"}
METRICS = {
    "tokens_per_s_per_accel": "tokens/s per accelerator", "output_tok_s_per_accel": "tokens/s out per accelerator",
    "peak_memory_gib": "GiB", "ttft_ms": "ms to the first token", "tpot_ms": "ms per token", "kv_tokens": "tokens of cache",
    "time_to_train_min": "min to train", "accel_hours": "accelerator-hours",
}  # fmt: skip
"""Units of measured metrics."""


def show_estimate(out: Console, e: Estimate, shipped: Estimate | None = None) -> None:
    """shipped: the same estimate without the user's calibration; None without a calibration."""
    out.print(Text(f"\n{e.id or e.kind}: {_fits_text(e)}", style="bold").append("   median (p10 to p90)", style="not bold"))
    for name, b, unit, scale in _headlines(e):
        likely, low, high = _figures(b, scale)
        print_labelled(out, name, f"{likely} {unit}" + (f"  ({low} to {high})" if low != high else ""))
    if t := e.time_to_train_s:
        print_labelled(out, "to train", f"{span(t.p50)}  ({span(t.p10)} to {span(t.p90)}), start-up and evaluation included")
    print_labelled(out, "evidence", e.evidence)
    if shipped:
        print_labelled(out, "own runs", _changed(e, shipped))
    for text in e.warnings:
        print_labelled(out, "warning", text, "bold yellow")
    terms = [TERMS.get(name, name) for name in asdict(e.memory)]
    stages = [(f"stage {i}", stage) for i, stage in enumerate(e.memory_stages if len(e.memory_stages) > 1 else ())]
    memory = ((name, *(_gib(v) for v in asdict(stage).values()), _gib(stage.total)) for name, stage in [("fullest", e.memory), *stages])
    out.print(table(("GiB each", *terms, "total"), memory, right=(*terms, "total")))
    if e.step:
        out.print(table(("step time", "seconds", "share"), _step_rows(e.step), right=("seconds", "share")))
    if e.largest_micro_batch is not None:
        context = f", context {e.largest_context:,} tokens" if e.largest_context else ""
        print_labelled(out, "largest", f"micro-batch {e.largest_micro_batch:,}{context}")
    for run in e.nearest:
        differs = f"; differs in {', '.join(run.differs)}" if run.differs else ""
        measured = f"{_number(run.measured)} {METRICS.get(run.metric, run.unit)} measured"
        print_labelled(out, "nearest", f"{run.row_id}: {run.model} on {run.hardware}, {run.engine}: {measured}{differs} ({run.source})")
    for label, text in (*e.launch.items(), *(("assumed", assumption) for assumption in e.assumptions)):
        print_labelled(out, label, text)


def _fits_text(e: Estimate) -> str:
    """Whether it fits, with the percentile that decided where p50 and p90 differ: p90 for training as in a plan, p50 for samples."""
    if e.fits:
        return "fits" if e.peak_memory_bytes.p90 <= e.capacity_bytes else "fits at p50, not at p90"
    is_near = e.kind == "training" and e.peak_memory_bytes.p50 <= e.capacity_bytes
    return "does not fit at p90, which decides as in a plan; fits at p50" if is_near else "does not fit"


def _headlines(e: Estimate) -> list[tuple[str, PredictionInterval, str, float]]:
    found: list[tuple[str, PredictionInterval | None, str, float]] = [
        ("memory", e.peak_memory_bytes, f"GiB of {e.capacity_bytes / GIB:,.1f}", GIB),
        ("step", e.step_s, "s", 1.0),
        ("rate", e.tokens_per_s, "tokens/s", 1.0),
        ("", e.tokens_per_s_per_accelerator, "tokens/s per accelerator", 1.0),
        ("samples", e.samples_per_s, "per second", 1.0),
        ("TTFT", e.ttft_s, "ms to the first token", 1e-3),
        ("TPOT", e.tpot_s, "ms per token", 1e-3),
        ("output", e.output_tokens_per_s, "tokens/s out", 1.0),
        ("", e.output_tokens_per_s_per_accelerator, "tokens/s out per accelerator", 1.0),
        ("requests", e.requests_per_s, "per second", 1.0),
        ("cache", e.kv_tokens, "tokens per replica", 1.0),
    ]
    return [(name, b, unit, scale) for name, b, unit, scale in found if b is not None]


def _figures(b: PredictionInterval, scale: float) -> tuple[str, ...]:
    """p50, p10, p90 with the decimals of three digits of p50; values from 1,000 as whole numbers with four digits."""
    places = max(0, 2 - floor(log10(b.p50 / scale))) if b.p50 else 0
    return tuple(f"{float(f'{v:.4g}') if v >= 1000 else v:,.{places}f}" for v in (b.p50 / scale, b.p10 / scale, b.p90 / scale))


def _changed(e: Estimate, shipped: Estimate) -> str:
    """Headline values without the user's calibration, where they differ."""
    pairs = zip(_headlines(e), _headlines(shipped), strict=True)
    moved = [f"{name} {_figures(was, scale)[0]} {unit}".strip() for (name, b, *_), (_, was, unit, scale) in pairs if b != was]
    return f"without them {', '.join(moved)}" if moved else "no run of this class on this accelerator generation; unchanged"


def _gib(value: float) -> str:
    return f"{value / GIB:,.1f}"


def _step_rows(step: StepTerms) -> Iterator[tuple[str, str, str]]:
    """Terms of the step time, longest first; `tensor_exposed` is shown as `exposed tensor communication`."""
    terms = {name: value for name, value in asdict(step).items() if not name.endswith("_total") and value}
    for name, value in sorted(terms.items(), key=lambda item: -item[1]):
        label = f"exposed {name.removesuffix('_exposed')} communication" if name.endswith("_exposed") else name
        share = 100 * value / step.total
        yield label, f"{value:,.4f}", f"{share:.0f} %" if share >= 0.5 else "< 1 %"


def _number(value: float) -> str:
    return f"{float(f'{value:.4g}'):,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def show_calibration(out: Console, result: CalibrationResult, path: str) -> None:
    """Measured runs with their prediction before and after calibration."""
    rows = ((r.row_id, METRICS.get(r.metric, r.unit), _number(r.measured), _number(r.before), _number(r.after)) for r in result.runs)
    out.print(table(("run", "metric", "measured", "predicted", "now"), rows, right=("measured", "predicted", "now")))
    for kind, (factor, n) in result.factors.items():
        print_labelled(out, "learned", f"{kind}: x {factor:g} from {n} run{'s' if n > 1 else ''}")
    if result.unread:
        print_labelled(out, "not read", f"unknown columns: {', '.join(map(quote, result.unread))}", "bold yellow")
    for problem in result.problems:
        print_labelled(out, "left out", problem.reason, "bold yellow")
    print_labelled(out, "written", f"{path}; rackwright estimate FILE.jsonl --calibration {path}")
