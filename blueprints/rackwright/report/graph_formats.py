"""A resource graph as Graphviz DOT or a Mermaid flowchart: resources by component, with an arrow to each direct dependency."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any


class GraphFormat(StrEnum):
    """How a graph is printed."""

    TREE = "tree"
    DOT = "dot"
    MERMAID = "mermaid"


def type_name(token: str) -> str:
    """A type token without its repetition: `aws:ec2/vpc` for `aws:ec2/vpc:Vpc`, `AwsNetwork` for a component."""
    place, _, name = token.rpartition(":")
    if place == "rackwright:index":
        return name
    return place if place.rpartition("/")[2].lower() == name.lower() else token


Node = Mapping[str, Any]


def by_parent(graph: Node) -> dict[str, list[Node]]:
    """URN of each component and its children by type and name; "" for resources without a component."""
    found: dict[str, list[Node]] = defaultdict(list)
    for node in sorted(graph["resources"], key=lambda node: (node["type"], node["name"])):
        found[node.get("parent") or ""].append(node)
    return dict(found)


def as_dot(graph: Node) -> str:
    """Graphviz DOT. Protected resources have a double border."""
    lines = [f"digraph {json.dumps(graph.get('stack', 'graph'))} {{", '  rankdir="LR"; node [shape="box"];']
    children = by_parent(graph)

    def draw(node: Node, indent: str) -> Iterator[str]:
        name, label = json.dumps(node["urn"]), json.dumps(label_of(node))
        if node["urn"] not in children:
            yield f"{indent}{name} [label={label}{', peripheries=2' if node['protect'] else ''}];"
            return
        yield from (f"{indent}subgraph {json.dumps('cluster ' + node['urn'])} {{", f"{indent}  label={label};")
        for child in children[node["urn"]]:
            yield from draw(child, indent + "  ")
        yield indent + "}"

    lines += [line for node in children.get("", ()) for line in draw(node, "  ")]
    lines += [f"  {json.dumps(node['urn'])} -> {json.dumps(target)};" for node, target in _arrows(graph)]
    return "\n".join([*lines, "}"])


def as_mermaid(graph: Node) -> str:
    """A Mermaid flowchart. Protected resources are drawn as subroutines."""
    ids = {node["urn"]: f"r{number}" for number, node in enumerate(graph["resources"])}
    lines = ["flowchart LR"]
    children = by_parent(graph)

    def draw(node: Node, indent: str) -> Iterator[str]:
        name, label = ids[node["urn"]], '"' + label_of(node).replace('"', "#quot;").replace("\n", "<br/>") + '"'
        if node["urn"] not in children:
            yield f"{indent}{name}[[{label}]]" if node["protect"] else f"{indent}{name}[{label}]"
            return
        yield f"{indent}subgraph {name}[{label}]"
        for child in children[node["urn"]]:
            yield from draw(child, indent + "  ")
        yield indent + "end"

    lines += [line for node in children.get("", ()) for line in draw(node, "  ")]
    return "\n".join([*lines, *(f"  {ids[node['urn']]} --> {ids[target]}" for node, target in _arrows(graph))])


def label_of(node: Node) -> str:
    return f"{type_name(node['type'])}\n{node['name']}"


def _arrows(graph: Node) -> list[tuple[Node, str]]:
    """(resource, URN of a resource that it depends on), without components."""
    components = by_parent(graph)
    drawn = {node["urn"]: node for node in graph["resources"] if node["urn"] not in components}
    return [(node, target) for node in drawn.values() for target in node.get("dependsOn", ()) if target in drawn]
