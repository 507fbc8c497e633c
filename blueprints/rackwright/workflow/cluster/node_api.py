"""Requests to the API server of a cluster about nodes, and objects of checks on them."""

from dataclasses import dataclass
from typing import Any

from rackwright.stackplan.labels import FAILED, PREFLIGHT_LABEL
from rackwright.workflow.cluster.api import ABSENT, FIELD_MANAGER, ClusterApi, Kind
from rackwright.workflow.cluster.connection import Object, RefusedError

APPLY, MERGE = "application/apply-patch+yaml", "application/strategic-merge-patch+json"


@dataclass(frozen=True)
class NodeState:
    """A node: whether it is ready, the amounts of its resources for pods, and the label of an earlier check (empty without one)."""

    name: str
    is_ready: bool
    allocatable: dict[str, str]
    result: str = ""


class NodeApi(ClusterApi):
    """Requests that need the rights of an administrator of the cluster: nodes and namespaces."""

    def apply(self, body: Object) -> None:
        """Creates or changes a namespace, a ConfigMap or a DaemonSet. Unknown fields are errors. Raises RefusedError."""
        name, space = body["metadata"]["name"], body["metadata"].get("namespace", "")
        apps = self._cluster.client.AppsV1Api(self._cluster.api)
        call = {
            "Namespace": self._core.patch_namespace,
            "ConfigMap": self._core.patch_namespaced_config_map,
            "DaemonSet": apps.patch_namespaced_daemon_set,
        }[body["kind"]]
        options: dict[str, Any] = {"field_manager": FIELD_MANAGER, "field_validation": "Strict", "force": True, "_content_type": APPLY}
        self._cluster.request(call, name, *([space] if space else []), body, handled=(400, 409, 422), **options)

    def nodes(self, labels: dict[str, str]) -> list[NodeState]:
        """Nodes with these labels, by name."""
        found = self._cluster.request(self._core.list_node, label_selector=_selector(labels)).items
        return sorted((_node_state(node) for node in found), key=lambda node: node.name)

    def check_messages(self, namespace: str, labels: dict[str, str], container: str) -> dict[str, tuple[str, str]]:
        """Node -> (termination message of the init container, why there is none) of every pod with these labels."""
        found = self._cluster.request(self._core.list_namespaced_pod, namespace, label_selector=_selector(labels)).items
        return {pod.spec.node_name: _message(pod, container) for pod in found if pod.spec.node_name}

    def pod_nodes(self, namespace: str, labels: dict[str, str]) -> dict[str, str]:
        """Pod -> its node."""
        found = self._cluster.request(self._core.list_namespaced_pod, namespace, label_selector=_selector(labels)).items
        return {pod.metadata.name: pod.spec.node_name or "" for pod in found}

    def scheduling_reason(self, namespace: str, labels: dict[str, str]) -> str:
        """Why the scheduler has not placed the first of these pods that waits for a node; empty without one."""
        found = self._cluster.request(self._core.list_namespaced_pod, namespace, label_selector=_selector(labels)).items
        conditions = (each for pod in found for each in pod.status.conditions or () if not pod.spec.node_name)
        return next((each.message for each in conditions if each.type == "PodScheduled" and each.message), "")

    def mark_node(self, name: str, result: str | None) -> None:
        """Sets the label of the result, and the taint of a failed node; removes both for None."""
        key = {"key": PREFLIGHT_LABEL}
        taint = key | ({"value": FAILED, "effect": "NoSchedule"} if result == FAILED else {"$patch": "delete"})
        body = {"metadata": {"labels": {PREFLIGHT_LABEL: result}}, "spec": {"taints": [taint]}}
        self._cluster.request(self._core.patch_node, name, body, field_manager=FIELD_MANAGER, _content_type=MERGE)

    def delete_namespace(self, name: str) -> None:
        self._delete(self._core.delete_namespace, name)

    def has_namespace(self, name: str) -> bool:
        try:
            self._cluster.request(self._core.read_namespace, name, handled=(ABSENT,))
        except RefusedError:
            return False
        return True

    def delete(self, kind: Kind, namespace: str, name: str) -> None:
        """Deletes a custom resource with its pods; nothing where it does not exist."""
        call = self._custom.delete_namespaced_custom_object
        self._delete(call, kind.group, kind.version, namespace, kind.plural, name, propagation_policy="Foreground")

    def _delete(self, call: Any, *arguments: str, **options: Any) -> None:
        try:
            self._cluster.request(call, *arguments, handled=(ABSENT,), **options)
        except RefusedError:
            return


def _node_state(node: Any) -> NodeState:
    conditions = {condition.type: condition.status for condition in node.status.conditions or ()}
    result = (node.metadata.labels or {}).get(PREFLIGHT_LABEL, "")
    return NodeState(node.metadata.name, conditions.get("Ready") == "True", dict(node.status.allocatable or {}), result)


def _message(pod: Any, container: str) -> tuple[str, str]:
    status = next((each for each in pod.status.init_container_statuses or () if each.name == container), None)
    state = status.state if status else None
    if state and state.terminated:
        return state.terminated.message or "", "" if state.terminated.message else f"exit status {state.terminated.exit_code}"
    return "", (state.waiting.reason if state and state.waiting else "") or pod.status.phase or "Pending"


def _selector(labels: dict[str, str]) -> str:
    return ",".join(f"{key}={value}" for key, value in labels.items())
