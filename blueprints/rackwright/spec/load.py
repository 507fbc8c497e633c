"""Loading of a spec: file -> `Spec`, or all its problems in file order.

Stages: characters, YAML, models, checks across fields. A later stage also checks the parts that earlier stages left valid, so that
all problems are reported at once.
"""

from dataclasses import dataclass
from pathlib import Path

from rackwright.catalog import Catalog
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Level, Problem
from rackwright.spec.model import self_contained
from rackwright.spec.quotas import with_quotas
from rackwright.spec.reading.source import LARGEST_BYTES, check_characters, read_file, too_large
from rackwright.spec.reading.spec_parser import SpecParser
from rackwright.spec.reading.tree import YamlNode, parse
from rackwright.spec.spec import Spec


@dataclass(frozen=True)
class Reading:
    """Result of reading a file. spec: None when one of the problems is an error."""

    spec: Spec | None
    problems: tuple[Problem, ...]
    notes: tuple[str, ...] = ()
    """Changes made while migrating the file from an older format version."""

    @property
    def warnings(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.level is Level.WARNING)


def load(path: str | Path, catalog: Catalog | None = None) -> Spec:
    """Load a spec from a file. Raises UserError with every problem. Use `examine` to get the warnings."""
    path = Path(path)
    return read(read_file(path), str(path), catalog)


def read(text: str, source: str = "spec.yaml", catalog: Catalog | None = None) -> Spec:
    """Parse a spec. source: its path, used in messages and to resolve relative paths. Raises UserError with every problem."""
    reading = examine(text, source, catalog)
    if reading.spec is None:
        raise UserError(reading.problems, source)
    return reading.spec


def examine_file(path: str | Path, catalog: Catalog | None = None) -> Reading:
    """Examine a file. A missing or unreadable file is returned as a problem."""
    try:
        return examine(read_file(Path(path)), str(path), catalog)
    except UserError as error:
        return Reading(None, error.problems)


def examine(text: str, source: str = "spec.yaml", catalog: Catalog | None = None) -> Reading:
    """Parse a spec and return it with all errors and warnings in file order. Never raises UserError."""
    try:
        tree, problems = _tree(text.removeprefix("\ufeff"), source)
    except UserError as error:
        return Reading(None, error.problems)
    if not isinstance(tree.value, dict):
        problem = Problem("S-type", "a spec is a mapping: keys with values", fix="start with `api_version: rackwright/v1`", mark=tree.mark)
        return Reading(None, (*problems, problem))
    parser = SpecParser(tree, problems)
    spec, folder = parser.validate(), Path(source).parent
    if spec is not None:
        parser.check(spec, folder, catalog)
    found = tuple(sorted(parser.problems, key=_in_file_order))
    if spec is None or any(problem.level is Level.ERROR for problem in found):
        return Reading(None, found, parser.notes)
    return Reading(with_quotas(self_contained(spec, folder), folder), found, parser.notes)


def _tree(text: str, source: str) -> tuple[YamlNode, list[Problem]]:
    if len(text) > LARGEST_BYTES:
        raise too_large(len(text.encode("utf-8", "replace")), source)
    check_characters(text, source)
    return parse(text, source)


def _in_file_order(problem: Problem) -> tuple[int, int]:
    return (problem.mark.line, problem.mark.column) if problem.mark else (0, 0)
