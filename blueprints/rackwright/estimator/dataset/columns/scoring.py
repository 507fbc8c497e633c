"""Selection of scored rows by the conditions in data/scoreable.toml, which its header explains."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

from rackwright.estimator.dataset.columns.cells import BrokenCell, PrintedRow
from rackwright.estimator.dataset.columns.measured import measured_value

FILE = Path(__file__).parents[2] / "data" / "scoreable.toml"


@dataclass(frozen=True)
class ScoringTable:
    """One line of the accuracy tables. Targets in percent; None: reported only."""

    name: str
    when: Mapping[str, Any] = field(default_factory=dict)
    grouped: float | None = None
    family: float | None = None
    median: float | None = None
    cells: float | None = None
    within: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class ScoringRule:
    csv: str
    metric: str
    tables: tuple[ScoringTable, ...]
    needs: Mapping[str, Any] = field(default_factory=dict)
    excludes: tuple[Mapping[str, Any], ...] = ()

    def table(self, row: PrintedRow) -> ScoringTable:
        return next(t for t in self.tables if not any(why(row) for why in _condition_checks(t.when, (), "")))


@cache
def scoring_rules(file: Path = FILE) -> tuple[ScoringRule, ...]:
    """Return every rule, in the order of the file."""
    raw = tomllib.loads(file.read_text(encoding="utf-8"))["rule"]
    return tuple(
        ScoringRule(
            r["csv"], r["metric"], tuple(ScoringTable(**t) for t in r["tables"]), r.get("needs", {}), tuple(r.get("excludes", ()))
        )
        for r in raw
    )  # fmt: skip


def scoring_rule(csv: str, metric: str) -> ScoringRule | None:
    return next((r for r in scoring_rules() if (r.csv, r.metric) == (csv, metric)), None)


def exclusion_reason(row: PrintedRow, metric: str, others: Sequence[PrintedRow] = ()) -> str | None:
    """Return why a row is not scored in a metric; None when it is. others: rows of its file, for outliers. Raises BrokenCell."""
    rule = scoring_rule(row.csv, metric)
    if rule is None:
        return f"{metric} of {row.csv} is reported only"
    if measured_value(row, metric) is None:
        return "no reading"
    missed = next((reason for why in _condition_checks(rule.needs, others, metric) if (reason := why(row))), None)
    if missed:
        return missed
    for exclusion in rule.excludes:
        if not any(why(row) for why in _condition_checks(exclusion, others, metric)):
            return "excluded: " + ", ".join(f"{k} {v}" for k, v in exclusion.items())
    return None


def _condition_checks(conditions: Mapping[str, Any], others: Sequence[PrintedRow], metric: str) -> list[Callable[[PrintedRow], str | None]]:
    """Return one check per condition; a check returns the reason when the row does not meet it."""
    made: list[Callable[[PrintedRow], str | None]] = []
    for kind, value in conditions.items():
        if kind == "outlier":
            made.append(lambda row, value=value: _outlier(row, value, others, metric))
        elif kind == "conflict":
            made.append(lambda row, value=value: None if contradiction(row) > value["times"] else "its figures agree")
        elif isinstance(value, Mapping):
            made += [lambda row, kind=kind, c=column, v=wanted: TESTS[kind](row, c, v) for column, wanted in value.items()]
        else:
            made += [lambda row, kind=kind, c=column: TESTS[kind](row, c, None) for column in value]
    return made


def _first_match(row: PrintedRow, column: str, wanted: Sequence[str]) -> str | None:
    text = row.cells.get(column, "").lower()
    return next((w for w in wanted if w.lower() in text), None)


def _compare(row: PrintedRow, column: str, holds: Callable[[float], bool], rule: str) -> str | None:
    value = row.number(column)
    return None if value is not None and holds(value) else f"{column} is not {rule}"


def _product(row: PrintedRow, column: str, factors: Sequence[str]) -> str | None:
    made = 1.0
    for factor in factors:
        value = row.number(factor)
        made *= max(value, 1.0) if value else 1.0 if factor == "attention_dp" else float("nan")
    return None if row.number(column) == made else f"{column} is not {' x '.join(factors)}"


def contradiction(row: PrintedRow) -> float:
    """Return the ratio of two output rates of a row, 1 or more: the printed one, and the one that its latencies imply; 1 without both."""
    batch, tokens, total = (row.number(c) for c in ("batch_size", "osl", "output_tok_s_total"))
    first_ms, token_ms = row.number("ttft_ms") or 0.0, row.number("tpot_ms")
    if not (batch and tokens and total and token_ms):
        return 1.0
    from_latency = batch * tokens * 1e3 / (first_ms + (tokens - 1) * token_ms)
    return max(total / from_latency, from_latency / total)


def _outlier(row: PrintedRow, rule: Mapping[str, Any], others: Sequence[PrintedRow], metric: str) -> str | None:
    """Return None when the reading is an outlier, so that the row is excluded."""
    alike = [v for o in others if all(o.text(c) == row.text(c) for c in rule["alike"]) if (v := _reading(o, metric))]
    value = measured_value(row, metric)
    return None if alike and value and value > rule["times"] * median(alike) else "near its equals"


def _reading(row: PrintedRow, metric: str) -> float | None:
    try:
        return measured_value(row, metric)
    except BrokenCell:
        return None


TESTS: dict[str, Callable[[PrintedRow, str, Any], str | None]] = {
    "present": lambda row, c, _: f"{c} is blank" if row.cells.get(c, "").strip().lower() in ("", "nan") else None,
    "blank": lambda row, c, _: f"{c} is given" if row.text(c) else None,
    "above": lambda row, c, v: _compare(row, c, lambda x: x > v, f"above {v}"),
    "at_least": lambda row, c, v: _compare(row, c, lambda x: x >= v, f"at least {v}"),
    "at_most": lambda row, c, v: _compare(row, c, lambda x: x <= v, f"at most {v}"),
    "contains": lambda row, c, v: None if _first_match(row, c, v) else f"{c} is not {' or '.join(v)}",
    "lacks": lambda row, c, v: f"{c}: {found}" if (found := _first_match(row, c, v)) else None,
    "is": lambda row, c, v: None if row.lower(c) in v else f"{c} is not {' or '.join(v)}",
    "is_not": lambda row, c, v: f"{c} is {row.text(c)}" if row.lower(c) in v else None,
    "product": _product,
}
