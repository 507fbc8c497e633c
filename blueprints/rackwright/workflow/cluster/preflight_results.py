"""Results of a check of nodes, as JSON and JUnit."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any
from xml.etree import ElementTree

from pydantic import TypeAdapter

from rackwright.diagnostics.problem import escaped
from rackwright.stackplan.labels import PASSED

VERSION = "preflight/1"
NOT_MEASURED = ("driver-tool",)
"""Checks of one node whose failure is no fault of the node: the container lacks a tool."""


@dataclass(frozen=True)
class Check:
    """One measurement. nodes: those measured, one or several. detail: the device, or why nothing was measured."""

    name: str
    passed: bool
    measured: Any
    limit: Any
    nodes: tuple[str, ...]
    detail: str = ""
    skipped: bool = False

    @property
    def text(self) -> str:
        """What failed, with the measured value and the limit."""
        where = ", ".join(self.nodes) or "no node"
        detail = f" ({self.detail})" if self.detail else ""
        value = "not measured" if self.measured is None else self.measured
        return f"{where}: {self.name} is {value}, the limit is {self.limit}{detail}"


@dataclass(frozen=True)
class Results:
    """Every check of a stack's nodes. nodes: names of all nodes. earlier: node that was not measured -> label of an earlier check."""

    stack: str
    nodes: tuple[str, ...]
    checks: tuple[Check, ...] = ()
    failed_nodes: frozenset[str] = field(default_factory=frozenset)
    earlier: Mapping[str, str] = field(default_factory=dict)

    @property
    def failures(self) -> list[Check]:
        return [check for check in self.checks if not check.passed]

    @property
    def passed(self) -> bool:
        return bool(self.nodes) and not self.failures and all(self.earlier.get(node, PASSED) == PASSED for node in self.nodes)

    def result_of(self, node: str) -> str:
        """passed, failed, or blocked: a check of all nodes failed, which is the fault of no single node, or the node was not measured."""
        if node in self.failed_nodes:
            return "failed"
        if node in self.earlier:
            return self.earlier[node] or "blocked"
        of_all = [each for each in self.failures if each.nodes and not {*each.nodes} & {*self.failed_nodes, *self.earlier}]
        return "blocked" if of_all else "passed"

    def to_json(self) -> dict[str, Any]:
        kept = ("detail", "skipped")
        checks = [{key: value for key, value in asdict(check).items() if key not in kept or value} for check in self.checks]
        nodes = {node: self.result_of(node) for node in self.nodes}
        return {"version": VERSION, "stack": self.stack, "passed": self.passed, "nodes": nodes, "checks": checks}

    def to_text(self) -> str:
        return json.dumps(self.to_json(), indent=2) + "\n"

    def to_junit(self) -> str:
        """A suite per node, and one of the checks of several nodes."""
        root = ElementTree.Element("testsuites", name=f"preflight of {self.stack}")
        for name, checks in self._suites().items():
            failed, skipped = sum(not check.passed for check in checks), sum(check.skipped for check in checks)
            numbers = {"name": name, "tests": str(len(checks)), "failures": str(failed), "skipped": str(skipped)}
            suite = ElementTree.SubElement(root, "testsuite", numbers)
            for check in checks:
                title = check.name if len(check.nodes) == 1 or name != CLUSTER else f"{check.name} {' '.join(check.nodes)}"
                case = ElementTree.SubElement(suite, "testcase", classname=f"preflight.{name}", name=escaped(title))
                if check.skipped:
                    ElementTree.SubElement(case, "skipped", message=escaped(check.detail))
                elif not check.passed:
                    ElementTree.SubElement(case, "failure", message=escaped(check.text))
        ElementTree.indent(root)
        return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"

    def _suites(self) -> dict[str, list[Check]]:
        found: dict[str, list[Check]] = {node: [] for node in self.nodes}
        for check in self.checks:
            found.setdefault(check.nodes[0] if len(check.nodes) == 1 else CLUSTER, []).append(check)
        return {name: checks for name, checks in found.items() if checks}


CLUSTER = "cluster"
"""Name of the suite with checks of several nodes."""


_CHECK = TypeAdapter(Check)


def checks_of(text: str, nodes: tuple[str, ...] = ()) -> list[Check]:
    """The results in a JSON list of the scripts; empty where the text is cut or has another form. nodes: of a script that checks one."""
    try:
        return [_CHECK.validate_python({"nodes": nodes} | record) for record in json.loads(text)]
    except (ValueError, TypeError, RecursionError):
        return []
