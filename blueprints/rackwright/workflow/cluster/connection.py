"""Connection to the API server of a cluster, through the official Kubernetes client, which is imported on first use."""

import json
from collections.abc import Container
from pathlib import Path
from typing import Any

import yaml

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem
from rackwright.files import read_bytes

TIMEOUT_S = 15
"""Seconds for one request; a cluster behind a VPN that is off does not answer."""
DENIED = (401, 403)
INVALID = 422
Object = dict[str, Any]


class RefusedError(Exception):
    """The API server answered with an error that the caller handles. status: of HTTP."""

    def __init__(self, status: int, message: str):
        self.status = status
        super().__init__(message)


class ClusterConnection:
    """Requests to one cluster. Raises UserError where the kubeconfig cannot be used.

    server: URL. context, cluster: names in the kubeconfig, empty where it has none. client: module of the Kubernetes client.
    """

    def __init__(self, kubeconfig: Path | None = None, context: str = ""):
        """kubeconfig, context: default those of kubectl."""
        try:
            from kubernetes import client, config
        except ModuleNotFoundError:
            reason = "This command needs the Kubernetes client, which is not installed"
            raise UserError([Problem("U-extra", reason, fix='pip install "rackwright[cluster]"')]) from None
        file, settings = str(kubeconfig) if kubeconfig else None, client.Configuration()
        settings.retries = False  # the default of three would wait four times TIMEOUT_S
        try:
            if kubeconfig:
                read_bytes(kubeconfig)  # the client reads a pipe or a file of any size
            config.load_kube_config(file, context or None, client_configuration=settings)
            contexts, active = config.list_kube_config_contexts(file)
        except (config.ConfigException, yaml.YAMLError, OSError, ValueError, TypeError, RecursionError) as error:
            source = str(kubeconfig or "the default kubeconfig")
            fix = "name a file that `kubectl --kubeconfig FILE get nodes` accepts: --kubeconfig FILE"
            raise UserError([Problem("U-kubeconfig", f"{source} cannot be used: {error}", fix=fix)]) from None
        self.api, self.client = client.ApiClient(settings), client
        self.server: str = settings.host
        chosen: Object = next((each for each in contexts if each["name"] == context), active) or {}
        self.context: str = chosen.get("name", "")
        self.cluster: str = chosen.get("context", {}).get("cluster", "")

    def request(self, call: Any, *arguments: Any, handled: Container[int] = (), timeout_s: float | None = TIMEOUT_S, **options: Any) -> Any:
        """The answer to a call of the client.

        handled: statuses that the caller handles: RefusedError. Raises UserError for others, and where the cluster does not answer.
        timeout_s: None for answers that take as long as a job.
        """
        from kubernetes.client.exceptions import ApiException
        from urllib3.exceptions import HTTPError

        try:
            return call(*arguments, **options, **({"_request_timeout": timeout_s} if timeout_s else {}))
        except ApiException as error:
            status, message = _status(error), _message(error)
            if status in handled:
                raise RefusedError(status, message) from None
            raise UserError([self._problem(status, message)]) from None
        except HTTPError as error:
            reason = f"{self.server} does not answer: {getattr(error, 'reason', None) or error}"
            fix = "run it where the API is reachable (`blueprint.api_access`), or use another context: --context NAME"
            raise UserError([Problem("U-unreachable", reason, fix=fix)]) from None

    def _problem(self, status: int, message: str) -> Problem:
        reason = f"{self.server} answers {status}: {message}"
        if status in DENIED:
            fix = "use credentials with this right, such as an administrator's (`blueprint.admins`), or another context: --context NAME"
            return Problem("U-forbidden", reason, fix=fix)
        return Problem("U-api", reason, fix="try again, or ask the operator of the cluster")


def _status(error: Any) -> int:
    """Status of HTTP. Objects that an admission webhook denies are invalid: their 403 says nothing about the credentials
    (https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#response)."""
    return INVALID if error.status == 403 and "denied the request" in _message(error) else error.status or 0


def _message(error: Any) -> str:
    """The API server's own text, else the reason of HTTP."""
    try:
        return json.loads(error.body)["message"]
    except (KeyError, TypeError, ValueError):
        return str(error.reason)
