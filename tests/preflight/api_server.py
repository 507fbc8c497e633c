"""A fake API server with a state: nodes, pods of the DaemonSet with results, and the JobSet with its log."""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from tests.api_server import FakeApi, Request

NODES = "/api/v1/nodes"
SPACE = "/api/v1/namespaces/llama-70b-sft-preflight"
JOBS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/team-nlp/jobsets"
PODS = "/api/v1/namespaces/team-nlp/pods"
WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces/team-nlp/workloads"
NO_QUOTA, NO_NODE = "insufficient unused quota for nvidia.com/gpu", "0/4 nodes are available: 4 Insufficient nvidia.com/gpu."
UNPLACED = {
    "metadata": {"name": "rank-0"},
    "spec": {"containers": []},
    "status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "message": NO_NODE}]},
}
GOOD = [{"name": "gpu-count", "passed": True, "measured": 8, "limit": 8}]


@dataclass
class FakeCluster(FakeApi):
    """messages: termination message of each node; None: the pod does not end. log: of rank 0. log_text: after it.

    patches: (node, body) in order. earlier: label of each
    node before the run. busy: why the JobSet is not started: `queued` by Kueue, or `unplaced` by the scheduler; empty: it is."""

    messages: dict[str, str | None] = field(default_factory=dict)
    log: list[dict[str, Any]] = field(default_factory=list)
    log_text: str = ""
    amounts: dict[str, str] = field(default_factory=lambda: {"nvidia.com/gpu": "8", "vpc.amazonaws.com/efa": "32"})
    patches: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    objects: dict[str, Any] = field(default_factory=dict)
    earlier: dict[str, str] = field(default_factory=dict)
    busy: str = ""

    def answer(self, request: Request) -> tuple[int, Any]:
        method, path, _, body = request
        if method == "PATCH" and (found := re.fullmatch(rf"{NODES}/(\S+)", path)):
            self.patches.append((found[1], body))
            return 200, {"kind": "Node", "metadata": {"name": found[1]}}
        if method in ("PATCH", "POST"):
            return self._write(method, path, body)
        if method == "DELETE":
            return (200, {}) if self.objects.pop(path, None) else (404, {"message": "not found"})
        return self._read(path)

    def _write(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        if "dryRun" not in self.requests[-1][2]:
            self.objects[path if method == "PATCH" else f"{path}/{body['metadata']['name']}"] = body
        return 200, body

    def _read(self, path: str) -> tuple[int, Any]:
        if path == NODES:
            return 200, {"kind": "NodeList", "items": [self._node(name) for name in self.messages]}
        if path == f"{SPACE}/pods":
            return 200, {"kind": "PodList", "items": [_pod(name, text) for name, text in self.messages.items()]}
        if path == f"{JOBS}/preflight" and path in self.objects and self.busy:
            return 200, {"metadata": {"uid": "1"}, "status": {"conditions": [{"type": "Suspended", "status": "True"}]}}
        if path == WORKLOADS:
            reserved = {"type": "QuotaReserved", "status": "False" if self.busy == "queued" else "True", "message": NO_QUOTA}
            return 200, {"items": [{"metadata": {"ownerReferences": [{"uid": "1"}]}, "status": {"conditions": [reserved]}}]}
        if path == f"{JOBS}/preflight" and path in self.objects:
            return 200, {"status": {"conditions": [{"type": "Completed", "status": "True"}]}}
        if path == PODS:
            pod = {"metadata": {"name": "rank-0"}, "spec": {"nodeName": "gpu-0", "containers": []}, "status": {"phase": "Succeeded"}}
            pods = {"": [pod], "queued": [], "unplaced": [UNPLACED]}[self.busy]
            return 200, {"kind": "PodList", "items": pods}
        if path == f"{PODS}/rank-0/log":
            return 200, "starting\n" + "".join(f"rackwright-preflight {json.dumps(row)}\n" for row in self.log) + self.log_text
        return 404, {"message": f"{path} not found"}

    def _node(self, name: str) -> dict[str, Any]:
        status = {"allocatable": self.amounts, "conditions": [{"type": "Ready", "status": "True"}]}
        labels = {"rackwright/preflight": self.earlier[name]} if name in self.earlier else {}
        return {"metadata": {"name": name, "labels": labels}, "status": status}

    @property
    def labels(self) -> dict[str, Any]:
        """Last label of each node."""
        return {name: body["metadata"]["labels"]["rackwright/preflight"] for name, body in self.patches}


def row(name: str, passed: bool, measured: Any, limit: Any, *nodes: str, detail: str = "") -> dict[str, Any]:
    """A result in the log of rank 0."""
    return {"name": name, "passed": passed, "measured": measured, "limit": limit, "nodes": list(nodes), "detail": detail}


def _pod(node: str, text: str | None) -> dict[str, Any]:
    state = {"waiting": {"reason": "ImagePullBackOff"}} if text is None else {"terminated": {"exitCode": 0, "message": text}}
    status = {"name": "check", "image": "x", "imageID": "x", "ready": True, "restartCount": 0, "state": state}
    return {
        "metadata": {"name": f"preflight-{node}"},
        "spec": {"nodeName": node, "containers": []},
        "status": {"initContainerStatuses": [status]},
    }
