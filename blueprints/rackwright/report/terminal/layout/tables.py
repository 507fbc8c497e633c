"""Tables and labelled lines on a terminal, at most 100 columns wide."""

from collections.abc import Iterable, Sequence
from textwrap import wrap

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

LABEL = 9
"""Width of a label."""
INDENT = LABEL + 1
"""Column at which the text of a label starts."""


def table(columns: Iterable[str], rows: Iterable[Iterable[str | Text]], right: Iterable[str] = (), whole: Iterable[str] = ()) -> Table:
    """A table without borders. right: columns of numbers; whole: columns that are never wrapped."""
    shown = Table(box=None, pad_edge=False, header_style="bold", show_edge=False, padding=(0, 1))
    for column in columns:
        unwrapped = column in whole or column in right
        shown.add_column(column, justify="right" if column in right else "left", overflow="fold", no_wrap=unwrapped)
    for row in rows:
        shown.add_row(*row)
    return shown


def ranked(rows: Sequence[tuple[tuple[str, ...], str]], header: tuple[str, ...], width: int, max_lines: int | None = None) -> Text:
    """Rows of cells, each with text below it at full width; the second column is text, the others are numbers.

    max_lines: of the text below a row; a longer one ends with ` ...` there.
    """
    widths = [max(cell_len(cells[i]) for cells in (header, *(cells for cells, _ in rows))) for i in range(len(header))]
    widths[1] += max(0, width - sum(widths) - 2 * (len(widths) - 1))

    def line(cells: tuple[str, ...]) -> str:
        padding = [" " * (width - cell_len(cell)) for cell, width in zip(cells, widths, strict=True)]
        return "  ".join(cell + pad if i == 1 else pad + cell for i, (cell, pad) in enumerate(zip(cells, padding, strict=True)))

    indent = " " * (widths[0] + 2)
    shown = Text(line(header) + "\n", style="bold")
    for cells, details in rows:
        below = f"\n{indent}".join(_cut(wrap(details, width - len(indent), break_on_hyphens=False), width - len(indent), max_lines))
        shown.append(line(cells) + "\n", style="not bold").append(f"{indent}{below}\n", style="not bold dim")
    shown.rstrip()
    return shown


def _cut(lines: list[str], width: int, max_lines: int | None) -> list[str]:
    """The first lines of a wrapped text, the last one with ` ...` where more follow; all without max_lines."""
    if not max_lines or len(lines) <= max_lines:
        return lines
    return [*lines[: max_lines - 1], wrap(lines[max_lines - 1], width - 4, break_on_hyphens=False)[0] + " ..."]


def title(out: Console, *parts: str) -> None:
    """The first part in bold, the rest after it."""
    out.print(Text(parts[0], style="bold").append("".join(f", {part}" for part in parts[1:] if part), style="not bold"))


def heading(out: Console, text: str) -> None:
    """A heading in bold after an empty line."""
    out.print(Text(f"\n{text}", style="bold"))


def print_labelled(out: Console, label: str, text: str, style: str = "bold", max_lines: int | None = None) -> None:
    """`label    text`, wrapped in its own column, which starts later after a wider label; prints nothing for an empty text.

    max_lines: a longer text ends with ` ...` there.
    """
    if text:
        indent = max(INDENT, cell_len(label) + 1)
        width = out.width - indent
        lines = _cut([part for line in text.splitlines() for part in wrap(line, width, break_on_hyphens=False)], width, max_lines)
        out.print(Text.assemble((label.ljust(indent), style), f"\n{' ' * indent}".join(lines)))
