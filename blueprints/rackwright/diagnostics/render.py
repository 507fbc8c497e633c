"""Prints problems with the quoted line of the file and a caret under the place."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import WIDTH, Level, Mark, Problem, visible
from rackwright.diagnostics.redaction import Redaction

MAX_FILE_BYTES = 1_000_000
"""Lines of a larger file are not quoted."""
MAX_QUOTED_CHARACTERS = 2000
"""Characters of a line that are read on either side of a caret."""
START = Mark(1, 1)
"""The mark of a key that the file lacks: its first line is not quoted, because it has another key."""
_INK = {"error": "\033[1;31m", "warning": "\033[1;33m", "caret": "\033[32m", "end": "\033[0m"}


def rendered(error: UserError, *, color: bool = False) -> str:
    """Every problem of `error`; with line and caret where its source is a file that can be read."""
    path = Path(error.source) if error.source else None
    return render(error.problems, _content(path) if path else "", error.source, color=color)


def _content(path: Path) -> str:
    """The text of a regular file within the limit, else ""."""
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError):
        return ""
    return content.decode("utf-8", errors="replace") if len(content) <= MAX_FILE_BYTES else ""


def render(problems: Sequence[Problem], text: str, source: str, color: bool = False) -> str:
    """Every problem with its line and a caret under its place, then the number of errors and warnings; ends with a line break.

    text: the whole file the marks refer to, "" without a file. Lines are cut to 100 columns, and before the first secret they contain.
    """
    redaction = Redaction(text)
    shown = [_one(problem, _quotable(redaction, problem.mark), source, color) for problem in redaction.problems(problems)]
    errors = sum(problem.level is Level.ERROR for problem in problems)
    counts = [(errors, "error"), (len(problems) - errors, "warning")]
    total = ", ".join(f"{n} {word}{'s' * (n > 1)}" for n, word in counts if n) or "no problems"
    return "".join(f"{block}\n" for block in [*shown, total])


def _one(problem: Problem, line: str | None, source: str, color: bool) -> str:
    source = visible(source)
    place = f"{source}:{problem.mark.line}:{problem.mark.column}" if problem.mark else source
    ink = _INK if color else dict.fromkeys(_INK, "")
    path = visible(str(problem.at)[:MAX_QUOTED_CHARACTERS])
    path = path if len(path) <= WIDTH else path[: WIDTH - 3] + "..."
    where = f": {path}" if problem.at.steps else ""
    block = [f"{place}: {ink[problem.level]}{problem.level} {problem.code}{ink['end']}{where}", *_paragraph("    ", problem.reason)]
    is_absent = problem.mark == START and bool(problem.at.steps) and str(problem.at.steps[0]) not in (line or "")
    if problem.mark and line is not None and not is_absent:
        block += _excerpt(problem.mark, line, ink)
    block += _paragraph("    fix: ", problem.fix) if problem.fix else []
    block += [f"    see: {problem.link}"] if problem.link else []
    return "\n".join(block)


def _paragraph(indent: str, sentence: str) -> list[str]:
    return wrap(visible(sentence), WIDTH, initial_indent=indent, subsequent_indent=" " * len(indent), break_on_hyphens=False)


def _quotable(redaction: Redaction, mark: Mark | None) -> str | None:
    if mark is None or mark.line > len(redaction.lines) or not (line := redaction.line(mark.line)).strip() or "\0" in line:
        return None
    return line


def _excerpt(mark: Mark, line: str, ink: dict[str, str]) -> list[str]:
    gutter = f"{mark.line:5} | "
    room = WIDTH - len(gutter)
    caret = mark.column - 1
    before, after = visible(line[max(0, caret - MAX_QUOTED_CHARACTERS) : caret]), visible(line[caret : caret + MAX_QUOTED_CHARACTERS])
    if _columns(before + after) > room:
        before, after = _window(before, after, room)
    left = " " * (len(gutter) - 2) + "| " + " " * _columns(before)
    return [(gutter + before + after).rstrip(), f"{left}{ink['caret']}^{ink['end']}"]


def _window(before: str, after: str, room: int) -> tuple[str, str]:
    """The part of a long line around its caret, with dots where it is cut."""
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


def _columns(text: str) -> int:
    """Terminal columns; rich is imported only for text with wide or combining characters."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
