"""Commands on a spec with outputs of other stacks: no stack is deployed, so placeholders are used."""

import json

import pytest

from tests.cli.conftest import ROOT

GUEST = ROOT / "tests/cases/stack_outputs/guest.yaml"


def box(account: str) -> str:
    text = GUEST.read_text().replace(
        "blueprint: {kind: training-cluster, cluster: {stack: organization/shared/prod", "blueprint: {kind: box}  # "
    )
    text = text.replace("nodes: {stack: organization/iam/prod, output: nodes}, ", "")
    return text if account else text.replace('      account: "123456789012"\n', "")


@pytest.mark.parametrize("command", [["graph"], ["policy"], ["policy", "--preview"]])
@pytest.mark.parametrize("kind", ["cluster", "box", "box without account"])
def test_commands_accept_references_to_other_stacks(rackwright, tmp_path, command, kind):
    path = tmp_path / "spec.yaml"
    path.write_text(GUEST.read_text() if kind == "cluster" else box("without" not in kind))
    result = rackwright(command[0], path, *command[1:])
    assert result.status == 0, result.err


def test_graph_shows_the_output_and_its_stack(rackwright):
    resources = rackwright("graph", GUEST, "--json").json["resources"]
    nodes = next(r for r in resources if r["type"] == "aws:eks/nodeGroup:NodeGroup")["inputs"]
    assert nodes["clusterName"] == "<clusterName of stack organization/shared/prod>"
    assert nodes["subnetIds"] == ["<parts.network.gpu of stack organization/net/prod>"]
    assert nodes["nodeRoleArn"] == "arn:aws:iam::123456789012:role/<nodes of stack organization/iam/prod>"


def test_policy_uses_patterns_for_values_of_other_stacks(rackwright):
    documents = rackwright("policy", GUEST).json
    assert "<" not in json.dumps(documents)
    statements = [s for document in documents for s in document["Statement"]]
    passed = next(s for s in statements if s["Action"] == ["iam:PassRole"])["Resource"]
    assert "arn:aws:iam::123456789012:role/*" in passed
    groups = next(s for s in statements if "eks:CreateNodegroup" in s["Action"])["Resource"]
    assert "arn:aws:eks:us-east-1:123456789012:cluster/*" in groups


def test_diff_of_a_spec_with_references(rackwright, tmp_path):
    renamed = tmp_path / "guest.yaml"
    renamed.write_text(GUEST.read_text().replace("output: nodes}", "output: workers}"))
    assert rackwright("diff", GUEST, GUEST).out == "no changes\n"
    changes = rackwright("diff", GUEST, renamed, "--json").json
    assert [c["operation"] for c in changes if c["type"] == "aws:eks/nodeGroup:NodeGroup"] == ["replace"]
