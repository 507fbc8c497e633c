"""A printed row and its cells. A blank cell is unknown; a cell that cannot be read names itself and spoils its own row alone."""

import csv
import math
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

CSV_NAMES = (
    "training_throughput", "training_memory", "finetune_memory", "tpu_training", "time_to_train", "inference_throughput",
    "inference_memory",
)  # fmt: skip
BLANK = frozenset({"", "nan", "na", "n/a", "none", "null", "-", "--", "?", "unknown", "not stated", "not published"})
LONG_NUMBER = re.compile(r"\d[\d,.]{4,}\d")
"""A number of more than five digits in prose is a reading, not a setting."""
MAX_CELL_BYTES = 2**24
"""Bytes; a longer one is an unclosed quote."""


class BrokenCell(ValueError):
    """A cell that is neither blank nor readable. The message names row, column and content."""


class UnsupportedRow(ValueError):
    """A row that cannot become a configuration. The message says which cell is missing or what is not known."""


@dataclass(frozen=True)
class PrintedRow:
    """One line of a file. csv: the file's name without ending; line: counted from 1, the header being 1."""

    csv: str
    line: int
    cells: dict[str, str]

    @cached_property
    def id(self) -> str:
        return self.text("row_id") or f"line {self.line}"

    @cached_property
    def notes(self) -> str:
        """Lower case, without long numbers."""
        return LONG_NUMBER.sub("#", self.text("notes").lower())

    def text(self, column: str) -> str:
        """Trimmed; "" when blank or not there."""
        said = (self.cells.get(column) or "").strip()
        return "" if said.lower() in BLANK else said

    def lower(self, column: str) -> str:
        return self.text(column).lower()

    def number(self, column: str) -> float | None:
        """Raises BrokenCell for text, infinity and what is below 0."""
        said = self.text(column)
        if not said:
            return None
        try:
            value = float(said.replace(",", ""))
        except ValueError:
            raise BrokenCell(f"{self.id} {column}: {said[:60]!r} is not a number") from None
        if not math.isfinite(value) or value < 0:
            raise BrokenCell(f"{self.id} {column}: {said[:60]!r} is not a finite number of 0 or more")
        return value

    def count(self, column: str) -> int | None:
        """A whole number; 0 is blank. Raises BrokenCell."""
        value = self.number(column)
        if value and abs(value - round(value)) > 1e-6 * value:
            raise BrokenCell(f"{self.id} {column}: {self.text(column)!r} is not a whole number")
        return round(value) or None if value else None


def read_folder(folder: Path) -> list[PrintedRow]:
    """Every row of the files that are there, in their order."""
    return [row for name in CSV_NAMES if (path := folder / f"{name}.csv").exists() for row in read_file(path)]


def read_file(path: Path, name: str = "") -> list[PrintedRow]:
    """Cells beyond the header are dropped, missing ones are blank. Raises BrokenCell, with the line, where it is no CSV at all."""
    csv.field_size_limit(MAX_CELL_BYTES)
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        lines = csv.reader(line.replace("\0", "") for line in file)
        try:
            header = [h.strip() for h in next(lines, [])]
            return [
                PrintedRow(name or path.stem, i, dict(zip(header, cells, strict=False)))
                for i, cells in enumerate(lines, start=2)
                if any(cell.strip() for cell in cells)
            ]
        except csv.Error as fault:
            raise BrokenCell(f"{path.name} line {lines.line_num}: {fault}") from None
