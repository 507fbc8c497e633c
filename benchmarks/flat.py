"""A recorded graph as the flat program somebody would write by hand: the same types, inputs and order, one SDK call each, no component."""

import json
import re
from collections.abc import Iterator, Mapping
from pprint import pformat
from typing import Any

from pulumi import _types
from rackwright_pulumi.simulator.schema.facts import custom, find
from rackwright_pulumi.testing import Graph, Node, Secret

HEAD = """import pulumi
from pulumi import Output, ResourceOptions
{imports}

class Thing(pulumi.CustomResource):
    def __init__(self, kind, name, props, opts):
        super().__init__(kind, name, props, opts)


def declare():
{body}
"""


def flat_program(graph: Graph) -> str:
    """Python text with a function `declare` that makes every custom resource of `graph` but no component."""
    nodes = [node for node in ordered(graph) if node.custom]
    names = {node.urn: f"r{i}" for i, node in enumerate(nodes)}
    imports = sorted({line for node in nodes for line in _import(node)})
    body = [f"    {names[node.urn]} = {_call(node, graph, names)}" for node in nodes]
    return HEAD.format(imports="\n".join(imports), body="\n".join(body))


def ordered(graph: Graph) -> Iterator[Node]:
    """Every resource after what it depends on and after its provider."""
    done: set[str] = set()

    def visit(urn: str) -> Iterator[Node]:
        if urn in done or urn not in graph.nodes:
            return
        done.add(urn)
        node = graph.nodes[urn]
        for before in (*node.depends_on, node.provider.rpartition("::")[0]):
            yield from visit(before)
        yield node

    for urn in graph.nodes:
        yield from visit(urn)


def _class(node: Node) -> tuple[str, str] | None:
    """Module and class of the SDK; None for a Kubernetes object, of which the manifest itself is written down."""
    if node.type.startswith("pulumi:providers:"):
        return f"pulumi_{node.type.rpartition(':')[2]}", "Provider"
    if node.type.endswith(":Release"):
        return "pulumi_kubernetes.helm.v3", "Release"
    package, path, name = node.type.split(":")
    if package == "kubernetes" or custom(node.type):
        return None
    module, _, leaf = path.partition("/")
    return f"pulumi_{package}.{module}.{_snake(leaf)}", name


def _import(node: Node) -> Iterator[str]:
    found = _class(node)
    if found:
        yield f"from {found[0]} import {found[1]} as {_alias(*found)}"


def _alias(module: str, name: str) -> str:
    return f"{module.replace('.', '_')}_{name}"


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _call(node: Node, graph: Graph, names: Mapping[str, str]) -> str:
    known = {key: _expressions(urns, graph, names) for key, urns in node.property_dependencies.items()}
    given = {key: _value(value, known.get(key, {})) for key, value in node.inputs.items() if not key.startswith("__")}
    found, options = _class(node), _options(node, names)
    if found is None:
        props = ", ".join(f"{key!r}: {text}" for key, text in given.items())
        return f"Thing({node.type!r}, {node.name!r}, {{{props}}}, {options})"
    wire = _python_names(*found)
    arguments = ", ".join(f"{wire.get(key, _snake(key))}={text}" for key, text in given.items() if key in wire)
    return f"{_alias(*found)}({node.name!r}, {arguments}{', ' if arguments else ''}opts={options})"


def _python_names(module: str, name: str) -> dict[str, str]:
    """Wire name to parameter of a resource class."""
    home = __import__(module, fromlist=[name])
    home = __import__(getattr(home, name).__module__, fromlist=[name])
    args = getattr(home, f"{name}InitArgs", None) or getattr(home, f"{name}Args")
    return {wire: python for python, wire in _types.input_type_py_to_pulumi_names(args).items()}


def _expressions(urns: list[str], graph: Graph, names: Mapping[str, str]) -> dict[str, str]:
    """Text of each output a property may be made of -> the expression for it; the first resource's own id under the empty text."""
    found: dict[str, str] = {}
    for urn in urns:
        node = graph.nodes.get(urn)
        if node is None or urn not in names:
            continue
        found.setdefault("", f"{names[urn]}.urn")
        declared = find(node.type)
        for key, value in node.state.items():
            if isinstance(value, str) and value and declared and key in declared.outputs and not custom(node.type) and _class(node):
                found.setdefault(value, f"{names[urn]}.{_snake(key)}")
        found[node.id] = f"{names[urn]}.id"
    return found


def _value(value: Any, known: Mapping[str, str]) -> str:
    """The value written with references where it is exactly an output, and with one `apply` where it only contains some."""
    text = _written(value, known)
    if not known or any(expression in text for expression in known.values()):
        return text
    return f"{known['']}.apply(lambda _: {text})" if "" in known else text


def _written(value: Any, known: Mapping[str, str]) -> str:
    if isinstance(value, Secret):
        return f"Output.secret({_written(value.value, known)})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_written(item, known)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_written(item, known) for item in value) + "]"
    return known[value] if isinstance(value, str) and value in known and value else pformat(value, width=10**6)


def _options(node: Node, names: Mapping[str, str]) -> str:
    told = {urn for urns in node.property_dependencies.values() for urn in urns}
    waits = [names[urn] for urn in node.depends_on if urn not in told and urn in names]
    parts = {"provider": names.get(node.provider.rpartition("::")[0], ""), "depends_on": f"[{', '.join(waits)}]" if waits else ""}
    parts |= {"protect": "True" if node.protect else "", "ignore_changes": _listed(node, "ignoreChanges")}
    return f"ResourceOptions({', '.join(f'{key}={text}' for key, text in parts.items() if text)})"


def _listed(node: Node, option: str) -> str:
    return json.dumps(node.options[option]) if node.options.get(option) else ""
