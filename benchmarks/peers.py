"""Other sizers on the rows and the search of ours, side by side.

    python benchmarks/peers.py [--date 2026-11-21] [--offline] [--out docs/peers.md]

Installs llm-analysis and aisimulate, pinned, in environments of their own under .cache/peers, asks them what our bench asks us, and
writes docs/peers.md. A row that a peer cannot express is a gap with a reason, never an error. A peer that does not install is said on the
page, and the rest still runs. --offline prints our side alone.
"""

import argparse
import datetime
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median
from typing import Any

from peers import ours, questions, searches
from peers.compare import answered, errors, errors_table, fitted, gaps_by_table, lines, percent
from peers.install import AISIMULATE, FAILURES, LLM_ANALYSIS, Installed, install
from rackwright.files import write_text
from tables import table

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "peers.md"
Predicted = Mapping[tuple[str, str], float]


@dataclass(frozen=True)
class Side:
    """What a peer said to a list of rows. seconds: of each answer. fault: why it said nothing."""

    values: dict[tuple[str, str], float] = field(default_factory=dict)
    gaps: dict[str, str] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    fault: str = ""


def side(peer: Installed, rows: Sequence[Any], words: Callable[[Any], questions.Question]) -> Side:
    """A peer that is not there, or fails as a whole, answers nothing and says why."""
    if not peer.pin:
        return Side(fault="not installed")
    asked, gaps = questions.asked(rows, words)
    try:
        values, more, seconds = answered(peer.ask({"rows": asked}))
    except FAILURES as fault:
        return Side(fault=f"failed: {fault}")
    return Side(values, gaps | more, seconds)


def page(date: str, peers: tuple[Installed, Installed]) -> str:
    """docs/peers.md."""
    trainer, server = peers
    parts = [f"# Peers, side by side\n\n{date}, {ours.version()}. `make peers` writes this page.\n\n{LEGEND}", _installed(peers)]
    rows = {kind: ours.rows(metrics) for kind, metrics in ours.METRICS.items()}
    parts += [*_training(trainer, rows["training"]), *_serving(server, rows["serving"])]
    return "\n\n".join([*parts, "## Search", _search(server)]) + "\n"


LEGEND = (
    "Errors are absolute, in percent of the measured value, over the scored rows that both sides predict; bias is the median of "
    "predicted / measured - 1. A row that a peer cannot express or has no tables for is a gap, not an error. Our mean and median "
    'are from grouped folds: the fit used no row of the group. "In sample" uses the shipped coefficients, which were fitted on the '
    "rows; it is reported, not compared."
)


def _installed(peers: Sequence[Installed]) -> str:
    said = []
    for one in peers:
        said += [f"- {pin} did not install: {why}" for pin, why in one.refused]
        said.append(f"- {one.peer.name}: {one.pin} was run." if one.pin else f"- {one.peer.name}: nothing to run, its rows are left out.")
    return "\n".join(said)


def _training(peer: Installed, rows: Sequence[ours.Row]) -> Iterator[str]:
    yield f"## Training: {peer.pin or peer.peer.name}"
    said = side(peer, rows, questions.training)
    if said.fault:
        yield f"Left out: {said.fault}."
        yield _alone(rows)
        return
    yield TRAINING
    yield _tables(rows, said)
    speed = {key: value for key, value in said.values.items() if key[1] == "tokens_per_s_per_accel"}
    kinds = [(*kind, r) for r in dict.fromkeys(row.table for row in rows) for kind in _efficiencies(speed, rows)]
    held = {name: [row for row in rows if row.table == name] for *_, name in kinds}
    made = [(f"{name}, {label}", errors((row.measured, value[row.id, row.metric]) for row in held[name] if (row.id, row.metric) in value))
            for label, value, name in kinds]  # fmt: skip
    body = [(label, str(found.n), *(percent(found, what) for what in ("mean", "median", "bias"))) for label, found in made if found]
    yield table(("share of peak FLOP/s given to it", "rows", "mean", "median", "bias"), body)
    yield _seconds(said, ours.METRICS["training"])


def _efficiencies(speed: Predicted, rows: Sequence[ours.Row]) -> list[tuple[str, Predicted]]:
    """Its rate is in proportion to the share."""
    return [("0.5, its advice", speed), ("1, its default", {key: 2 * value for key, value in speed.items()}),
            ("fitted to every other group", fitted(rows, speed))]  # fmt: skip


TRAINING = (
    "Models are described by the numbers of the row; none is downloaded. A gated layer is described as two matrices with the same "
    "number of weights. The only free number of llm-analysis is the share of peak FLOP/s, 0.5 here as its documentation advises. "
    "Its step time includes neither the pipeline bubble nor communication, and its FLOPs do not depend on the width of the "
    "feed-forward layer. Memory is its sum of weights, gradients, optimizer and activations."
)
SERVING = (
    "{0} of the {1} TPOT and TTFT values come from the sample of measured runs that is published with aiconfigurator; the same "
    "authors measured its operator tables on the same kinds of machine. These rows use the layout and number formats of the sample, "
    "and the newest tables for every release. The cache is FP8 when weights are narrower than 16 bit, which fits the rows better "
    "than its default. When a format has no table, the nearest formats are tried before the row is a gap. Offline rows have no "
    "batch size: the best rate of up to 18 estimates with 8 to 2,048 requests in flight counts."
)


