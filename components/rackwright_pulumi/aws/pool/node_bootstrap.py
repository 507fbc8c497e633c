"""What a node on an image of one's own must be told, because EKS tells only its own images."""

import ipaddress
from dataclasses import dataclass

from rackwright.stackplan import PoolPlan

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


def kubelet_flags(plan: PoolPlan) -> list[str]:
    """Labels and taints of the pool, which such a node gives itself."""
    labels = ",".join(f"{key}={value}" for key, value in plan.labels)
    taints = ",".join(f"{t.key}={t.value}:{t.effect}" for t in plan.taints)
    return [f"--node-labels={labels}", *([f"--register-with-taints={taints}"] if taints else [])]


def says_pods(plan: PoolPlan) -> bool:
    """Whether the first boot sets the number of pods.

    With prefixes EKS itself tells its own images the same number (docs.aws.amazon.com/eks/latest/userguide/cni-increase-ip-addresses):
    saying it again would be another template, and that replaces every machine. On an image of one's own nothing but this says it, and
    without prefixes EKS counts the slot of a fabric-only interface too.
    """
    return bool(plan.max_pods) and bool(plan.image_id or not plan.pod_prefixes)
