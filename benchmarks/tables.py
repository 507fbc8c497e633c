"""The printed tables of the accuracy bench: one line a table of scoreable.toml, out-of-memory, and the residuals that stay."""

from collections.abc import Iterable, Iterator, Sequence

from rackwright.estimator.dataset.columns.scoring import scoring_rules
from rackwright.estimator.result import PredictionInterval
from scoring import Point, Score, confusion, score, within, worst

FACTORS = (1.5, 2.0)
HEAD = ("table", "n", "cover", "mean", "median", "cell mean", "cells", "target", "bias", "in p10-p90", "p90/p10", "> p90", "> p90 + 5 %",
        "x1.5", "x2")  # fmt: skip

LEGEND = (
    "Errors are absolute, in percent of the measured value; a scored row without a prediction counts 100. `n`: measured values; "
    "`cover`: percent of them with a prediction. Cells are publisher x framework x hardware; their mean may reach 1.5 times the "
    "target. Bias: median of predicted / measured - 1, in percent. `in p10-p90`: percent of the values within the interval, 80 when "
    "its width is right; `p90/p10`: median width of the interval; `> p90`: percent above the interval; `> p90 + 5 %`: percent more "
    'than 5 % above it; `x1.5` and `x2`: percent predicted within that factor. Tables marked "reported" have no target. Grouped '
    "folds: the fit used no run of the same kind of work, hardware and model. TTFT: time to first token; TPOT: time per output "
    "token after the first; MoE: mixture of experts; KV tokens: capacity of a server's cache. Equal published submissions differ by "
    "7 %."
)


def targets(name: str, kind: str = "grouped") -> tuple[float | None, float | None, dict[str, float]]:
    """Of a table, in percent: mean, median, and shares within factors. kind: grouped, family or cells."""
    table = next(t for r in scoring_rules() for t in r.tables if t.name == name)
    return (getattr(table, kind), table.median, dict(table.within))


def report(points: Iterable[Point], kind: str = "grouped") -> Iterator[tuple[str, ...]]:
    """A line for each table, in the order of scoreable.toml."""
    by_table: dict[str, list[Point]] = {}
    for point in points:
        by_table.setdefault(point.table, []).append(point)
    for name in dict.fromkeys(t.name for r in scoring_rules() for t in r.tables):  # a table may have rows of several files
        if held := by_table.get(name):
            yield _row(name, held, score(held), targets(name, kind))


def _row(name: str, held: Sequence[Point], s: Score, target: tuple[float | None, float | None, dict[str, float]]) -> tuple[str, ...]:
    wanted = [f"{target[0]:g}" if target[0] else "", f"median {target[1]:g}" if target[1] else ""]
    wanted += [f"{share:g} in x{float(factor):g}" for factor, share in target[2].items()]
    factors = [_percent(within(held, f), 0) for f in FACTORS]
    return (
        name, str(s.n), _percent(s.coverage, 0), _percent(s.mean), _percent(s.median), _percent(s.cell_mean), str(s.cells),
        ", ".join(filter(None, wanted)), _percent(s.bias), _percent(s.held, 0), "" if s.width is None else f"{s.width:.2f}",
        _percent(s.exceeds, 0), _percent(s.exceeds_much, 0), *factors,
    )  # fmt: skip


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Markdown, the first column to the left. A bar inside a cell becomes a slash."""
    body = (" | ".join(cell.replace("|", "/") for cell in row) for row in rows)
    return "\n".join([f"| {' | '.join(head)} |", "| --- |" + " ---: |" * (len(head) - 1), *(f"| {row} |" for row in body)])


def out_of_memory(asked: Sequence[tuple[PredictionInterval, float, bool]]) -> str:
    """Counts of runs by their predicted median and pessimistic side. asked: predicted GiB, GiB there are, whether it ran out."""
    rows = []
    for side in ("p50", "p90"):
        counts = confusion((said, getattr(b, side) > have) for b, have, said in asked)
        rows.append((f"{side} over memory", *(str(counts[pair]) for pair in ((True, True), (True, False), (False, True), (False, False)))))
    return table(("predicted by", "OOM, said so", "OOM, missed", "ran, said OOM", "ran, said so"), rows)


def residuals(points: Sequence[Point]) -> str:
    rows = []
    for name in dict.fromkeys(t.name for r in scoring_rules() for t in r.tables):
        held = [p for p in points if p.table == name]
        rows += [(name, c, str(n), _percent(e), f"{ratio:.2f}") for c, n, e, ratio in worst(held)]
    return table(("table", "cell", "rows", "mean error", "predicted / measured"), rows)


def _percent(share: float | None, digits: int = 1) -> str:
    return "" if share is None else f"{100 * share:.{digits}f}"
