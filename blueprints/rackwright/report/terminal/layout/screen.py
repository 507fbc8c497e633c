"""How much of a plan `rackwright plan` prints: all of it, or what fits a screen of 40 lines."""

import io
from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Console

LINES = 40


@dataclass(frozen=True)
class Detail:
    """warnings, open_items: how many are printed. text_lines: lines of one labelled text, and of the text below
    a combination. None: all."""

    warnings: int | None = None
    open_items: int | None = None
    text_lines: int | None = None


FULL = Detail()
BRIEF = (Detail(3, 3), Detail(1, 3), Detail(1, 3, 4), Detail(1, 3, 3), Detail(1, 3, 2), Detail(0, 3, 2), Detail(0, 1, 2), Detail(0, 1, 1))
"""Without `--full`, most detail first."""


def detail_that_fits(width: int, show: Callable[[Console, Detail], None]) -> Detail:
    """The most detail with which `show` prints at most LINES lines, else the least."""

    def fits(detail: Detail) -> bool:
        page = io.StringIO()
        show(Console(file=page, width=width), detail)
        return len(page.getvalue().splitlines()) <= LINES

    return next(filter(fits, BRIEF), BRIEF[-1])
