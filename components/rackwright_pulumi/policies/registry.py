"""The rules over a recorded resource graph."""

from collections.abc import Collection

from rackwright.diagnostics.problem import At, Level, Problem
from rackwright.diagnostics.rule import RuleSet, Violation, rule_number

from rackwright_pulumi.policies.graph_view import GraphView
from rackwright_pulumi.resource_graph import Graph, Node

RESOURCE_RULES: RuleSet[GraphView] = RuleSet()
rule = RESOURCE_RULES.rule


def violation(node: Node, path: tuple[str | int, ...], fix: str, detail: str = "") -> Violation:
    """A resource that breaks a rule. path: of the input; detail: what is there, when the rule's own sentence does not say it."""
    return Violation(At((node.label, *path)), fix, detail=detail)


def broken(graph: Graph, acknowledged: Collection[str] = ()) -> list[Problem]:
    """Every problem of a recorded program, errors first, then by id and resource. An acknowledged warning is left out, an error never is.

    An input that the program only learns from the cloud (an existing group, an id that is looked up) breaks no rule.
    """
    view = GraphView(graph)
    unknown = {(node.label, key) for node in graph.nodes.values() for key in node.unknown_inputs}
    found = [p for p in RESOURCE_RULES.problems(view, acknowledged) if p.at.steps[:2] not in unknown]
    return sorted(found, key=lambda p: (p.level is not Level.ERROR, *order(p.code), str(p.at)))


def order(code: str) -> tuple[str, int]:
    """F2 before F10, L-01 before L-02."""
    return code[0], rule_number(code)
