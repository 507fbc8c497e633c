"""What a law is, and the run over all of them. A law is a function over a graph's view that yields where it is broken."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from rackwright.problems import At, Level, Problem

from rackwright_pulumi.laws.view import View
from rackwright_pulumi.testing.graph import Graph, Node


@dataclass(frozen=True)
class Fault:
    """A resource that breaks a law. path: the input; words: what is there, when the law's own sentence does not say it."""

    node: Node
    path: tuple[str | int, ...]
    fix: str
    words: str = ""


Check = Callable[[View], Iterator[Fault]]


@dataclass(frozen=True)
class Law:
    """What a cloud or a controller refuses, or what hurts once it runs. reason: the law in one sentence."""

    code: str
    level: Level
    link: str
    reason: str
    check: Check

    def problems(self, view: View) -> Iterator[Problem]:
        for fault in self.check(view):
            if fault.path and fault.path[0] in fault.node.unknown_inputs:
                continue
            reason = f"{self.reason}; {fault.words}" if fault.words else self.reason
            yield Problem(self.code, reason, At((fault.node.label, *fault.path)), fault.fix, self.level, self.link)


LAWS: list[Law] = []


def law(code: str, level: Level, link: str) -> Callable[[Check], Check]:
    """Registers a check. Its docstring is the reason: one sentence, no full stop in print."""

    def register(check: Check) -> Check:
        LAWS.append(Law(code, level, link, " ".join((check.__doc__ or "").split()).rstrip("."), check))
        return check

    return register


def broken(graph: Graph, acknowledged: Iterable[str] = ()) -> list[Problem]:
    """Every law a recorded program breaks, errors first, then by id and resource; an acknowledged warning is left out, an error never.

    What the program only learns from the cloud (a group that exists already, an id that is read) refuses nothing.
    """
    view, known = View(graph), set(acknowledged)
    found = [problem for each in LAWS for problem in each.problems(view)]
    kept = [problem for problem in found if problem.level is Level.ERROR or problem.code not in known]
    return sorted(kept, key=lambda p: (p.level is not Level.ERROR, *order(p.code), str(p.at)))


def order(code: str) -> tuple[str, int]:
    """F2 before F10, L-01 before L-02."""
    return code[0], int("".join(re.findall(r"\d+", code)))
