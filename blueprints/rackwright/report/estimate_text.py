"""An estimate on a terminal: memory by term, time by term, rates with their interval, flags, and the nearest measured run."""

from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.text import Text

from rackwright.estimator.calibrate import Learning
from rackwright.estimator.result import Band, Estimate, NearestRun
from rackwright.report.tables import say, table
from rackwright.report.words import span
from rackwright.units import GIB

TERMS = {"kv": "cache", "reserved": "allocator"}


def show_estimate(out: Console, e: Estimate) -> None:
    fits = "fits" if e.fits else "does not fit"
    out.print(Text(f"\n{e.id or e.kind}: {fits}", style="bold"))
    for name, b, unit, scale in _headlines(e):
        say(out, name, f"{b.p50 / scale:,.4g} {unit}  ({b.p10 / scale:,.4g} to {b.p90 / scale:,.4g})")
    if e.time_to_train_s:
        t = e.time_to_train_s
        say(out, "to train", f"{span(t.p50)}  ({span(t.p10)} to {span(t.p90)}), start-up and evaluation included")
    say(out, "evidence", e.evidence)
    for words in e.warnings:
        say(out, "warning", words, "bold yellow")
    out.print(_memory(e))
    if e.step:
        out.print(_step(e))
    if e.largest_micro_batch is not None:
        say(out, "largest", f"micro-batch {e.largest_micro_batch:,}, context {e.largest_context or 0:,} tokens")
    for run in e.nearest:
        say(out, "nearest", _nearest(run))
    for launcher, flags in e.launch.items():
        say(out, launcher, flags)
    for words in e.assumptions:
        say(out, "assumed", words)


def _headlines(e: Estimate) -> list[tuple[str, Band, str, float]]:
    found: list[tuple[str, Band | None, str, float]] = [
        ("memory", e.peak_memory_bytes, f"GiB of {e.capacity_bytes / GIB:,.1f}", GIB),
        ("step", e.step_s, "s", 1.0),
        ("rate", e.tokens_per_s, "tokens/s", 1.0),
        ("", e.tokens_per_s_per_accelerator, "tokens/s per accelerator", 1.0),
        ("samples", e.samples_per_s, "per second", 1.0),
        ("first", e.ttft_s, "ms to the first token", 1e-3),
        ("next", e.tpot_s, "ms per token", 1e-3),
        ("output", e.output_tokens_per_s, "tokens/s out", 1.0),
        ("", e.output_tokens_per_s_per_accelerator, "tokens/s out per accelerator", 1.0),
        ("requests", e.requests_per_s, "per second", 1.0),
        ("cache", e.kv_tokens, "tokens per replica", 1.0),
    ]
    return [(name, b, unit, scale) for name, b, unit, scale in found if b is not None]


def _memory(e: Estimate) -> Any:
    made = table("GiB per accelerator", *(TERMS.get(name, name) for name in asdict(e.memory)), "total")
    stages = e.memory_stages if len(e.memory_stages) > 1 else ()
    for name, terms in (("fullest", e.memory), *((f"stage {i}", t) for i, t in enumerate(stages))):
        made.add_row(name, *(f"{value / GIB:,.1f}" for value in asdict(terms).values()), f"{terms.total / GIB:,.1f}")
    return made


def _step(e: Estimate) -> Any:
    made = table("step time", "seconds", "share")
    terms = {name: value for name, value in asdict(e.step).items() if not name.endswith("_total") and value} if e.step else {}
    for name, value in sorted(terms.items(), key=lambda item: -item[1]):
        made.add_row(name.replace("_", " "), f"{value:,.4f}", f"{value / e.step.total:.0%}" if e.step else "")
    return made


def _nearest(run: NearestRun) -> str:
    differs = f"; differs in {', '.join(run.differs)}" if run.differs else ""
    return f"{run.row_id}: {run.model} on {run.hardware}, {run.engine}: {run.measured:,.4g} {run.unit} measured{differs} ({run.source})"


def show_calibration(out: Console, made: Learning, path: str) -> None:
    """What was predicted, what was measured, what changes."""
    runs = table("run", "metric", "measured", "predicted", "now", right=("measured", "predicted", "now"))
    for run in made.runs:
        runs.add_row(run.row_id, f"{run.metric} ({run.unit})", *(f"{v:,.4g}" for v in (run.measured, run.before, run.after)))
    out.print(runs)
    for kind, (factor, n) in made.factors.items():
        say(out, "learned", f"{kind}: x {factor:g} from {n} run{'s' if n > 1 else ''}")
    for problem in made.problems:
        say(out, "left out", problem.reason, "bold yellow")
    say(out, "written", f"{path}; rackwright estimate FILE.jsonl --calibration {path}")
