"""Read-only requests to the API of a cluster, through the official Kubernetes client, which is imported on first use."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem

TIMEOUT_S = 15
"""Seconds for one request; a cluster behind a VPN that is off does not answer."""
PAGE = 250
"""Objects of one request; a node has up to 50 KB."""
ABSENT = 404
DENIED = (401, 403)
SRIOV_STATES = ("sriovnetwork.openshift.io", "v1", "sriovnetworknodestates")
Object = dict[str, Any]


class ClusterReader:
    """Lists objects of one cluster as plain data. Raises UserError where the cluster does not answer or refuses a request."""

    def __init__(self, kubeconfig: Path | None = None, context: str = ""):
        """kubeconfig, context: default those of kubectl."""
        try:
            from kubernetes import client, config
        except ModuleNotFoundError:
            reason = "This command needs the Kubernetes client, which is not installed"
            raise UserError([Problem("U-extra", reason, fix='pip install "rackwright[cluster]"')]) from None
        file = str(kubeconfig) if kubeconfig else None
        try:
            api = config.new_client_from_config(file, context or None)
            contexts, active = config.list_kube_config_contexts(file)
        except (config.ConfigException, yaml.YAMLError, OSError, ValueError, TypeError) as error:
            source = str(kubeconfig or "the default kubeconfig")
            fix = "name a file that `kubectl --kubeconfig FILE get nodes` accepts"
            raise UserError([Problem("U-kubeconfig", f"{source} cannot be used: {error}", fix=fix)]) from None
        api.configuration.retries = False
        self.server: str = api.configuration.host
        chosen: Object = next((each for each in contexts if each["name"] == context), active) or {}
        self.context: str = chosen.get("name", "")
        self.cluster: str = chosen.get("context", {}).get("cluster", "")
        self._api, self._client = api, client

    def version(self) -> str:
        """Minor version of the control plane, such as 1.35."""
        found = self._request(self._client.VersionApi(self._api).get_code)
        return f"{found['major']}.{''.join(filter(str.isdigit, found['minor']))}"

    def nodes(self) -> list[Object]:
        return [*self._pages(self._client.CoreV1Api(self._api).list_node)]

    def storage_classes(self) -> list[Object]:
        return [*self._pages(self._client.StorageV1Api(self._api).list_storage_class)]

    def deployments(self) -> list[Object]:
        """Deployments of all namespaces; their labels name the charts that created them."""
        return [*self._pages(self._client.AppsV1Api(self._api).list_deployment_for_all_namespaces)]

    def nic_states(self) -> list[Object]:
        """Network ports of nodes, where the SR-IOV operator reports them."""
        lists = self._client.CustomObjectsApi(self._api).list_cluster_custom_object
        return [*self._pages(lists, *SRIOV_STATES)]

    def _pages(self, call: Any, *arguments: Any) -> Iterator[Object]:
        """Items of every page; none where the cluster lacks the kind."""
        token = None
        while True:
            page = self._request(call, *arguments, limit=PAGE, **({"_continue": token} if token else {}))
            yield from page.get("items") or []
            token = (page.get("metadata") or {}).get("continue")
            if not token:
                return

    def _request(self, call: Any, *arguments: Any, **options: Any) -> Object:
        """The answer as plain data with the API's own names; empty where the cluster lacks the kind."""
        from kubernetes.client.exceptions import ApiException
        from urllib3.exceptions import HTTPError

        try:
            return self._api.sanitize_for_serialization(call(*arguments, **options, _request_timeout=TIMEOUT_S))
        except ApiException as error:
            if error.status == ABSENT:
                return {}
            reason = f"{self.server} answers {error.status}: {_message(error)}"
            if error.status in DENIED:
                fix = "use credentials that may list nodes, storage classes and deployments, such as those of an administrator"
                raise UserError([Problem("U-forbidden", reason, fix=fix)]) from None
            raise UserError([Problem("U-api", reason, fix="try again, or ask the operator of the cluster")]) from None
        except HTTPError as error:
            reason = f"{self.server} does not answer: {getattr(error, 'reason', None) or error}"
            fix = "run it where the API is reachable, or use another context: --context NAME"
            raise UserError([Problem("U-unreachable", reason, fix=fix)]) from None


def _message(error: Any) -> str:
    """The API server's own text, else the reason of HTTP."""
    try:
        return json.loads(error.body)["message"]
    except (KeyError, TypeError, ValueError):
        return str(error.reason)
