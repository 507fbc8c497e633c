"""Items of *Before you build*: what stops building and not planning. `blocks_update` of the rule decides which of them stop an update."""

from collections.abc import Iterable
from dataclasses import replace

from rackwright.diagnostics.problem import Level, Problem, Stage


def open_items(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Problems that stop building and not planning, errors first; one of those with the same text."""
    found: dict[tuple[str, str], Problem] = {}
    for problem in problems:
        if problem.stage is Stage.BUILD:
            found.setdefault((problem.code, problem.advice), problem)
    return tuple(sorted(found.values(), key=lambda problem: problem.level is not Level.ERROR))


def unsettled(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """The open items that stop an update, as errors."""
    return tuple(replace(problem, level=Level.ERROR) for problem in open_items(problems) if problem.blocks_update)
