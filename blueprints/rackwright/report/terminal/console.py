"""The console every report is printed on."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 100
"""Columns that every table and sentence fits in."""


def console() -> "Console":
    """Tables fit 100 columns; NO_COLOR and pipes are respected by rich itself; what a user wrote is never read as markup."""
    from rich.console import Console

    terminal = Console(markup=False, highlight=False, emoji=False)
    terminal.width = min(terminal.width, WIDTH) if terminal.is_terminal else WIDTH
    return terminal
