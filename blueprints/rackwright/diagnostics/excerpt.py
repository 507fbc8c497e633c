"""Problems with the line of the file they stand in."""

from pathlib import Path

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import render

LONGEST_BYTES = 1_000_000


def rendered(error: UserError, *, color: bool = False) -> str:
    """Every problem of `error`; with line and caret where its source is a file that can be shown."""
    path = Path(error.source) if error.source else None
    readable = path is not None and path.is_file() and path.stat().st_size <= LONGEST_BYTES
    text = path.read_text(encoding="utf-8", errors="replace") if readable and path else ""
    return render(error.problems, text, error.source, color=color)
