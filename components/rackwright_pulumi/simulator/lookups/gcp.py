"""Provider functions that read a GKE cluster of the simulated cloud."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rackwright_pulumi.simulator.computed import computed
from rackwright_pulumi.simulator.computed.context import Context
from rackwright_pulumi.simulator.provider.values import unwrap_secrets
from rackwright_pulumi.simulator.store import Store

GKE = "gcp:container/cluster:Cluster"
OUTSIDE = {
    "workloadIdentityConfig": {"workloadPool": "{project}.svc.id.goog"},
    "controlPlaneEndpointsConfig": {"dnsEndpointConfig": {"endpoint": "gke-outside.{region}.gke.goog"}},
}
"""Outputs of a cluster that is not in the simulated cloud."""
LISTS = {
    "masterAuth": "masterAuths",
    "workloadIdentityConfig": "workloadIdentityConfigs",
    "controlPlaneEndpointsConfig": "controlPlaneEndpointsConfigs",
    "dnsEndpointConfig": "dnsEndpointConfigs",
}
"""The look-up has lists where the resource has one object (gcp.container.GetClusterResult of pulumi-gcp 10.2)."""


@dataclass(frozen=True)
class GcpFunctions:
    """Look-ups in one project and region; without a store every cluster exists outside."""

    context: Context
    store: Store | None = None

    def cluster(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """A cluster by name. Raises LookupError for one that the cloud does not have."""
        name = str(args["name"])
        for record in self.store.all(GKE) if self.store else ():
            state = unwrap_secrets(record.state)
            if state.get("name") == name:
                return _listed(state | {"id": record.id})
        if self.store:
            raise LookupError(f"projects/{args.get('project')}/locations/{args.get('location')}/clusters/{name} not found")
        inputs = {"name": name, "location": args.get("location") or self.context.region, "project": args.get("project")}
        resource_id, outputs = computed(GKE, name, f"urn:pulumi:outside::outside::{GKE}::{name}", inputs, self.context)
        project = inputs["project"] or self.context.project
        return _listed(inputs | outputs | _filled(OUTSIDE, project=project, region=inputs["location"]) | {"id": resource_id})


def _filled(value: Any, **parts: Any) -> Any:
    return {key: _filled(item, **parts) for key, item in value.items()} if isinstance(value, dict) else value.format(**parts)


def _listed(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {LISTS.get(key, key): [_listed(item)] if key in LISTS and item is not None else _listed(item) for key, item in value.items()}
