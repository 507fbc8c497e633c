"""Kubernetes objects and Helm releases of a recorded graph as files, in the order in which they are installed."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from typing import Any

from rackwright_pulumi.resource_graph import Graph, Node, unwrap_secrets

KUBERNETES, RELEASE = "kubernetes:", "kubernetes:helm.sh/v3:Release"
EXPORTED = ("parts", "lustre", "clusterName", "endpoint", "bucketNames", "keyId")
"""Outputs whose values objects contain."""
FIRST = ("apiVersion", "kind", "metadata", "name", "namespace")
"""Keys before the others, which are in alphabetical order."""
NOT_VALUES = ("layers",)
WAIT_FOR, STATE_IS = "pulumi.com/waitFor", "jsonpath={.status.state}="
READY_SECONDS = 1800
"""How long the script waits for an object that reports its state, such as NIC drivers on every node."""
SCRIPT_START = ("#!/bin/sh", "set -eu", 'cd "$(dirname "$0")"')
MIN_LENGTH = 6
"""Shorter values could be a part of other texts."""


@dataclass(frozen=True)
class ChartRelease:
    """A Helm release. repository: empty where `chart` is an `oci://` reference. after: releases that it waits for, (namespace, name).

    version: of the chart. digest: of the chart, empty where none is pinned. timeout_s: of its installation.
    """

    name: str
    namespace: str
    chart: str
    repository: str
    version: str
    digest: str
    timeout_s: int
    after: tuple[tuple[str, str], ...] = ()

    @property
    def chart_name(self) -> str:
        return self.chart.rpartition("/")[2]

    @property
    def chart_parent(self) -> str:
        """What holds the chart: an `oci://` reference without its name, or the repository."""
        return self.repository or self.chart.rpartition("/")[0]


@dataclass(frozen=True)
class ManifestFile:
    """One file. body: an object, or the values of a release. install: line of the shell script. wave: 0 for files that wait for no other
    one, else one more than that of the last file that it waits for."""

    name: str
    body: dict[str, Any]
    install: str
    release: ChartRelease | None = None
    wave: int = 0

    @property
    def ready_state(self) -> str:
        """`status.state` that an object reports when it is ready; empty where nothing waits for one."""
        annotations = {} if self.release else self.body["metadata"].get("annotations") or {}
        wanted = annotations.get(WAIT_FOR, "")
        return wanted.removeprefix(STATE_IS) if wanted.startswith(STATE_IS) else ""


@dataclass(frozen=True)
class Manifests:
    """files: in order. unknown: outputs of the stack that files name as ${...}. secrets: (namespace, name, keys) that are left out.

    simulated: files with a value of the cloud that the stack does not export, so that it cannot be replaced.
    """

    files: tuple[ManifestFile, ...]
    unknown: tuple[str, ...]
    secrets: tuple[tuple[str, str, tuple[str, ...]], ...]
    simulated: tuple[str, ...]

    @property
    def script(self) -> str:
        """Installs everything in order."""
        return "\n".join((*SCRIPT_START, *self.secret_comments, *(file.install for file in self.files), ""))

    @property
    def secret_comments(self) -> list[str]:
        """A comment for each secret that is left out."""
        return [f"# First create Secret {name} in namespace {space}: {', '.join(keys)}" for space, name, keys in self.secrets]

    @property
    def waves(self) -> list[tuple[ManifestFile, ...]]:
        """Files by wave. Those of one wave do not wait for each other."""
        last = max((file.wave for file in self.files), default=-1)
        return [tuple(file for file in self.files if file.wave == wave) for wave in range(last + 1)]

    def uses_of(self, path: str) -> tuple[str, ...]:
        """Files with the placeholder of an output."""
        return tuple(file.name for file in self.files if f"${{{path}}}" in json.dumps(file.body))


def manifests_of(graph: Graph, outputs: Mapping[str, Any], fixed: frozenset[str] = frozenset()) -> Manifests:
    """Files of every object and release. outputs: of the deployed stack; empty: `${path}` stands for each value.

    The recorded values of the stack's outputs are those of a simulated cloud. They are replaced by the real output of the same path.
    fixed: texts of the plan, such as names of existing buckets, which are never replaced.
    """
    values = {old: path for path, old in _leaves({key: graph.outputs.get(key) for key in EXPORTED}) if old not in fixed}
    real = {old: _at(outputs, path) or f"${{{path}}}" for old, path in values.items()}
    nodes = _ordered(graph)
    secrets = [node for node in nodes if node.inputs.get("kind") == "Secret"]
    digits, waves = len(str(len(nodes))), _waves(graph, nodes)
    files, simulated = [], []
    for number, node in enumerate((node for node in nodes if node not in secrets), 1):
        recorded = unwrap_secrets(node.inputs)
        computed = [key for key, urns in node.property_dependencies.items() if any(not _is_own(urn) for urn in urns)]
        made = {
            key: _replaced(recorded[key], real if key in computed else {})
            for key in sorted(recorded, key=_rank)
            if recorded[key] is not None
        }
        file = _file(f"{number:0{digits}}", node, made)
        files.append(replace(file, wave=waves[node.urn], release=_release(graph, node, made)))
        simulated += [files[-1].name for key in computed if made[key] == recorded[key]]
    text = json.dumps([file.body for file in files])
    unknown = sorted(path for old, path in values.items() if real[old].startswith("${") and real[old] in text)
    left_out = tuple(_secret(node) for node in secrets)
    return Manifests(tuple(files), tuple(dict.fromkeys(unknown)), left_out, tuple(dict.fromkeys(simulated)))


def _is_own(urn: str) -> bool:
    """Whether a resource is an object or a release."""
    return f"${KUBERNETES}" in urn or f"::{KUBERNETES}" in urn


def _ordered(graph: Graph) -> list[Node]:
    """Objects and releases after those that they depend on."""
    own = {urn: node for urn, node in graph.nodes.items() if node.type.startswith(KUBERNETES)}
    before = {urn: _own_dependencies(graph, node) for urn, node in sorted(own.items())}
    return [own[urn] for urn in TopologicalSorter(before).static_order()]


def _own_dependencies(graph: Graph, node: Node) -> list[str]:
    """URNs of the objects and releases that a resource waits for."""
    return [urn for urn in graph.direct_dependencies(node) if urn in graph.nodes and graph.nodes[urn].type.startswith(KUBERNETES)]


def _waves(graph: Graph, ordered: Sequence[Node]) -> dict[str, int]:
    """URN -> wave. Secrets are created by hand before the first wave, and nothing waits for them."""
    waves: dict[str, int] = {}
    for node in ordered:
        before = [waves[urn] for urn in _own_dependencies(graph, node) if graph.nodes[urn].inputs.get("kind") != "Secret"]
        waves[node.urn] = max(before, default=-1) + 1
    return waves


def _release(graph: Graph, node: Node, inputs: Mapping[str, Any]) -> ChartRelease | None:
    if node.type != RELEASE:
        return None
    chart, _, digest = inputs["chart"].partition("@")
    repository = (inputs.get("repositoryOpts") or {}).get("repo", "")
    others = (graph.nodes[urn] for urn in _own_dependencies(graph, node))
    after = tuple(sorted((other.inputs["namespace"], other.inputs["name"]) for other in others if other.type == RELEASE))
    return ChartRelease(inputs["name"], inputs["namespace"], chart, repository, inputs["version"], digest, inputs["timeout"], after)


def _file(number: str, node: Node, inputs: dict[str, Any]) -> ManifestFile:
    if node.type != RELEASE:
        metadata = inputs["metadata"]
        words = (number, inputs["kind"].lower(), metadata.get("namespace", ""), metadata["name"])
        name = f"{'-'.join(filter(None, words))}.yaml"
        file = ManifestFile(name, inputs, f"kubectl apply --server-side -f {shlex.quote(name)}")
        wait = ("kubectl", "wait", "-f", name, f"--for={STATE_IS}{file.ready_state}", f"--timeout={READY_SECONDS}s")
        return replace(file, install=f"{file.install}\n{shlex.join(wait)}") if file.ready_state else file
    name = f"{number}-release-{inputs['name']}.values.yaml"
    repository = (inputs.get("repositoryOpts") or {}).get("repo")
    words = ["helm", "upgrade", "--install", inputs["name"], inputs["chart"], *(["--repo", repository] if repository else [])]
    words += ["--version", inputs["version"], "--namespace", inputs["namespace"], "--values", name]
    return ManifestFile(name, inputs.get("values") or {}, shlex.join([*words, "--wait", "--timeout", f"{inputs['timeout']}s"]))


def _secret(node: Node) -> tuple[str, str, tuple[str, ...]]:
    metadata, data = node.inputs["metadata"], unwrap_secrets(node.inputs.get("stringData") or {})
    return metadata.get("namespace", ""), metadata["name"], tuple(data)


def texts_of(value: Any) -> frozenset[str]:
    """Every text in a JSON value."""
    if isinstance(value, str):
        return frozenset((value,))
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return frozenset(text for item in items for text in texts_of(item))


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """(path, text) of every text in outputs, long enough to be replaced."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key not in NOT_VALUES:
                yield from _leaves(item, f"{path}.{key}".strip("."))
    elif isinstance(unwrapped := unwrap_secrets(value), str) and len(unwrapped) >= MIN_LENGTH:
        yield path, unwrapped


def _at(outputs: Mapping[str, Any], path: str) -> str:
    found: Any = outputs
    for step in path.split("."):
        found = found.get(step) if isinstance(found, Mapping) else None
    return found if isinstance(found, str) else ""


def _rank(key: str) -> tuple[int, str]:
    return FIRST.index(key) if key in FIRST else len(FIRST), key


def _replaced(value: Any, real: Mapping[str, str]) -> Any:
    """The value with each recorded text replaced, the longest first."""
    pattern = re.compile("|".join(re.escape(old) for old in sorted(real, key=len, reverse=True)) or r"(?!)")

    def walk(item: Any) -> Any:
        if isinstance(item, Mapping):
            return {key: walk(item[key]) for key in sorted(item, key=_rank) if item[key] is not None}
        if isinstance(item, (list, tuple)):
            return [walk(part) for part in item]
        return pattern.sub(lambda match: real[match[0]], item) if isinstance(item, str) else item

    return walk(value)
