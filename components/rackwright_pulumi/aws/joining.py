"""What a node on an image of one's own must be told, because EKS tells only its own images."""

import ipaddress
from dataclasses import dataclass

from rackwright.compile.wants import PoolWant

CLUSTER_DNS = 10
"""EKS gives the cluster's name server the tenth address of the services (docs.aws.amazon.com/eks/latest/userguide/launch-workers.html)."""


@dataclass(frozen=True)
class Joining:
    """A cluster as its nodes see it. certificate: base64."""

    name: str
    endpoint: str
    certificate: str
    service_cidr: str

    @property
    def dns_address(self) -> str:
        return str(ipaddress.ip_network(self.service_cidr)[CLUSTER_DNS])


def kubelet_flags(want: PoolWant) -> list[str]:
    """Labels and taints of the pool, which such a node gives itself."""
    labels = ",".join(f"{key}={value}" for key, value in want.labels)
    taints = ",".join(f"{t.key}={t.value}:{t.effect}" for t in want.taints)
    return [f"--node-labels={labels}", *([f"--register-with-taints={taints}"] if taints else [])]


def says_pods(want: PoolWant) -> bool:
    """Whether the first boot sets the number of pods.

    With prefixes EKS itself tells its own images the same number (docs.aws.amazon.com/eks/latest/userguide/cni-increase-ip-addresses):
    saying it again would be another template, and that replaces every machine. On an image of one's own nothing but this says it, and
    without prefixes EKS counts the slot of a fabric-only interface too.
    """
    return bool(want.max_pods) and bool(want.image_id or not want.pod_prefixes)
