"""The API server of a cluster, through the official Kubernetes client. The client is imported when a command needs it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem

FIELD_MANAGER = "rackwright"
TIMEOUT_S = 15
"""Seconds for one request; a cluster behind a VPN that is off does not answer."""
Object = dict[str, Any]


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


class RefusedError(Exception):
    """The API server answered with an error. status: of HTTP."""

    def __init__(self, status: int, message: str):
        self.status = status
        super().__init__(message)


class ClusterApi:
    """Requests to one cluster. Raises UserError where the cluster cannot be reached or does not accept the credentials."""

    def __init__(self, kubeconfig: Path | None = None, context: str = ""):
        """kubeconfig, context: default those of kubectl."""
        try:
            from kubernetes import client, config
        except ModuleNotFoundError:
            reason = "This command needs the Kubernetes client, which is not installed"
            raise UserError([Problem("U-extra", reason, fix='pip install "rackwright[cluster]"')]) from None
        try:
            api = config.new_client_from_config(str(kubeconfig) if kubeconfig else None, context or None)
        except (config.ConfigException, yaml.YAMLError, OSError, ValueError) as error:
            fix = "write one with the command in the stack's output kubeconfigCommand, or name it: --kubeconfig FILE"
            raise UserError([Problem("U-kubeconfig", f"The kubeconfig cannot be used: {error}", fix=fix)]) from None
        api.configuration.retries = False
        self.server: str = api.configuration.host
        self._custom, self._core = client.CustomObjectsApi(api), client.CoreV1Api(api)

    def read(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """An object; None where there is none."""
        try:
            return self._request(self._custom.get_namespaced_custom_object, kind.group, kind.version, namespace, kind.plural, name)
        except RefusedError as error:
            if error.status == 404:
                return None
            raise

    def find(self, kind: Kind, namespace: str) -> list[Object]:
        """All objects of a kind in a namespace."""
        arguments = (kind.group, kind.version, namespace, kind.plural)
        return self._request(self._custom.list_namespaced_custom_object, *arguments)["items"]

    def create(self, kind: Kind, body: Object, *, dry_run: bool) -> Object:
        """Creates an object, or only checks it with every webhook. Unknown fields are errors. Raises RefusedError."""
        return self._request(
            self._custom.create_namespaced_custom_object,
            *(kind.group, kind.version, body["metadata"]["namespace"], kind.plural, body),
            field_manager=FIELD_MANAGER,
            field_validation="Strict",
            dry_run="All" if dry_run else None,
        )

    def pods(self, namespace: str, labels: str) -> list[tuple[str, str]]:
        """(name, phase) of pods with these labels."""
        found = self._request(self._core.list_namespaced_pod, namespace, label_selector=labels)
        return [(pod.metadata.name, pod.status.phase) for pod in found.items]

    def logs(self, namespace: str, pod: str) -> Iterator[str]:
        """Lines of a pod's log, until its container ends."""
        answer = self._request(self._core.read_namespaced_pod_log, pod, namespace, follow=True, _preload_content=False, timeout_s=None)
        try:
            rest = b""
            for part in answer.stream():
                *lines, rest = (rest + part).split(b"\n")
                yield from (line.decode("utf-8", "replace") for line in lines)
            if rest:
                yield rest.decode("utf-8", "replace")
        finally:
            answer.release_conn()

    def _request(self, call: Any, *arguments: Any, timeout_s: float | None = TIMEOUT_S, **options: Any) -> Any:
        from kubernetes.client.exceptions import ApiException
        from urllib3.exceptions import HTTPError

        try:
            return call(*arguments, **options, **({"_request_timeout": timeout_s} if timeout_s else {}))
        except ApiException as error:
            message = _message(error)
            if error.status in (401, 403):
                fix = "use credentials of an administrator: `blueprint.admins`, or `aws sts get-caller-identity`"
                raise UserError([Problem("V-199", f"{self.server} refuses the request ({error.status}): {message}", fix=fix)]) from None
            raise RefusedError(error.status or 0, message) from None
        except HTTPError as error:
            fix = "run it where the API is reachable (`blueprint.api_access`), or correct the kubeconfig's context: --context NAME"
            raise UserError([Problem("V-199", f"{self.server} does not answer: {error}", fix=fix)]) from None


def _message(error: Any) -> str:
    """The API server's own text, else the reason of HTTP."""
    try:
        return json.loads(error.body)["message"]
    except (KeyError, TypeError, ValueError):
        return str(error.reason)
