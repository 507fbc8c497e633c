"""A simulated EKS cluster seen from within: its objects, and what controllers make for them in its account."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from rackwright_pulumi.simulator.provider.values import opened
from rackwright_pulumi.simulator.schema.references import EKS, cluster_place
from rackwright_pulumi.simulator.store import Record, Store

BALANCER, INTERFACE = "aws:lb/loadBalancer:LoadBalancer", "aws:ec2/networkInterface:NetworkInterface"
INSTANCE = "aws:ec2/instance:Instance"
BY = "urn:pulumi:controllers::"
"""How the URN of everything begins that a controller made."""


def controlled(record: Record) -> bool:
    """Whether a controller made it, and no program."""
    return record.urn.startswith(BY)


def orphaned(store: Store, record: Record) -> bool:
    """Whether a controller made it and the object or machine it was for is gone."""
    return controlled(record) and not any(r.urn == record.inputs.get("__for") for r in store.all())


def made_for(store: Store, record: Record) -> list[Record]:
    """What controllers made for an object or a node group."""
    made = (r for type_ in (INSTANCE, BALANCER, INTERFACE) for r in store.all(type_))
    return [r for r in made if controlled(r) and r.inputs.get("__for") == record.urn]


@dataclass(frozen=True)
class Inside:
    """One cluster with what is in it."""

    store: Store
    cluster: Record

    @staticmethod
    def of(store: Store, record: Record) -> "Inside | None":
        """The cluster an object is in; None for what is no object of a simulated EKS cluster."""
        found = (r for r in store.all(EKS) if record.place == cluster_place(r)) if record.type.startswith("kubernetes:") else ()
        cluster = next(iter(found), None)
        return Inside(store, cluster) if cluster else None

    @property
    def region(self) -> str:
        return self.cluster.place.rpartition("/")[2]

    def objects(self, kind: str) -> Iterator[Record]:
        return (record for record in self.store.inside(cluster_place(self.cluster)) if record.type.rpartition(":")[2] == kind)

    def has_release(self, chart: str) -> bool:
        """Whether a Helm release of the chart is there, by the chart's last name."""
        return any(str(opened(r.inputs).get("chart", "")).rpartition("/")[2] == chart for r in self.objects("Release"))

    def make(self, token: str, for_: Record, key: str, inputs: Mapping[str, Any]) -> None:
        """Put something of a controller into the cluster's account and region."""
        digits = sha256(f"{for_.urn}#{self.store.births(for_.urn)}#{token}#{key}".encode()).hexdigest()[:17]
        id_ = {BALANCER: f"arn:aws:elasticloadbalancing:net/k8s-{digits}", INTERFACE: f"eni-{digits}"}.get(token, f"i-{digits}")
        urn, full = f"{BY}{self.cluster.id}::{token}::{for_.name}-{key}", {**inputs, "__for": for_.urn}
        self.store.add(Record(token, id_, self.cluster.place, urn, for_.name, full, full))


def stuck(record: Record, reason: str) -> str:
    """What the provider says of an object whose finalizers nobody takes off."""
    return f"{record.type.rpartition(':')[2]} {record.id}: timed out waiting for its finalizers: {reason}"
