"""Paths and objects of jobs in the answers of a fake API server."""

from typing import Any

QUEUE = "/apis/kueue.x-k8s.io/v1beta2/namespaces/team-nlp/localqueues/default"
WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces/team-nlp/workloads"
JOBS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/team-nlp/jobsets"
PODS = "/api/v1/namespaces/team-nlp/pods"


def job_set(*conditions: tuple[str, str], suspend: bool = False, restarts: int = 0) -> dict[str, Any]:
    """A JobSet as the server returns it. conditions: (type, message) that are true."""
    status = {"conditions": [{"type": kind, "status": "True", "message": text} for kind, text in conditions], "restarts": restarts}
    return {"metadata": {"name": "sft", "uid": "1"}, "spec": {"suspend": suspend}, "status": status}


def pods(*phases: str, first: int = 0) -> dict[str, Any]:
    """A list of pods, numbered from `first`."""
    items = [{"metadata": {"name": f"sft-workers-0-0-{first + n}"}, "status": {"phase": phase}} for n, phase in enumerate(phases)]
    return {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items}
