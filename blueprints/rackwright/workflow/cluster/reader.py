"""Read-only lists of objects of a cluster, as plain data."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rackwright.workflow.cluster.connection import DENIED, ClusterConnection, Object, RefusedError

PAGE = 250
"""Objects of one request; a node has up to 50 KB."""
ABSENT = 404
SRIOV_STATES = ("sriovnetwork.openshift.io", "v1", "sriovnetworknodestates")
CALICO_POOLS = ("crd.projectcalico.org", "v1", "ippools")


class ClusterReader:
    """Lists objects of one cluster as plain data. Raises UserError where the cluster does not answer or refuses a request.

    context, cluster: names in the kubeconfig.
    """

    def __init__(self, kubeconfig: Path | None = None, context: str = ""):
        """kubeconfig, context: default those of kubectl."""
        self._cluster = ClusterConnection(kubeconfig, context)
        self._client, self._api = self._cluster.client, self._cluster.api
        self.context, self.cluster = self._cluster.context, self._cluster.cluster

    def version(self) -> str:
        """Minor version of the control plane, such as 1.35."""
        found = self._data(self._client.VersionApi(self._api).get_code)
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

    def service_cidrs(self) -> list[Object]:
        """Ranges of services; none before Kubernetes 1.33, and without the right to read them."""
        return [*self._pages(self._client.NetworkingV1Api(self._api).list_service_cidr, optional=True)]

    def ip_pools(self) -> list[Object]:
        """Ranges of Calico, where it is installed and may be read."""
        lists = self._client.CustomObjectsApi(self._api).list_cluster_custom_object
        return [*self._pages(lists, *CALICO_POOLS, optional=True)]

    def _pages(self, call: Any, *arguments: Any, optional: bool = False) -> Iterator[Object]:
        """Items of every page; none where the cluster lacks the kind. optional: none also without the right to read it."""
        handled = (ABSENT, *DENIED) if optional else (ABSENT,)
        token = None
        while True:
            try:
                page = self._data(call, *arguments, handled=handled, limit=PAGE, **({"_continue": token} if token else {}))
            except RefusedError:
                return
            yield from page.get("items") or []
            token = (page.get("metadata") or {}).get("continue")
            if not token:
                return

    def _data(self, call: Any, *arguments: Any, **options: Any) -> Object:
        """The answer as plain data with the API's own names."""
        return self._api.sanitize_for_serialization(self._cluster.request(call, *arguments, **options))
