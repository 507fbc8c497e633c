"""The console of all text output."""

import os
import re
from typing import TYPE_CHECKING

from rackwright.diagnostics.problem import escaped

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 100
"""Maximum width in columns."""
LINE = re.compile(r"\n|[^\n]+")
"""A line break, or text without one."""


def console() -> "Console":
    """A console of at most WIDTH columns that prints text without markup. rich handles NO_COLOR, COLUMNS and pipes.

    Control and bidirectional characters of the text are escaped; a terminal would execute them. Lines end without blanks, which tables pad
    their last column with.
    """
    from rich.console import Console
    from rich.segment import Segment

    class EscapingConsole(Console):
        def render(self, renderable, options=None):
            blanks: list[Segment] = []
            for text, style, control in super().render(renderable, options):
                for part in [text] if control else LINE.findall(escaped(text, keep="\n")):
                    shown = part if control else part.rstrip(" ")
                    if shown:
                        yield from [] if shown == "\n" else blanks
                        yield Segment(shown, style, control)
                        blanks = []
                    if shown != part:
                        blanks.append(Segment(part[len(shown) :], style))
            yield from blanks

    terminal = EscapingConsole(markup=False, highlight=False, emoji=False)
    terminal.width = min(terminal.width, WIDTH) if terminal.is_terminal or "COLUMNS" in os.environ else WIDTH
    return terminal
