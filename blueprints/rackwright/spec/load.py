"""A file -> a Spec, or every problem it has, in file order.

Text is checked as text, then as YAML, then against the models, then across fields; a later stage also runs on what an earlier one
left whole, so that one look at the list is enough.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from rackwright.errors import UserError
from rackwright.problems import At, Level, Problem
from rackwright.spec.checks import Context, problems_of
from rackwright.spec.migrate import migrate, version_problem
from rackwright.spec.shape import at_of
from rackwright.spec.source import LARGEST_BYTES, check_characters, read_file, too_large
from rackwright.spec.spec import API_VERSION, Spec
from rackwright.spec.translate import is_about_key, problem_of, value_at
from rackwright.spec.tree import Node, parse

if TYPE_CHECKING:
    from rackwright.catalog import Catalog

FREE = ("architecture", "measured", "commitments")
"""Mappings whose content is not the schema's: an empty value is allowed there."""
STAND_INS = {"api_version": API_VERSION, "name": "unnamed"}
"""So that the checks still run when these are missing, which is a problem already."""
REPAIRS = 6
"""Times that broken places are taken out before giving up."""


@dataclass(frozen=True)
class Reading:
    """What reading a file gave: a spec, unless an error is among the problems."""

    spec: Spec | None
    problems: tuple[Problem, ...]
    notes: tuple[str, ...] = ()
    """What was rewritten because the file is of an older version."""

    @property
    def warnings(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.level is Level.WARNING)


def load(path: str | Path, catalog: "Catalog | None" = None) -> Spec:
    """The spec in the file. Raises UserError with every problem; warnings are left out (`examine` returns them)."""
    path = Path(path)
    return read(read_file(path), str(path), catalog)


def read(text: str, source: str = "spec.yaml", catalog: "Catalog | None" = None) -> Spec:
    """The spec that `text` describes. `source`: its path, for messages and for the files it names. Raises UserError."""
    reading = examine(text, source, catalog)
    if reading.spec is None:
        raise UserError(reading.problems, source)
    return reading.spec


def examine(text: str, source: str = "spec.yaml", catalog: "Catalog | None" = None) -> Reading:
    """Everything that can be said about the text: the spec where it has one, errors and warnings in file order. Never raises UserError."""
    try:
        tree, problems = _tree(text.removeprefix("\ufeff"), source)
    except UserError as error:
        return Reading(None, error.problems)
    if not isinstance(tree.value, dict):
        problem = Problem("S-type", "a spec is a mapping: keys with values", fix="start with `api_version: rackwright/v1`", mark=tree.mark)
        return Reading(None, (*problems, problem))
    draft = _Draft(tree, problems)
    spec = draft.validate()
    if spec is not None:
        draft.check(spec, Path(source).parent, catalog)
    found = tuple(sorted(draft.problems, key=_in_file_order))
    clean = not any(problem.level is Level.ERROR for problem in found)
    return Reading(spec if clean else None, found, draft.notes)


def _tree(text: str, source: str) -> tuple[Node, list[Problem]]:
    if len(text) > LARGEST_BYTES:
        raise too_large(len(text.encode("utf-8", "replace")), source)
    check_characters(text, source)
    return parse(text, source)


def _in_file_order(problem: Problem) -> tuple[int, int]:
    return (problem.mark.line, problem.mark.column) if problem.mark else (0, 0)


class _Draft:
    """A file on its way to a Spec. `broken` are places taken out so that the rest could still be looked at."""

    def __init__(self, tree: Node, problems: list[Problem]):
        self.tree = tree
        self.problems = problems
        self.broken: list[At] = [problem.at for problem in problems]
        self.notes: tuple[str, ...] = ()

    def validate(self) -> Spec | None:
        """The spec, or what is left of it without its broken places; None when too little is left."""
        data, self.notes = migrate(self._without_nulls(self.tree, At()))
        if problem := version_problem(data):
            self._add(problem)
            data["api_version"] = API_VERSION
        for attempt in range(REPAIRS):
            try:
                return Spec.model_validate(data)
            except ValidationError as failure:
                errors = failure.errors(include_url=False)
            for error in errors if attempt == 0 else ():
                self._report(error, data)
            if not any([self._take_out(data, error) for error in errors]):
                return None
        return None

    def check(self, spec: Spec, folder: Path, catalog: "Catalog | None") -> None:
        """Adds what the checks across fields find, where it is not a mere consequence of a broken place."""
        for problem, about_key in problems_of(Context(spec, folder, catalog)):
            if not any(_related(problem.at, at) for at in self.broken):
                self._add(problem, about_key)

    def _without_nulls(self, node: Node, at: At) -> Any:
        """Plain data; a key without a value is a problem and left out."""
        if isinstance(node.value, list):
            return [self._without_nulls(item, at / i) for i, item in enumerate(node.value)]
        if not isinstance(node.value, dict):
            return node.value
        kept = {}
        for key, inner in node.value.items():
            if inner.value is None:
                self._add(Problem("S-null", f"`{key}` has no value", at=at / key, fix="give it one, or leave the key out"), about_key=True)
                self.broken.append(at / key)
            else:
                kept[key] = inner.plain() if key in FREE else self._without_nulls(inner, at / key)
        return kept

    def _report(self, error: Mapping[str, Any], data: object) -> None:
        problem = problem_of(error, data)
        if problem and problem.at not in {other.at for other in self.problems}:
            self._add(problem, is_about_key(error))

    def _add(self, problem: Problem, about_key: bool = False) -> None:
        self.problems.append(problem.with_mark(self.tree.nearest(problem.at, about_key)))

    def _take_out(self, data: dict, error: Mapping[str, Any]) -> bool:
        """Removes the mapping entry that the error is about, or that encloses it; whether there was one."""
        steps = list(at_of(error["loc"]).steps)
        if error["type"] == "missing":
            key = steps.pop()
            if not steps and key in STAND_INS:
                data[key] = STAND_INS[key]
                return True
        while steps and isinstance(steps[-1], int):
            steps.pop()
        holder = value_at(data, At(tuple(steps[:-1])))
        if not steps or not isinstance(holder, dict) or holder.pop(steps[-1], None) is None:
            return False
        self.broken.append(At(tuple(steps)))
        return True


def _related(one: At, other: At) -> bool:
    """Whether one place holds the other, or both stand in the same mapping."""
    shared = min(len(one.steps), len(other.steps))
    return one.steps[:shared] == other.steps[:shared] or one.steps[:-1] == other.steps[:-1]
