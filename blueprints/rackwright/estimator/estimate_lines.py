"""A JSONL text -> an answer for every line: an estimate, or what is wrong with the line."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Mark, Problem
from rackwright.estimator.calibration.coefficients import Calibration
from rackwright.estimator.config.jsonl import ConfigurationLine, read_lines
from rackwright.estimator.estimate import estimate
from rackwright.estimator.result import Estimate


@dataclass(frozen=True)
class LineResult:
    """number: of the line, from 1; estimate is None where there are problems."""

    number: int
    estimate: Estimate | None
    problems: tuple[Problem, ...] = ()

    def as_json(self) -> dict[str, Any]:
        if self.estimate is not None:
            return {"ok": True, "line": self.number, **self.estimate.to_dict()}
        return {"ok": False, "line": self.number, "problems": [p.as_json() for p in self.problems]}


def estimate_lines(text: str, calibrated: Calibration | None = None) -> Iterator[LineResult]:
    """One for each line that is not empty, as soon as it is known; a text without any line is one problem. Never raises UserError: a
    broken line costs only itself."""
    if not text.strip():
        yield LineResult(1, None, (Problem("E-json", "no configuration in it", fix="one configuration a line, as JSON"),))
    for line in read_lines(text):
        yield _answer(line, calibrated)


def _answer(line: ConfigurationLine, calibrated: Calibration | None) -> LineResult:
    if line.config is None:
        return LineResult(line.number, None, line.problems)
    try:
        return LineResult(line.number, estimate(line.config, calibrated))
    except UserError as error:
        return LineResult(line.number, None, tuple(p.with_mark(Mark(line.number, 1)) for p in error.problems))
