"""Hides the secrets of a file in quoted lines and in problems."""

import re
from collections.abc import Sequence
from dataclasses import replace

from rackwright.diagnostics.problem import BREAK, At, Problem
from rackwright.diagnostics.secret_scan import INDENT, secret_spans
from rackwright.diagnostics.secrets import HIDDEN, is_secret_path

MIN_CHARACTERS = 4
"""Shorter values are hidden only in problems about a secret, because they are often ordinary words."""
DISTINCT_CHARACTERS = 8
"""Values of this length are also hidden inside longer words."""
QUOTED_CHARACTERS = 37
"""Characters of a long value that a message quotes."""
HARMLESS = {"", "true", "false", "null", "~", "yes", "no", "on", "off", "!", "nothing"}


class Redaction:
    """The secrets of one text."""

    def __init__(self, text: str):
        self.lines = BREAK.split(text.removeprefix("\ufeff"))
        spans = secret_spans(self.lines)
        self.cuts = spans.cuts
        values = {part for value in spans.values for part in (value, value[:QUOTED_CHARACTERS], *value.splitlines())}
        self.values = sorted((v for v in values if v.strip().lower() not in HARMLESS and v not in spans.names), key=len, reverse=True)

    def line(self, number: int) -> str:
        """Line `number`, from 1, up to its first secret."""
        line = self.lines[number - 1]
        found = (line.find(value) for value in self.values if len(value) >= DISTINCT_CHARACTERS)
        cut = min((*filter(lambda column: column >= 0, found), self.cuts.get(number - 1, len(line))))
        if cut == len(line) and number - 1 not in self.cuts:
            return line
        return line[: max(cut, INDENT.match(line).end())] + HIDDEN  # ty: ignore

    def problems(self, problems: Sequence[Problem]) -> tuple[Problem, ...]:
        """The problems without the values of any secret in their texts and paths."""
        return tuple(self._problem(problem) for problem in problems)

    def _problem(self, problem: Problem) -> Problem:
        if not self.values:
            return problem
        about_secret = is_secret_path(problem.at.steps)
        steps = tuple(self._text(step, False) if isinstance(step, str) else step for step in problem.at.steps)
        return replace(problem, at=At(steps), reason=self._text(problem.reason, about_secret), fix=self._text(problem.fix, about_secret))

    def _text(self, text: str, about_secret: bool) -> str:
        for value in self.values:
            if value in text and (about_secret or len(value) >= MIN_CHARACTERS):
                text = re.sub(re.escape(value) if len(value) >= DISTINCT_CHARACTERS else rf"(?<!\w){re.escape(value)}(?!\w)", HIDDEN, text)
        return text
