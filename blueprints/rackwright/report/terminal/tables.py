"""Tables and labelled lines on a terminal, at most 100 columns wide."""

from collections.abc import Iterable, Sequence
from textwrap import wrap

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rackwright.report.terminal.console import WIDTH

LABEL = 9
"""Width of a label."""


def table(*columns: str, right: Iterable[str] = (), whole: Iterable[str] = ()) -> Table:
    """A table without borders. right: columns of numbers; whole: columns that are never wrapped."""
    made = Table(box=None, pad_edge=False, header_style="bold", show_edge=False, padding=(0, 1))
    for column in columns:
        unwrapped = column in whole or column in right
        made.add_column(column, justify="right" if column in right else "left", overflow="fold", no_wrap=unwrapped)
    return made


def ranked(rows: Sequence[tuple[tuple[str, ...], str]], header: tuple[str, ...]) -> Text:
    """Rows of cells, each with a line of text below it at full width; the second column is text, the others are numbers."""
    widths = [max(cell_len(cells[i]) for cells in (header, *(cells for cells, _ in rows))) for i in range(len(header))]
    widths[1] += max(0, WIDTH - sum(widths) - 2 * (len(widths) - 1))

    def line(cells: tuple[str, ...]) -> str:
        padding = [" " * (width - cell_len(cell)) for cell, width in zip(cells, widths, strict=True)]
        return "  ".join(cell + pad if i == 1 else pad + cell for i, (cell, pad) in enumerate(zip(cells, padding, strict=True)))

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


def print_labelled(out: Console, label: str, words: str, style: str = "bold") -> None:
    """`label    words`, wrapped below itself; prints nothing for empty words."""
    if words:
        grid = Table.grid(padding=(0, 1))
        grid.add_column(width=LABEL)
        grid.add_column(overflow="fold")
        grid.add_row(Text(label, style=style), words)
        out.print(grid)
