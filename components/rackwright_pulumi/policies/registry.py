"""Registry of the rules over a recorded resource graph."""

from collections.abc import Collection

from rackwright.diagnostics.problem import At, Level, Problem
from rackwright.diagnostics.rule import RuleSet, Violation, rule_number

from rackwright_pulumi.policies.graph_view import GraphView
from rackwright_pulumi.resource_graph import Graph, Node

RESOURCE_RULES: RuleSet[GraphView] = RuleSet()
rule = RESOURCE_RULES.rule


def violation(node: Node, path: tuple[str | int, ...], message: str, fix: str) -> Violation:
    """A resource that violates a rule. path: of the input, () for the whole resource; message: the failed condition with its value."""
    return Violation(At((node.label, *path)), fix, message)


def broken(graph: Graph, acknowledged: Collection[str] = ()) -> list[Problem]:
    """Every problem of a recorded program: errors first, then by id and resource. Acknowledged warnings are left out, errors never.

    Inputs whose value is unknown until deployment (the id of an existing group, a looked-up id) violate no rule.
    """
    unknown = {(node.label, key) for node in graph.nodes.values() for key in node.unknown_inputs}
    found = [p for p in RESOURCE_RULES.problems(GraphView(graph), acknowledged) if p.at.steps[:2] not in unknown]
    return sorted(found, key=lambda p: (p.level is not Level.ERROR, *order(p.code), str(p.at)))


def order(code: str) -> tuple[str, int]:
    """Sort key of rule ids: F2 before F10, F26 before L-01."""
    return code[0], rule_number(code)
