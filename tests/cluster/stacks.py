"""Kubernetes objects of stacks as their deployment applies them, with a value for each reference to the cloud."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from rackwright.stackplan import StackPlan
from rackwright_pulumi.kubernetes.objects import namespace_body, namespace_of, without_await
from rackwright_pulumi.resource_graph import SECRET_TEXT

from tests import gke_plans, plans, service_plans
from tests.matrix.cover import pairwise

Body = dict[str, Any]
GOLDENS = sorted((Path(__file__).parents[1] / "golden").glob("*.json"))
VALUES = {"network.machine_subnet_id": "subnet-0a", "cluster.security_group_id": "sg-0a", "network.fabric_group_id": "sg-0b"}
PREFIX, RELEASE = "kubernetes:", "kubernetes:helm.sh/v3:Release"


@cache
def stacks() -> dict[str, tuple[Body, ...]]:
    """Objects by stack: the examples, which are the goldens, every written plan, and a pairwise cover of the matrix."""
    plain = plans.ALL | plans.NODES | plans.FLEETS | gke_plans.GKE | service_plans.SERVICES
    written = {name: build() for name, build in plain.items()}
    matrixed = {f"{cell.shape} on {cell.machine}, {cell.mode}": cell.plan for cell in pairwise() if cell.plan and cell.plan.cluster}
    examples = {path.stem: tuple(golden_objects(path)) for path in GOLDENS}
    found = examples | {name: tuple(objects(plan)) for name, plan in (written | matrixed).items()}
    return {name: bodies for name, bodies in found.items() if bodies}


def objects(plan: StackPlan) -> Iterator[Body]:
    """Namespaces and manifests of a plan, namespaces first."""
    operators = {release.namespace for release in plan.releases}
    for name, level in plan.namespaces:
        yield namespace_body(name, level, name not in operators)
    for manifest in plan.manifests:
        yield dict(without_await(filled(manifest.body)))


def golden_objects(path: Path) -> Iterator[Body]:
    """Objects of a graph in a file, namespaces first."""
    return graph_objects(json.loads(path.read_text()))


def graph_objects(graph: dict[str, Any]) -> Iterator[Body]:
    """Objects of a recorded graph, namespaces first."""
    nodes = [node for node in graph["resources"] if node["type"].startswith(PREFIX) and node["type"] != RELEASE]
    bodies = [{key: _unmasked(value) for key, value in node["inputs"].items() if value is not None} for node in nodes]
    return iter(sorted(bodies, key=lambda body: body["kind"] != "Namespace"))


def _unmasked(value: Any) -> Any:
    """A map in place of a secret, which graphs mask as a whole."""
    return {"value": "literal"} if value == SECRET_TEXT else value


def filled(value: Any) -> Any:
    if isinstance(value, dict):
        if value.keys() & {"$ref", "$refs"}:
            return VALUES.get(value.get("$ref", ""), "literal")
        return {key: filled(item) for key, item in value.items()}
    return [filled(item) for item in value] if isinstance(value, (list, tuple)) else value


def namespaces(bodies: tuple[Body, ...]) -> set[str]:
    return {space for body in bodies if (space := namespace_of(body))}