def _serving(peer: Installed, rows: Sequence[ours.Row]) -> Iterator[str]:
    yield f"## Serving: {peer.pin or peer.peer.name}"
    said = side(peer, rows, questions.serving)
    if said.fault:
        yield f"Left out: {said.fault}."
        yield _alone(rows)
        return
    online = [row for row in rows if row.metric != "output_tok_s_per_accel"]
    yield SERVING.format(sum("silicon_sample" in row.cells["source_path"] for row in online), len(online))
    yield _tables(rows, said)
    yield _seconds(said, ours.METRICS["serving"])


def _tables(rows: Sequence[ours.Row], said: Side) -> str:
    gaps = table(("gaps", "why", "rows"), ((name, why, str(n)) for name, why, n in gaps_by_table(rows, said.gaps)))
    return f"{errors_table(lines(rows, said.values))}\n\n{gaps}"


def _alone(rows: Sequence[ours.Row]) -> str:
    """Our side of rows that no peer answers."""
    names = dict.fromkeys(row.table for row in rows)
    made = [(name, errors((row.measured, row.folds) for row in rows if row.table == name)) for name in names]
    body = [(name, str(found.n), percent(found, "mean"), percent(found, "median")) for name, found in made if found]
    return table(("rows", "scored", "our mean", "our median"), body)


def _seconds(said: Side, metrics: Sequence[str]) -> str:
    """Per 1,000 rows."""
    each, together = ours.seconds_per_1000(metrics)
    theirs = ("its answers, mean with what it loads", mean(said.seconds)), ("its answers, median", median(said.seconds))
    body = [(name, f"{1000 * value:.2f}") for name, value in theirs if said.seconds]
    body += [("ours, whole estimates one at a time", f"{each:.2f}"), ("ours, all rows at once, these metrics alone", f"{together:.4f}")]
    return table(("seconds per 1,000 rows", ""), body)


def _search(peer: Installed) -> str:
    body = [*_their_search(peer), *_our_search()]
    return f"{SEARCH}\n\n{table(('search', 'seconds', 'found'), body)}"


SEARCH = (
    "Qwen3-32B in FP8 on 32 x H200, 4,000 input and 500 output tokens, first token within 600 ms, 25 ms per token. aiconfigurator "
    "ranks by rate, for one engine on one kind of machine, with one pool or separate prefill and decode pools. rackwright ranks by "
    "cost for 20 requests/s in one pool: once pinned to 4 x p5en.48xlarge (32 x H200), and once over every machine of both clouds, "
    "with prices and all rejections. Calculon, the peer for training search, is not on PyPI and is left out."
)


def _their_search(peer: Installed) -> Iterator[tuple[str, str, str]]:
    if not peer.pin:
        return
    try:
        said = peer.ask({"search": searches.THEIRS})
        found = ", ".join(f"{name} {rate:.0f} tokens/s per GPU" for name, rate in said["found"].items())
        yield f"{peer.pin}, in process, loading its tables", f"{said['import_s'] + said['seconds'][0]:.2f}", found
        yield f"{peer.pin}, in process (best of 2)", f"{min(said['seconds']):.2f}", found
        command = searches.their_command(peer.folder)
        yield f"{peer.pin}, as a process (best of 2)", f"{searches.process(command, searches.THEIR_PROCESSES, peer.folder):.2f}", ""
    except FAILURES as fault:
        yield f"{peer.pin} failed", "", str(fault)[:200]


def _our_search() -> Iterator[tuple[str, str, str]]:
    for name, places in (("pinned to 32 x H200", searches.PINNED), ("every machine", searches.OPEN)):
        text = searches.spec(places)
        first, seconds, points, found = ours.search(text)
        yield f"ours, in process, {name}, the first", f"{first:.3f}", ""
        yield f"ours, in process, {name} (best of 5)", f"{seconds:.3f}", f"{points:,} layouts; {found}"
        yield f"ours, `rackwright plan` as a process, {name} (best of 5)", f"{searches.our_process(sys.executable, ROOT, text):.2f}", ""


def offline() -> str:
    """Our side alone."""
    parts = [_alone(ours.rows(metrics)) for metrics in ours.METRICS.values()]
    return "\n\n".join([*parts, table(("search", "seconds", "found"), _our_search())])


def main(argv: Sequence[str] | None = None) -> int:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--date", default=datetime.date.today().isoformat(), help="of the page")
    ask.add_argument("--out", type=Path, default=PAGE, help="the page")
    ask.add_argument("--offline", action="store_true", help="install nothing, print our side")
    asked = ask.parse_args(argv)
    os.nice(5)
    if asked.offline:
        print(offline())
        return 0
    text = page(asked.date, (install(LLM_ANALYSIS), install(AISIMULATE)))
    write_text(asked.out, text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
