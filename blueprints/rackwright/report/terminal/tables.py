"""Tables and labelled sentences on a terminal, 100 columns wide at most."""

from collections.abc import Iterable, Sequence
from textwrap import wrap

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rackwright.report.terminal.console import WIDTH

LABEL = 9
"""Columns that a label before a sentence takes."""


def table(*columns: str, right: Iterable[str] = (), whole: Iterable[str] = ()) -> Table:
    """A plain table; columns named in `right` hold numbers, those in `whole` are never wrapped."""
    made = Table(box=None, pad_edge=False, header_style="bold", show_edge=False, padding=(0, 1))
    for column in columns:
        kept = column in whole or column in right
        made.add_column(column, justify="right" if column in right else "left", overflow="fold", no_wrap=kept)
    return made


def ranked(rows: Sequence[tuple[tuple[str, ...], str]], header: tuple[str, ...]) -> Text:
    """Rows of numbers, each with a line of words under it that may take the whole width; the second column is words, the others numbers."""
    widths = [max(len(cells[i]) for cells in (header, *(cells for cells, _ in rows))) for i in range(len(header))]
    widths[1] += max(0, WIDTH - sum(widths) - 2 * (len(widths) - 1))

    def line(cells: tuple[str, ...]) -> str:
        return "  ".join(
            cell.ljust(width) if i == 1 else cell.rjust(width) for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )

    indent = " " * (widths[0] + 2)
    text = Text(line(header) + "\n", style="bold")
    for cells, words in rows:
        text.append(line(cells) + "\n", style="not bold")
        text.append(
            "\n".join(wrap(words, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)) + "\n",
            style="not bold dim",
        )
    text.rstrip()
    return text


def title(out: Console, *parts: str) -> None:
    """The first part in bold, the rest after it."""
    out.print(Text(parts[0], style="bold").append("".join(f", {part}" for part in parts[1:] if part), style="not bold"))


def say(out: Console, label: str, words: str, style: str = "bold") -> None:
    """`label    words`, wrapped under itself; nothing when there are no words."""
    if words:
        grid = Table.grid(padding=(0, 1))
        grid.add_column(width=LABEL)
        grid.add_column(overflow="fold")
        grid.add_row(Text(label, style=style), words)
        out.print(grid)
