"""The console of all text output."""

import os
from typing import TYPE_CHECKING

from rackwright.diagnostics.problem import escaped

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 100
"""Maximum width in columns."""


def console() -> "Console":
    """A console of at most WIDTH columns that prints text without markup. rich handles NO_COLOR, COLUMNS and pipes.

    Control and bidirectional characters of the text are escaped; a terminal would execute them.
    """
    from rich.console import Console
    from rich.segment import Segment

    class EscapingConsole(Console):
        def render(self, renderable, options=None):
            for text, style, control in super().render(renderable, options):
                yield Segment(text if control else escaped(text, keep="\n"), style, control)

    terminal = EscapingConsole(markup=False, highlight=False, emoji=False)
    terminal.width = min(terminal.width, WIDTH) if terminal.is_terminal or "COLUMNS" in os.environ else WIDTH
    return terminal
