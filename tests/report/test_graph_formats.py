"""Resource graphs as a tree, Graphviz DOT and a Mermaid flowchart."""

import io
import re

import pytest
from rackwright.report.graph_formats import as_dot, as_mermaid
from rackwright.report.terminal.stack import show_graph
from rich.console import Console

LONG = "demo-network-" + "x" * 120
GRAPH = {
    "stack": "demo",
    "resources": [
        {"urn": "u:vpc", "type": "aws:ec2/vpc:Vpc", "name": 'vpc "a"', "parent": "u:net", "protect": True, "dependsOn": ["u:key", "u:net"]},
        {"urn": "u:net", "type": "rackwright:index:AwsNetwork", "name": "demo-network", "parent": "u:box", "protect": False},
        {"urn": "u:box", "type": "rackwright:index:Box", "name": "demo", "parent": "", "protect": False},
        {"urn": "u:key", "type": "aws:kms/key:Key", "name": LONG, "parent": "u:box", "protect": False, "dependsOn": ["u:elsewhere"]},
    ],
}


def test_a_tree_has_every_resource_below_its_component_with_its_whole_name():
    out = io.StringIO()
    show_graph(Console(file=out, width=80, markup=False), GRAPH)
    assert out.getvalue().splitlines() == [
        "demo, 4 resources, 1 protected",
        "Box demo",
        f"├── aws:kms/key {LONG}",
        "└── AwsNetwork demo-network",
        '    └── aws:ec2/vpc vpc "a"  protected',
    ]


def test_dot_quotes_names_and_draws_arrows_between_resources_only():
    text = as_dot(GRAPH)
    assert '"u:vpc" [label="aws:ec2/vpc\\nvpc \\"a\\"", peripheries=2];' in text
    assert re.findall(r'".*" -> ".*";', text) == ['"u:vpc" -> "u:key";']
    assert text.count("subgraph") == 2
    assert text.count("{") == text.count("}")


def test_mermaid_escapes_quotes_and_closes_every_subgraph():
    lines = [line.strip() for line in as_mermaid(GRAPH).splitlines()]
    assert 'r0[["aws:ec2/vpc<br/>vpc #quot;a#quot;"]]' in lines
    assert [line for line in lines if "-->" in line] == ["r0 --> r3"]
    assert sum(line.startswith("subgraph") for line in lines) == lines.count("end") == 2


@pytest.mark.parametrize("draw", [as_dot, as_mermaid])
def test_an_empty_graph_is_valid(draw):
    assert draw({"stack": "empty", "resources": []})
