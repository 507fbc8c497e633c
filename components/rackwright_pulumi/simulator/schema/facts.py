"""What is known of each resource type: inputs as the SDK declares them, what replaces it, which outputs it has. No grpc, no pulumi."""

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[1] / "data"
TRAITS: Mapping[str, Mapping[str, Any]] = json.loads((DATA / "clouds.json").read_text(encoding="utf-8"))
"""Simulated cloud -> region where none is given; what holds a resource (account, project, cluster); provider inputs whose change
replaces the provider; whether resources are replaced when the provider's project, region or zone changes."""
CLOUDS = tuple(TRAITS)
KUBERNETES_IDENTITY = frozenset({"metadata.name", "metadata.namespace"})
"""What no update of any Kubernetes object can change."""
BUILT_IN = frozenset(
    {"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "authentication.k8s.io", "authorization.k8s.io"}
    | {"certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io", "flowcontrol.apiserver.k8s.io", "node.k8s.io"}
    | {"networking.k8s.io", "rbac.authorization.k8s.io", "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io", "helm.sh"}
)
"""Groups with a dot in the name that come with Kubernetes or with the SDK; every other one needs a custom resource definition."""


@dataclass(frozen=True)
class Facts:
    """One resource type. Kinds are ``str int num bool any [kind] {kind} #object``, as generate.py writes them."""

    token: str
    inputs: Mapping[str, str]
    required: tuple[str, ...]
    outputs: Mapping[str, str]
    objects: Mapping[str, Mapping[str, Any]] = field(repr=False)
    replace: frozenset[str] = frozenset()
    """Paths of values whose change replaces the resource, list positions left out: ``networkInterfaces.subnetId``."""
    replace_blocks: frozenset[str] = frozenset()
    """Paths of nested objects that replace the resource when one is added or removed, not when one changes."""
    sets: frozenset[str] = frozenset()
    """Paths of lists in which order means nothing."""

    @property
    def cloud(self) -> str:
        return self.token.partition(":")[0]

    def object(self, kind: str) -> Mapping[str, str]:
        """The inputs of a nested kind, through lists: ``[#eks.Taint]`` -> its fields; empty for plain kinds."""
        return self.objects.get(kind.strip("[]").removeprefix("#"), {}).get("inputs", {})


@functools.cache
def _types(cloud: str) -> dict[str, Any]:
    return json.loads((DATA / f"types.{cloud}.json").read_text(encoding="utf-8"))


@functools.cache
def _replaces(cloud: str) -> dict[str, Any]:
    path = DATA / f"replace.{cloud}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"sources": {}, "types": {}}


@functools.cache
def find(token: str) -> Facts | None:
    """The facts of a type token such as ``aws:ec2/vpc:Vpc``; None when the simulated clouds do not know it."""
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
    """As ``find``. Raises KeyError for a type that is not covered."""
    found = find(token)
    if found is None:
        raise KeyError(f"{token} is not a type the simulated clouds know; data/covered.txt lists them")
    return found


def covered(cloud: str) -> tuple[str, ...]:
    """Every type token known of one cloud, sorted."""
    return tuple(_types(cloud)["types"])


def sdk_version(cloud: str) -> str:
    """The version of the SDK the facts were read from, such as ``7.51.1``."""
    return _types(cloud)["version"]


def replace_source(token: str) -> Mapping[str, Mapping[str, str]]:
    """Where the replace-on-change fields of a type come from: source name -> what, commit, date."""
    data = _replaces(token.partition(":")[0])
    names = data["types"].get(token, {}).get("source", "").split()
    return {name: data["sources"][name] for name in names}
