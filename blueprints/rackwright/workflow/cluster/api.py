"""Requests of jobs to the API server of a cluster: queues, JobSets, their pods and logs."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rackwright.workflow.cluster.connection import TIMEOUT_S, ClusterConnection, Object, RefusedError

FIELD_MANAGER = "rackwright"
ABSENT = 404
CREATION_REFUSED = (400, ABSENT, 409, 422)
"""Answers about the object: invalid, kind unknown, name exists, refused by a webhook
(https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#http-status-codes)."""
LOG_REFUSED = (400, ABSENT)
"""The container has not started, or the pod is gone."""


@dataclass(frozen=True)
class Kind:
    """A kind of custom resources, by the names in its URL."""

    group: str
    version: str
    plural: str

    @staticmethod
    def of(body: Object, plural: str) -> "Kind":
        group, _, version = body["apiVersion"].partition("/")
        return Kind(group, version, plural)


class ClusterApi:
    """Requests to one cluster. Raises UserError where the cluster does not answer or refuses a request."""

    def __init__(self, kubeconfig: Path | None = None, context: str = ""):
        """kubeconfig, context: default those of kubectl."""
        self._cluster = ClusterConnection(kubeconfig, context)
        client, api = self._cluster.client, self._cluster.api
        self._custom, self._core = client.CustomObjectsApi(api), client.CoreV1Api(api)

    @property
    def server(self) -> str:
        return self._cluster.server

    def read(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """The object with the name; None when the cluster has none."""
        arguments = (kind.group, kind.version, namespace, kind.plural, name)
        try:
            return self._cluster.request(self._custom.get_namespaced_custom_object, *arguments, handled=(ABSENT,))
        except RefusedError:
            return None

    def find(self, kind: Kind, namespace: str) -> list[Object]:
        """All objects of a kind in a namespace."""
        arguments = (kind.group, kind.version, namespace, kind.plural)
        return self._cluster.request(self._custom.list_namespaced_custom_object, *arguments)["items"]

    def create(self, kind: Kind, body: Object, *, dry_run: bool) -> Object:
        """Creates an object, or only checks it with every webhook. Unknown fields are errors. Raises RefusedError."""
        return self._cluster.request(
            self._custom.create_namespaced_custom_object,
            *(kind.group, kind.version, body["metadata"]["namespace"], kind.plural, body),
            handled=CREATION_REFUSED,
            field_manager=FIELD_MANAGER,
            field_validation="Strict",
            dry_run="All" if dry_run else None,
        )

    def pods(self, namespace: str, labels: str) -> list[tuple[str, str]]:
        """(name, phase) of pods with these labels."""
        found = self._cluster.request(self._core.list_namespaced_pod, namespace, label_selector=labels)
        return [(pod.metadata.name, pod.status.phase) for pod in found.items]

    def logs(self, namespace: str, pod: str, *, follow: bool = True) -> Iterator[str]:
        """Lines of a pod's log, with `follow` until its container ends. Raises RefusedError for a pod without a log."""
        call, options = self._core.read_namespaced_pod_log, {"follow": follow, "_preload_content": False}
        answer = self._cluster.request(call, pod, namespace, handled=LOG_REFUSED, timeout_s=None if follow else TIMEOUT_S, **options)
        try:
            rest = b""
            for part in answer.stream():
                *lines, rest = (rest + part).split(b"\n")
                yield from (line.decode("utf-8", "replace") for line in lines)
            if rest:
                yield rest.decode("utf-8", "replace")
        finally:
            answer.release_conn()
