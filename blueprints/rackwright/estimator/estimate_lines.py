"""Estimates for a JSONL text: one result per line. An invalid line does not affect the others."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Mark, Problem
from rackwright.estimator.calibration.coefficients import Calibration
from rackwright.estimator.config.jsonl import parse_line
from rackwright.estimator.estimate import estimate
from rackwright.estimator.result import Estimate

MAX_LINE_CHARACTERS = 100_000
"""Longest line. A configuration has some thousand characters."""


@dataclass(frozen=True)
class LineResult:
    """Result of one line. number: counted from 1; estimate: None when there are problems."""

    number: int
    estimate: Estimate | None
    problems: tuple[Problem, ...] = ()

    def as_json(self) -> dict[str, Any]:
        if self.estimate is not None:
            return {"ok": True, "line": self.number, **self.estimate.to_dict()}
        return {"ok": False, "line": self.number, "problems": [p.as_json() for p in self.problems]}


def estimate_lines(text: str, calibrated: Calibration | None = None) -> Iterator[LineResult]:
    """Yield one result per non-empty line, each as soon as it is computed. Empty text yields one problem. Never raises UserError."""
    if not text.strip():
        yield LineResult(1, None, (Problem("E-json", "the file contains no configuration", fix="write one JSON object per line"),))
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        if len(line) > MAX_LINE_CHARACTERS:
            reason = f"the line has {len(line):,} characters; the maximum is {MAX_LINE_CHARACTERS:,}"
            yield LineResult(number, None, (Problem("E-json", reason, fix="write one configuration per line", mark=Mark(number, 1)),))
        elif line.strip():
            try:
                yield LineResult(number, estimate(parse_line(line), calibrated))
            except UserError as error:
                yield LineResult(number, None, tuple(p.with_mark(p.mark or Mark(number, 1)) for p in error.problems))
