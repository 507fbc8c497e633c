"""The console of all text output."""

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 100
"""Maximum width in columns."""


def console() -> "Console":
    """A console of at most WIDTH columns that prints text without markup. rich handles NO_COLOR, COLUMNS and pipes."""
    from rich.console import Console

    terminal = Console(markup=False, highlight=False, emoji=False)
    terminal.width = min(terminal.width, WIDTH) if terminal.is_terminal or "COLUMNS" in os.environ else WIDTH
    return terminal
