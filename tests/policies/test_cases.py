"""Every law on a few resources that keep it and on changes that break it, with the exact text. One file per law in tests/cases/laws.

`RACKWRIGHT_RENEW=laws pytest tests/laws/test_cases.py` writes what is said anew.
"""

import copy
import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from rackwright_pulumi.policies import AREAS, RESOURCE_RULES, broken
from rackwright_pulumi.testing import Graph, Node

FOLDER = Path(__file__).parents[1] / "cases" / "laws"
FILES = sorted(FOLDER.glob("*.yaml"))
STEP = re.compile(r"([^.\[\]]+)|\[([^\]]*)\]")


def graph(resources: dict[str, Any]) -> Graph:
    """Resources by name: token, and where it matters id, inputs, state and what they wait for."""
    urns = {name: f"urn:pulumi:test::test::{resource['token']}::{name}" for name, resource in resources.items()}
    nodes = [
        Node(
            urns[name],
            resource["token"],
            name,
            parent="",
            custom=True,
            inputs=resource.get("inputs") or {},
            depends_on=[urns[other] for other in resource.get("depends_on", ())],
            id=resource.get("id", name),
            state=resource.get("state") or {},
        )
        for name, resource in resources.items()
    ]
    return Graph({node.urn: node for node in nodes}, {})


def changed(resources: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """`template.inputs.networkInterfaces[0].deviceIndex: 1`; `[+]` appends, a value of null leaves out."""
    found = copy.deepcopy(resources)
    for path, value in change.items():
        steps = [name or f"[{index}]" for name, index in STEP.findall(path)]
        inside = found
        for step in steps[:-1]:
            inside = inside[int(step[1:-1])] if step.startswith("[") else inside.setdefault(step, {})
        _set(inside, steps[-1], copy.deepcopy(value))
    return found


def _set(inside: Any, step: str, value: Any) -> None:
    if step == "[+]":
        inside.append(value)
    elif value is None:
        inside.pop(step)
    else:
        inside[int(step[1:-1]) if step.startswith("[") else step] = value


def said(resources: dict[str, Any], code: str) -> list[str]:
    return [str(problem) for problem in broken(graph(resources)) if problem.code == code]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_law(file):
    case, code = yaml.safe_load(file.read_text()), file.stem
    base = case["resources"]
    if os.environ.get("RACKWRIGHT_RENEW") == "laws":
        case["breaks"] = [{"change": row["change"], "says": said(changed(base, row["change"]), code)} for row in case["breaks"]]
        file.write_text(yaml.safe_dump(case, sort_keys=False, width=200, default_flow_style=None, allow_unicode=True))
    assert said(base, code) == []
    for change in case.get("holds", ()):
        assert said(changed(base, change), code) == [], change
    for row in case["breaks"]:
        assert row["says"], row["change"]
        assert said(changed(base, row["change"]), code) == row["says"], row["change"]


def test_every_law_has_a_case():
    assert {law.code for law in RESOURCE_RULES} == {file.stem for file in FILES}


def test_law_ids_are_unique():
    codes = [law.code for law in RESOURCE_RULES]
    assert len(codes) == len(set(codes))


def test_every_area_is_read():
    folder = Path(AREAS[0].__file__).parent
    assert {module.__name__.rpartition(".")[2] for module in AREAS} == {p.stem for p in folder.glob("*.py")} - {
        "__init__",
        "registry",
        "graph_view",
    }


@pytest.mark.parametrize("law", list(RESOURCE_RULES), ids=lambda law: law.code)
def test_a_law_says_why_and_where_it_is_written(law):
    assert law.reason
    assert not law.reason.endswith(".")
    assert law.link.startswith("https://")
