"""Strict CSV tables: known columns, valid cells, unique keys. Errors have file and line."""

import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rackwright.diagnostics.errors import Bug, CatalogError

Parse = Callable[[str], Any]
Record = dict[str, Any]
MIB, GB = 2**20, 10**9
DATE = re.compile(r"20\d\d(-\d\d(-\d\d)?)?")
SMALLEST, LARGEST = 1e-12, 1e18
"""Limits of a cell's number, in the unit of its column: products and ratios of a few of them stay finite."""


def text(cell: str) -> str:
    """Parse a cell that must not be blank."""
    if not cell:
        raise ValueError("is blank")
    return cell


def words(cell: str) -> str:
    """Parse a cell that may be blank."""
    return cell


def date(cell: str) -> str:
    """Parse YYYY, YYYY-MM or YYYY-MM-DD, as precise as the source."""
    if not DATE.fullmatch(cell):
        raise ValueError(f"{cell!r} is not a date (YYYY-MM-DD)")
    return cell


def day(cell: str) -> str:
    """Parse YYYY-MM-DD."""
    datetime.strptime(cell, "%Y-%m-%d")
    return cell


def number(cell: str) -> float:
    value = float(cell)
    if not 0 <= value <= LARGEST:
        raise ValueError(f"{cell!r} is not between 0 and {LARGEST:g}")
    if 0 < value < SMALLEST:
        raise ValueError(f"{cell!r} is smaller than {SMALLEST:g}; unknown is blank")
    return value


def count(cell: str) -> int:
    value = int(cell)
    if not 0 <= value <= LARGEST:
        raise ValueError(f"{cell!r} is not between 0 and {LARGEST:g}")
    return value


def minor(cell: str) -> int:
    """Parse a Kubernetes version such as 1.35 to its minor, 35."""
    major, _, rest = cell.partition(".")
    if major != "1":
        raise ValueError(f"{cell!r} is not a version of Kubernetes (1.35)")
    return count(rest)


def positive(cell: str) -> float:
    value = number(cell)
    if not value:
        raise ValueError("is zero; unknown is blank")
    return value


def fraction(cell: str) -> float:
    """Parse a share such as 1/7, at most 1."""
    part, _, whole = cell.partition("/")
    value = count(part) / count(whole)
    if not 0 < value <= 1:
        raise ValueError(f"{cell!r} is not a share between 0 and 1")
    return value


def times(factor: float) -> Parse:
    return lambda cell: positive(cell) * factor


def size(unit_bytes: int) -> Parse:
    """Return a parser from GiB or GB to bytes; zero means none."""
    return lambda cell: round(number(cell) * unit_bytes)


def yes(cell: str) -> bool:
    if cell not in ("yes", "no"):
        raise ValueError(f"{cell!r} is neither yes nor no")
    return cell == "yes"


def one_of(*choices: str) -> Parse:
    def parse(cell: str) -> str:
        if cell not in choices:
            raise ValueError(f"{cell!r} is none of {', '.join(choices)}")
        return cell

    return parse


def maybe(parse: Parse) -> Parse:
    return lambda cell: parse(cell) if cell else None


def many(parse: Parse = text) -> Parse:
    """Return a parser of values separated by spaces."""
    return lambda cell: tuple(parse(part) for part in cell.split())


@dataclass(frozen=True)
class Table:
    """One CSV file. columns: column -> (name of the value, parser); key: columns that identify a row."""

    file: str
    key: tuple[str, ...]
    columns: dict[str, tuple[str, Parse]]

    def read(self, content: str, name: str = "") -> list[Record]:
        """Return the records in file order. Raises CatalogError with file and line of the first error."""
        file = name or self.file
        lines = csv.reader(content.splitlines(), strict=True)
        try:
            return self._records(lines, file)
        except csv.Error as fault:
            raise CatalogError(str(fault), file, lines.line_num) from None

    def _records(self, lines: Any, file: str) -> list[Record]:
        header = next(lines, [])
        unknown, missing = set(header) - set(self.columns), set(self.columns) - set(header)
        faults = [f"{what} {', '.join(sorted(names))}" for what, names in (("unknown column", unknown), ("no column", missing)) if names]
        if faults or len(header) != len(self.columns):
            raise CatalogError("; ".join(faults) or "a column appears twice", file, 1)
        names, parsers = zip(*(self.columns[column] for column in header), strict=True)
        places = [header.index(column) for column in self.key]
        seen: dict[tuple[str, ...], int] = {}
        records = []
        for cells in lines:
            line = lines.line_num
            if len(cells) != len(header):
                raise CatalogError(f"{len(cells)} cells, the header has {len(header)}", file, line)
            key = tuple([cells[place] for place in places])
            if seen.setdefault(key, line) != line:
                raise CatalogError(f"{' '.join(key)} is already on line {seen[key]}", file, line)
            try:
                records.append(dict(zip(names, [parse(cell) for parse, cell in zip(parsers, cells, strict=True)], strict=True)))
            except ValueError:
                raise CatalogError(_fault(parsers, header, cells), file, line) from None
        return records


def _fault(parsers: Sequence[Parse], header: Sequence[str], cells: Sequence[str]) -> str:
    """Return the first invalid cell and the reason."""
    for parse, column, cell in zip(parsers, header, cells, strict=True):
        try:
            parse(cell)
        except ValueError as fault:
            return f"{column}: {fault}"
    raise Bug("parsing a record failed, but every cell is valid")


ORIGIN: dict[str, tuple[str, Parse]] = {"source": ("source", text), "as_of": ("as_of", date)}


def same(parse: Parse, columns: str) -> dict[str, tuple[str, Parse]]:
    """Columns whose values have the name of the column. columns: names, separated by spaces."""
    return {column: (column, parse) for column in columns.split()}


def sourced_table(file: str, key: str, *columns: dict[str, tuple[str, Parse]]) -> Table:
    """A table of which each row has a source and a date. key: columns that identify a row, separated by spaces."""
    return Table(file, tuple(key.split()), {name: parse for part in (*columns, ORIGIN) for name, parse in part.items()})
