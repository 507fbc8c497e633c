"""Loading of a spec: file -> `Spec`, or all its problems in file order.

Stages: characters, YAML, models, checks across fields. A later stage also checks the parts that earlier stages left valid, so that
all problems are reported at once.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Level, Problem
from rackwright.diagnostics.redaction import Redaction
from rackwright.spec.model import self_contained
from rackwright.spec.reading.inventory_file import with_inventories
from rackwright.spec.reading.quotas_file import with_quotas
from rackwright.spec.reading.source import LARGEST_BYTES, check_characters, too_large
from rackwright.spec.reading.spec_parser import SpecParser
from rackwright.spec.reading.tree import parse
from rackwright.spec.spec import Spec

DECISION_KEYS = {"spec_digest", "chosen_on", "plan"}
"""Keys that a decision file has, and a spec does not."""
SpecRules = Callable[[Spec, Path], Iterable[Problem]]
"""Spec and the folder of its file -> problems of the spec as a whole."""


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


def read_spec(text: str, source: str, rules: SpecRules) -> Reading:
    """Parse a spec and return it with all errors and warnings in file order. Never raises UserError.

    rules: evaluated over the parsed spec.
    """
    reading = _read(text, source, rules)
    return replace(reading, problems=Redaction(text).problems(reading.problems)) if reading.problems else reading


def _read(text: str, source: str, rules: SpecRules) -> Reading:
    try:
        text = text.removeprefix("\ufeff")
        if len(text) > LARGEST_BYTES:
            raise too_large(len(text.encode("utf-8", "replace")), source)
        check_characters(text, source)
        tree, problems = parse(text, source)
    except UserError as error:
        return Reading(None, error.problems)
    if not isinstance(tree.value, dict):
        problem = Problem(
            "S-type", "A spec must be a mapping of keys to values", fix="start with `api_version: rackwright/v1`", mark=tree.mark
        )
        return Reading(None, (*problems, problem))
    if tree.value.keys() >= DECISION_KEYS:
        reason = "The file is a decision, which `rackwright choose` wrote, not a spec"
        fix = f"give the spec beside it, {Path(source).name.replace('.decision.json', '.yaml')}"
        return Reading(None, (Problem("S-type", reason, fix=fix, mark=tree.mark),))
    parser = SpecParser(tree, problems)
    spec, folder = parser.validate(), Path(source).parent
    if spec is not None:
        parser.add_problems(rules(spec, folder))
    found = tuple(sorted(parser.problems, key=lambda p: (p.mark.line, p.mark.column) if p.mark else (0, 0)))
    if spec is None or any(problem.level is Level.ERROR for problem in found):
        return Reading(None, found, parser.notes)
    return Reading(with_inventories(with_quotas(self_contained(spec, folder), folder), folder), found, parser.notes)
