"""Parsed YAML -> Spec. Invalid values are removed, so that the rules are still evaluated on the rest."""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from pydantic import ValidationError

from rackwright.diagnostics.problem import At, Problem
from rackwright.spec.reading.migrate import migrate, version_problem
from rackwright.spec.reading.model_fields import at_of, keys_at, nearest
from rackwright.spec.reading.schema_errors import KINDS, is_about_key, is_echo, problem_of, value_at, wrong_kind
from rackwright.spec.reading.tree import YamlNode
from rackwright.spec.spec import API_VERSION, Spec

FREE = ("architecture", "measured", "commitments")
"""Mappings whose content is not the schema's: an empty value is allowed there."""
STAND_INS = {"api_version": API_VERSION, "name": "unnamed"}
_MODEL, _TEXT = {"base": "llama-3.1-8b"}, {"mean": 1}
STAND_IN_WORKLOADS: dict[str, dict[str, Any]] = {
    "pretrain": {"model": _MODEL, "data": {"tokens": 1e18}},
    "finetune": {"model": _MODEL, "data": {"tokens": 1e18}},
    "serve": {"model": _MODEL, "requests_per_second": 1, "input_tokens": _TEXT, "output_tokens": _TEXT},
    "batch": {"model": _MODEL, "requests": 1, "input_tokens": _TEXT, "output_tokens": _TEXT},
    "custom": {"accelerator_memory": "1 GB"},
}
"""Replacements of invalid workloads, which are reported already, so that the rules run on the rest."""
REPAIRS = 6
"""Maximum number of attempts to remove invalid values."""


class SpecParser:
    """problems: found so far; broken: paths of removed values; completed: paths of missing keys that were added for the rules."""

    def __init__(self, tree: YamlNode, problems: list[Problem]):
        self.tree = tree
        self.problems = problems
        self.broken: list[At] = [problem.at for problem in problems]
        self.completed: list[At] = []
        self.reported: set[At] = set(self.broken)
        self.notes: tuple[str, ...] = ()

    def validate(self) -> Spec | None:
        """The spec without its invalid values; None where it is not valid without them."""
        data, self.notes = migrate(self._without_nulls(self.tree, At()))
        if problem := version_problem(data):
            self._add(problem)
            data["api_version"] = API_VERSION
        self._guess_kinds(data.get("workloads"))
        for attempt in range(REPAIRS):
            try:
                return Spec.model_validate(data)
            except ValidationError as failure:
                errors = [e for e in failure.errors(include_url=False) if not is_echo(e, data)]
            for error in errors if attempt == 0 else ():
                problem = problem_of(error, data)
                if problem.at not in self.reported:
                    self._add(problem, is_about_key(error))
            if not sum(self._repair(data, error) for error in errors):
                return None
        return None

    def add_problems(self, found: Iterable[Problem]) -> None:
        """Adds problems of the rules over the whole spec, except consequences of a broken place."""
        for problem in found:
            added = any(problem.at.steps[: len(at.steps)] == at.steps for at in self.completed)
            if not added and not any(_related(problem.at, at) for at in self.broken):
                self._add(problem, problem.about_key)

    def _without_nulls(self, node: YamlNode, at: At) -> Any:
        """Plain data; a key without a value is a problem and left out."""
        if isinstance(node.value, list):
            return [self._without_nulls(item, at / i) for i, item in enumerate(node.value)]
        if not isinstance(node.value, dict):
            return node.value
        kept = {}
        for key, inner in node.value.items():
            if inner.value is None:
                self._add(Problem("S-null", f"`{key}` has no value", at=at / key, fix="set a value, or remove the key"), about_key=True)
                self.broken.append(at / key)
            else:
                kept[key] = inner.plain() if key in FREE else self._without_nulls(inner, at / key)
        return kept

    def _add(self, problem: Problem, about_key: bool = False) -> None:
        self.reported.add(problem.at)
        self.problems.append(problem.with_mark(self.tree.nearest(problem.at, about_key)))

    def _guess_kinds(self, workloads: object) -> None:
        """Report a misspelt kind, and continue with the nearest valid one."""
        for i, workload in enumerate(workloads if isinstance(workloads, list) else ()):
            kind = workload.get("kind") if isinstance(workload, dict) else None
            if isinstance(kind, str) and kind not in KINDS and (near := nearest(kind, KINDS)):
                self._add(wrong_kind(kind, At() / "workloads" / i / "kind"))
                workload["kind"] = near

    def _repair(self, data: dict, error: Mapping[str, Any]) -> bool:
        """Remove or replace the entry that has the error, or that contains it. Return whether the data changed."""
        missing = at_of(error)
        if error["type"] == "missing" and missing.steps[:1] == ("workloads",) and _complete(data.get("workloads"), missing.steps):
            self.completed.append(missing)
            return True
        at = _entry_of(error)
        holder = value_at(data, At(at.steps[:-1]))
        if not at.steps or not (_take_out(holder, at.steps[-1]) if isinstance(holder, dict) else _replace(holder, at.steps)):
            return False
        if error["type"] != "extra_forbidden" or nearest(at.steps[-1], keys_at(At(at.steps[:-1]))):
            self.broken.append(at)
        return True


def _entry_of(error: Mapping[str, Any]) -> At:
    """The smallest entry whose removal removes the error: an entry of a mapping, or a workload."""
    steps = list(at_of(error).steps)
    if error["type"] == "missing" and steps[-1] not in STAND_INS:
        steps.pop()
    while len(steps) > 2 and isinstance(steps[-1], int):
        steps.pop()
    return At(tuple(steps))


def _take_out(holder: dict, key: str | int) -> bool:
    if key in STAND_INS and holder.get(key) != STAND_INS[key]:
        holder[key] = deepcopy(STAND_INS[key])
        return True
    return holder.pop(key, None) is not None


def _complete(holder: Any, steps: tuple[str | int, ...]) -> bool:
    """Add the missing keys of a workload, so that the rules run on its other keys. Return whether the data changed.

    A workload without a model is left as it is: too many rules would judge the added one.
    """
    workload = holder[steps[1]] if isinstance(holder, list) and len(steps) == 3 and isinstance(steps[1], int) else None
    stand_in = STAND_IN_WORKLOADS.get(str(workload.get("kind")), {}) if isinstance(workload, dict) else {}
    key = steps[-1]
    if not isinstance(workload, dict) or key not in stand_in or key == "model" or key in workload:
        return False
    workload[str(key)] = deepcopy(stand_in[str(key)])
    return True


def _replace(holder: Any, steps: tuple[str | int, ...]) -> bool:
    """Replace an invalid workload by a valid one of the same kind. Return whether the data changed."""
    index = steps[-1]
    broken = holder[index] if isinstance(holder, list) and steps[0] == "workloads" and isinstance(index, int) else None
    kind = broken.get("kind") if isinstance(broken, dict) else None
    if not isinstance(kind, str) or kind not in STAND_IN_WORKLOADS:
        return False
    holder[index] = {"kind": kind, "name": "unnamed"} | STAND_IN_WORKLOADS[kind]
    return holder[index] != broken


def _related(one: At, other: At) -> bool:
    """Whether one path contains the other, or both are entries of the same mapping."""
    shared = min(len(one.steps), len(other.steps))
    siblings = one.steps[:-1] == other.steps[:-1] and all(isinstance(at.steps[-1], str) for at in (one, other) if at.steps)
    return siblings or one.steps[:shared] == other.steps[:shared]
