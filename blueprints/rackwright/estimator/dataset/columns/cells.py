"""Rows and cells of the CSV files. A blank cell is unknown; an unreadable cell invalidates only its row."""

import csv
import math
import re
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from pathlib import Path

from rackwright.files import read_bytes

CSV_NAMES = (
    "training_throughput", "training_memory", "finetune_memory", "tpu_training", "time_to_train", "inference_throughput",
    "inference_memory", "training_more",
)  # fmt: skip
BLANK = frozenset({"", "nan", "na", "n/a", "none", "null", "-", "--", "?", "unknown", "not stated", "not published"})
LONG_NUMBER = re.compile(r"\d[\d,.]{4,}\d")
"""Number of more than five digits in prose: a reading, not a setting."""
MAX_FILE_BYTES = 64_000_000
"""Size of a file with some hundred thousand runs."""
MAX_CELL_CHARACTERS = 1_000_000
"""Longest cell. A longer one comes from an unclosed quote."""


class BrokenCell(ValueError):
    """A cell is neither blank nor readable. The message has row, column and content."""


class UnsupportedRow(ValueError):
    """A row cannot be converted to a configuration. The message has the missing cell or unknown value."""


@dataclass(frozen=True)
class PrintedRow:
    """One row of a file. csv: file name without extension; line: counted from 1, including the header."""

    csv: str
    line: int
    cells: dict[str, str]

    @cached_property
    def id(self) -> str:
        return self.text("row_id") or f"line {self.line}"

    @cached_property
    def notes(self) -> str:
        """Notes in lower case, without long numbers."""
        return LONG_NUMBER.sub("#", self.text("notes").lower())

    def text(self, column: str) -> str:
        """Return the trimmed text of a cell; "" when it is blank or missing."""
        text = (self.cells.get(column) or "").strip()
        return "" if text.lower() in BLANK else text

    def lower(self, column: str) -> str:
        return self.text(column).lower()

    def number(self, column: str) -> float | None:
        """Return a number; None when blank. Raises BrokenCell for text, infinity and negative numbers."""
        text = self.text(column)
        if not text:
            return None
        try:
            value = float(text.replace(",", ""))
        except ValueError:
            raise BrokenCell(f"{self.id} {column}: {text[:60]!r} is not a number") from None
        if not math.isfinite(value) or value < 0:
            raise BrokenCell(f"{self.id} {column}: {text[:60]!r} is not a finite number of 0 or more")
        return value

    def count(self, column: str) -> int | None:
        """Return a whole number; None when blank or 0. Raises BrokenCell."""
        value = self.number(column)
        if value and abs(value - round(value)) > 1e-6 * value:
            raise BrokenCell(f"{self.id} {column}: {self.text(column)!r} is not a whole number")
        return round(value) or None if value else None


def read_folder(folder: Path) -> list[PrintedRow]:
    """Return every row of the existing files of a folder, in the order of CSV_NAMES."""
    return [row for name in CSV_NAMES if (path := folder / f"{name}.csv").exists() for row in read_file(path)]


def read_file(path: Path, name: str = "") -> list[PrintedRow]:
    """Return the rows of a CSV file. Cells beyond the header are dropped. Raises BrokenCell with the line for invalid CSV."""
    csv.field_size_limit(MAX_CELL_CHARACTERS)
    content = read_bytes(path, MAX_FILE_BYTES).decode("utf-8-sig", errors="replace").replace("\0", "")
    lines = csv.reader(StringIO(content, newline=""))
    try:
        header = [h.strip() for h in next(lines, [])]
        return [
            PrintedRow(name or path.stem, i, dict(zip(header, cells, strict=False)))
            for i, cells in enumerate(lines, start=2)
            if any(cell.strip() for cell in cells)
        ]
    except csv.Error as fault:
        raise BrokenCell(f"{path.name} line {lines.line_num}: {fault}") from None
