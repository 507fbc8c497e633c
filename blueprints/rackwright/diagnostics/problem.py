"""A problem knows its place. Places are values, not text inside messages; one renderer prints the line and the caret."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from textwrap import wrap

WIDTH = 100
"""Columns of a terminal that every printed line fits in, the user's own file name excepted."""
TAB = " " * 4
BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
"""Line breaks as YAML counts them."""
LONGEST_QUOTE = 2000
"""Characters of a line that are looked at on either side of a caret; more than any terminal shows."""
SECRET_CODE = "V-114"
"""What follows such a place on its line is never printed."""
SECRET = re.compile(
    r"hf_[A-Za-z0-9]{16,}|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|\bsk-[\w-]{20,}"
    r"|\bAIza[\w-]{30,}|xox[abposr]-[\w-]{10,}|-----BEGIN [A-Z ]*PRIVATE KEY|\beyJ[\w-]{10,}\.[\w-]{10,}\.|(?<=://)[^/\s:@]+:[^/\s:@]+(?=@)"
)
"""Tokens that tell their issuer (Hugging Face, AWS, GitHub, GitLab, OpenAI, Google, Slack), private keys, JWT, passwords in addresses."""
_INK = {"error": "\033[1;31m", "warning": "\033[1;33m", "caret": "\033[32m", "end": "\033[0m"}


class Level(StrEnum):
    ERROR = "error"
    WARNING = "warning"


class Stage(StrEnum):
    """What a violated rule stops. A plan is shown when only building is stopped: it lists the violation under `before you build`."""

    PLAN = "plan"
    BUILD = "build"


@dataclass(frozen=True)
class At:
    """A place in a spec or a plan: `At() / "workloads" / 0 / "model"` prints as `workloads[0].model`."""

    steps: tuple[str | int, ...] = ()

    def __truediv__(self, step: str | int) -> "At":
        return At((*self.steps, step))

    def __str__(self) -> str:
        text = ""
        for step in self.steps:
            text += f"[{step}]" if isinstance(step, int) else f".{_visible(step)}" if text else _visible(step)
        return text or "(whole file)"


@dataclass(frozen=True)
class Mark:
    """Where something stands in a text file; both count from 1."""

    line: int
    column: int


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong or doubtful.

    code: rule id (`V-21`) or reader's code (`S-unknown-key`); reason: the law, in one sentence; fix: what to do;
    link: the law's own text; mark: set when the place was found in the user's file; stage: what the problem stops.
    """

    code: str
    reason: str
    at: At = At()
    fix: str = ""
    level: Level = Level.ERROR
    link: str = ""
    mark: Mark | None = None
    stage: Stage = Stage.PLAN

    def with_mark(self, mark: Mark | None) -> "Problem":
        return replace(self, mark=mark)

    @property
    def advice(self) -> str:
        """Reason and fix in one sentence."""
        return SECRET.sub("(hidden)", "; ".join(filter(None, (self.reason, self.fix))))

    def as_json(self) -> dict:
        """Plain data, as `--json` prints it; tokens that tell their issuer are hidden."""
        return {
            "code": self.code,
            "level": str(self.level),
            "path": str(self.at),
            "line": self.mark.line if self.mark else None,
            "column": self.mark.column if self.mark else None,
            "reason": SECRET.sub("(hidden)", self.reason),
            "fix": SECRET.sub("(hidden)", self.fix),
            "link": self.link,
            "stage": str(self.stage),
        }

    def __str__(self) -> str:
        line = f" (line {self.mark.line})" if self.mark else ""
        fix = f"; {self.fix}" if self.fix else ""
        return SECRET.sub("(hidden)", f"{self.level} {self.code} at {self.at}{line}: {self.reason}{fix}")


def render(problems: Sequence[Problem], text: str, source: str, color: bool = False) -> str:
    """Every problem with its line and a caret under its place, then one line that counts them; ends with a line break.

    text: the whole file the marks point into, "" where there is none. Lines are cut to 100 columns; text that follows a plaintext secret
    (V-114) on its line is left out.
    """
    lines = BREAK.split(text.removeprefix("\ufeff"))
    secrets = [p.mark for p in problems if p.code == SECRET_CODE and p.mark]
    shown = [_one(problem, _quotable(lines, problem.mark, secrets), source, color) for problem in problems]
    return "".join(f"{block}\n" for block in [*shown, _total(problems)])


def _one(problem: Problem, line: str | None, source: str, color: bool) -> str:
    place = f"{source}:{problem.mark.line}:{problem.mark.column}" if problem.mark else source
    ink = _INK if color else dict.fromkeys(_INK, "")
    path = _visible(str(problem.at)[:LONGEST_QUOTE])
    path = path if len(path) <= WIDTH else path[: WIDTH - 3] + "..."
    where = f": {path}" if problem.at.steps else ""
    block = [f"{place}: {ink[problem.level]}{problem.level} {problem.code}{ink['end']}{where}", *_paragraph("    ", problem.reason)]
    if problem.mark and line is not None:
        block += _excerpt(problem.mark, line, ink)
    block += _paragraph("    fix: ", problem.fix) if problem.fix else []
    block += [f"    see: {problem.link}"] if problem.link else []
    return "\n".join(block)


def _paragraph(indent: str, sentence: str) -> list[str]:
    return wrap(_visible(sentence), WIDTH, initial_indent=indent, subsequent_indent=" " * len(indent), break_on_hyphens=False)


def _quotable(lines: Sequence[str], mark: Mark | None, secrets: Sequence[Mark]) -> str | None:
    if mark is None or mark.line > len(lines) or not (line := lines[mark.line - 1]).strip() or "\0" in line:
        return None
    cuts = [secret.column - 1 for secret in secrets if secret.line == mark.line]
    return line[: min(cuts)] + "(hidden)" if cuts else line


def _excerpt(mark: Mark, line: str, ink: dict[str, str]) -> list[str]:
    gutter = f"{mark.line:5} | "
    room = WIDTH - len(gutter)
    caret = mark.column - 1
    before, after = _visible(line[max(0, caret - LONGEST_QUOTE) : caret]), _visible(line[caret : caret + LONGEST_QUOTE])
    if _columns(before + after) > room:
        before, after = _window(before, after, room)
    left = " " * (len(gutter) - 2) + "| " + " " * _columns(before)
    return [(gutter + before + after).rstrip(), f"{left}{ink['caret']}^{ink['end']}"]


def _window(before: str, after: str, room: int) -> tuple[str, str]:
    """The part of a long line round its caret, dots where it is cut."""
    if _columns(before) > room // 2:
        before = before[-room:]
        while _columns(before) > room // 2 - 3:
            before = before[1:]
        before = "..." + before
    keep = room - _columns(before)
    if _columns(after) > keep:
        after = after[:room]
        while _columns(after) > keep - 3:
            after = after[:-1]
        after += "..."
    return before, after


def _visible(text: str) -> str:
    """Tabs as spaces; secrets hidden; control characters, which could act on the terminal, as their escape."""
    text = SECRET.sub("(hidden)", text.replace("\t", TAB))
    return text if text.isprintable() else "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _columns(text: str) -> int:
    """Terminal columns: East Asian wide characters take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _total(problems: Sequence[Problem]) -> str:
    errors = sum(problem.level is Level.ERROR for problem in problems)
    counts = [(errors, "error"), (len(problems) - errors, "warning")]
    return ", ".join(f"{n} {word}{'s' * (n > 1)}" for n, word in counts if n) or "no problems"
