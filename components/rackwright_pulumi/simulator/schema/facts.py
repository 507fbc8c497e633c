"""Facts about each resource type: inputs and outputs from the SDK, and inputs that force a replacement. Imports neither grpc nor pulumi."""

import csv
import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])
DATA = Path(__file__).parents[1] / "data"
TRAITS: Mapping[str, Mapping[str, Any]] = json.loads((DATA / "clouds.json").read_text(encoding="utf-8"))
"""Simulated cloud -> region where none is given; what holds a resource (account, project, cluster); provider inputs whose change
replaces the provider; whether resources are replaced when the provider's project, region or zone changes."""
CLOUDS = tuple(TRAITS)
KUBERNETES_IDENTITY = frozenset({"metadata.name", "metadata.namespace"})
"""Fields of a Kubernetes object that no update can change."""
BUILT_IN = frozenset(
    {"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "authentication.k8s.io", "authorization.k8s.io"}
    | {"certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io", "flowcontrol.apiserver.k8s.io", "node.k8s.io"}
    | {"networking.k8s.io", "rbac.authorization.k8s.io", "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io", "helm.sh"}
)
"""Groups with a dot in the name that Kubernetes or the SDK defines; others need a custom resource definition."""


@dataclass(frozen=True)
class Facts:
    """One resource type. Kinds are ``str int num bool any [kind] {kind} #object``, as in generate.py."""

    token: str
    inputs: Mapping[str, str]
    required: tuple[str, ...]
    outputs: Mapping[str, str]
    objects: Mapping[str, Mapping[str, Any]] = field(repr=False)
    replace: frozenset[str] = frozenset()
    """Paths of values whose change replaces the resource, without list positions: ``networkInterfaces.subnetId``."""
    replace_blocks: frozenset[str] = frozenset()
    """Paths of nested objects whose addition or removal replaces the resource."""
    sets: frozenset[str] = frozenset()
    """Paths of lists without order."""

    @property
    def cloud(self) -> str:
        return self.token.partition(":")[0]

    def object(self, kind: str) -> Mapping[str, str]:
        """Fields of a nested kind, also in lists: ``[#eks.Taint]``; empty for plain kinds."""
        return self.objects.get(kind.strip("[]").removeprefix("#"), {}).get("inputs", {})


def entry(functions: dict[str, Function], *tokens: str) -> Callable[[Function], Function]:
    """Enter the decorated function in a table, by type token."""

    def add(function: Function) -> Function:
        functions.update(dict.fromkeys(tokens, function))
        return function

    return add


def table(file: str) -> list[dict[str, str]]:
    """Rows of a CSV file in ``data/``."""
    with (DATA / file).open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


@functools.cache
def _types(cloud: str) -> dict[str, Any]:
    return json.loads((DATA / f"types.{cloud}.json").read_text(encoding="utf-8"))


@functools.cache
def _replaces(cloud: str) -> dict[str, Any]:
    path = DATA / f"replace.{cloud}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"sources": {}, "types": {}}


@functools.cache
def find(token: str) -> Facts | None:
    """The facts of a type token such as ``aws:ec2/vpc:Vpc``; None if it is not supported."""
    cloud = token.partition(":")[0]
    if cloud not in CLOUDS or token not in _types(cloud)["types"]:
        return None
    declared, forced = _types(cloud)["types"][token], _replaces(cloud)["types"].get(token, {})
    return Facts(
        token,
        declared["inputs"],
        tuple(declared["required"]),
        declared["outputs"],
        _types(cloud)["objects"],
        frozenset(forced.get("fields", ())),
        frozenset(forced.get("blocks", ())),
        frozenset(forced.get("sets", ())),
    )


def custom(token: str) -> bool:
    """Whether this is a Kubernetes custom resource: ``kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue``."""
    cloud, _, rest = token.partition(":")
    group = rest.partition("/")[0]
    return cloud == "kubernetes" and "." in group and group not in BUILT_IN


def facts(token: str) -> Facts:
    """The facts of a type. Raises KeyError for an unsupported type."""
    found = find(token)
    if found is None:
        raise KeyError(f"{token} is not supported by the simulated clouds; data/covered.txt lists the supported types")
    return found


def covered(cloud: str) -> tuple[str, ...]:
    """Supported type tokens of one cloud, sorted."""
    return tuple(_types(cloud)["types"])


def sdk_version(cloud: str) -> str:
    """Version of the SDK that the facts come from, such as ``7.51.1``."""
    return _types(cloud)["version"]


def replace_source(token: str) -> Mapping[str, Mapping[str, str]]:
    """Sources of the replace-on-change fields of a type: name to what, commit, date."""
    data = _replaces(token.partition(":")[0])
    names = data["types"].get(token, {}).get("source", "").split()
    return {name: data["sources"][name] for name in names}
