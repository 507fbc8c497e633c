"""Objects of a simulated EKS cluster, and the AWS resources that its controllers create."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from rackwright_pulumi.naming import chart_name
from rackwright_pulumi.simulator.provider.values import unwrap_secrets
from rackwright_pulumi.simulator.schema.references import EKS, cluster_place
from rackwright_pulumi.simulator.store import Record, Store

LOAD_BALANCER, INTERFACE = "aws:lb/loadBalancer:LoadBalancer", "aws:ec2/networkInterface:NetworkInterface"
INSTANCE = "aws:ec2/instance:Instance"
CONTROLLER_URN = "urn:pulumi:controllers::"
"""Prefix of the URN of resources that a controller created."""


def is_controlled(record: Record) -> bool:
    """Whether a controller created the resource."""
    return record.urn.startswith(CONTROLLER_URN)


def is_orphaned(store: Store, record: Record) -> bool:
    """Whether a controller created the resource, and its owner was deleted."""
    return is_controlled(record) and not any(r.urn == record.inputs.get("__for") for r in store.all())


def controlled_resources_of(store: Store, record: Record) -> list[Record]:
    """Resources that controllers created for an object or a node group."""
    candidates = (r for type_ in (INSTANCE, LOAD_BALANCER, INTERFACE) for r in store.all(type_))
    return [r for r in candidates if is_controlled(r) and r.inputs.get("__for") == record.urn]


@dataclass(frozen=True)
class ClusterView:
    """One EKS cluster and its objects."""

    store: Store
    cluster: Record

    @staticmethod
    def of(store: Store, record: Record) -> "ClusterView | None":
        """The cluster of an object; None for resources outside of simulated EKS clusters."""
        found = (r for r in store.all(EKS) if record.place == cluster_place(r)) if record.type.startswith("kubernetes:") else ()
        cluster = next(iter(found), None)
        return ClusterView(store, cluster) if cluster else None

    @property
    def region(self) -> str:
        return self.cluster.place.rpartition("/")[2]

    def objects(self, kind: str) -> Iterator[Record]:
        return (record for record in self.store.in_place(cluster_place(self.cluster)) if record.type.rpartition(":")[2] == kind)

    def has_release(self, chart: str) -> bool:
        """Whether the cluster has a Helm release of the chart, by the last part of its name."""
        return any(chart_name(unwrap_secrets(r.inputs).get("chart", "")) == chart for r in self.objects("Release"))

    def create(self, token: str, owner: Record, key: str, inputs: Mapping[str, Any]) -> None:
        """Create a controller's resource in the cluster's account and region."""
        digits = sha256(f"{owner.urn}#{self.store.creations(owner.urn)}#{token}#{key}".encode()).hexdigest()[:17]
        id_ = {LOAD_BALANCER: f"arn:aws:elasticloadbalancing:net/k8s-{digits}", INTERFACE: f"eni-{digits}"}.get(token, f"i-{digits}")
        urn, full = f"{CONTROLLER_URN}{self.cluster.id}::{token}::{owner.name}-{key}", {**inputs, "__for": owner.urn}
        self.store.add(Record(token, id_, self.cluster.place, urn, owner.name, full, full))


def finalizer_error(record: Record, reason: str) -> str:
    """The provider's error for an object whose finalizers are not removed."""
    return f"{record.type.rpartition(':')[2]} {record.id}: timed out waiting for its finalizers: {reason}"
