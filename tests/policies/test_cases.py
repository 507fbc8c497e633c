"""Every rule on a few resources that satisfy it and on changes that violate it, with the exact text. One file per rule in
tests/cases/policies; `RACKWRIGHT_RENEW=policy-cases pytest tests/policies/test_cases.py` writes the texts.
"""

import copy
import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from rackwright_pulumi.policies import AREAS, RESOURCE_RULES, broken
from rackwright_pulumi.policies.texts import NAMES
from rackwright_pulumi.testing import Graph, Node

FOLDER = Path(__file__).parents[1] / "cases" / "policies"
FILES = sorted(FOLDER.glob("*.yaml"))
STEP = re.compile(r"([^.\[\]]+)|\[([^\]]*)\]")


def graph(resources: dict[str, Any]) -> Graph:
    """Resources by name: token, and optionally id, inputs, state and depends_on."""
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
    """`template.inputs.networkInterfaces[0].deviceIndex: 1`; `[+]` appends, null removes."""
    found = copy.deepcopy(resources)
    for path, value in change.items():
        steps = [name or f"[{index}]" for name, index in STEP.findall(path)]
        target = found
        for step in steps[:-1]:
            target = target[int(step[1:-1])] if step.startswith("[") else target.setdefault(step, {})
        _set(target, steps[-1], copy.deepcopy(value))
    return found


def _set(target: Any, step: str, value: Any) -> None:
    if step == "[+]":
        target.append(value)
    elif value is None:
        target.pop(step)
    else:
        target[int(step[1:-1]) if step.startswith("[") else step] = value


def problems(resources: dict[str, Any], code: str) -> list[str]:
    return [str(problem) for problem in broken(graph(resources)) if problem.code == code]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_rule(file):
    case, code = yaml.safe_load(file.read_text()), file.stem
    base = case["resources"]
    if os.environ.get("RACKWRIGHT_RENEW") == "policy-cases":
        case["violated_by"] = [
            {"change": row["change"], "prints": problems(changed(base, row["change"]), code)} for row in case["violated_by"]
        ]
        file.write_text(yaml.safe_dump(case, sort_keys=False, width=200, default_flow_style=None, allow_unicode=True))
    assert problems(base, code) == []
    for change in case.get("satisfied_by", ()):
        assert problems(changed(base, change), code) == [], change
    for row in case["violated_by"]:
        assert row["prints"], row["change"]
        assert problems(changed(base, row["change"]), code) == row["prints"], row["change"]


def test_every_rule_has_a_case():
    assert {rule.code for rule in RESOURCE_RULES} == {file.stem for file in FILES}


def test_rule_ids_are_unique():
    codes = [rule.code for rule in RESOURCE_RULES]
    assert len(codes) == len(set(codes))


def test_every_module_is_registered():
    folder = Path(AREAS[0].__file__).parent
    assert {module.__name__.rpartition(".")[2] for module in AREAS} == {p.stem for p in folder.glob("*.py")} - {
        "__init__",
        "registry",
        "graph_view",
    }


@pytest.mark.parametrize("rule", list(RESOURCE_RULES), ids=lambda rule: rule.code)
def test_a_rule_has_a_reason_and_a_link(rule):
    assert rule.reason
    assert not rule.reason.endswith(".")
    assert rule.link.startswith("https://")


BOTOCORE_NAMES = {
    "aws:iam/role:Role": ("iam", "roleNameType"),
    "aws:iam/instanceProfile:InstanceProfile": ("iam", "instanceProfileNameType"),
    "aws:iam/policy:Policy": ("iam", "policyNameType"),
    "aws:eks/cluster:Cluster": ("eks", "ClusterName"),
    "aws:cloudwatch/logGroup:LogGroup": ("logs", "LogGroupName"),
    "aws:kms/alias:Alias": ("kms", "AliasNameType"),
    "aws:scheduler/schedule:Schedule": ("scheduler", "Name"),
    "aws:cloudwatch/eventRule:EventRule": ("events", "RuleName"),
    "aws:budgets/budget:Budget": ("budgets", "BudgetName"),
}
"""The types of NAMES whose limits botocore's service models publish; its models of the other six have none."""


@pytest.mark.parametrize("token", BOTOCORE_NAMES)
def test_name_lengths_agree_with_botocore(token):
    loaders = pytest.importorskip("botocore.loaders")
    service, shape = BOTOCORE_NAMES[token]
    maximum = loaders.Loader().load_service_model(service, "service-2")["shapes"][shape]["max"]
    prefix = "alias/" if token.endswith(":Alias") else ""
    longest = prefix + "a" * (maximum - len(prefix))
    assert re.fullmatch(NAMES[token][1], longest, re.ASCII)
    assert not re.fullmatch(NAMES[token][1], longest + "a", re.ASCII)
