"""Bootstrap data of nodes with a custom image; EKS adds it only to its own images."""

import ipaddress
from dataclasses import dataclass

from rackwright.stackplan import PoolPlan

CLUSTER_DNS = 10
"""The cluster DNS has the tenth address of the service range: https://docs.aws.amazon.com/eks/latest/userguide/launch-workers.html"""


@dataclass(frozen=True)
class ClusterJoinInfo:
    """Cluster data that a node needs to join. certificate: base64."""

    name: str
    endpoint: str
    certificate: str
    service_cidr: str

    @property
    def dns_address(self) -> str:
        return str(ipaddress.ip_network(self.service_cidr)[CLUSTER_DNS])


def kubelet_flags(plan: PoolPlan) -> list[str]:
    """Kubelet flags for the labels and taints of the pool."""
    labels = ",".join(f"{key}={value}" for key, value in plan.labels)
    taints = ",".join(f"{t.key}={t.value}:{t.effect}" for t in plan.taints)
    return [f"--node-labels={labels}", *([f"--register-with-taints={taints}"] if taints else [])]


def sets_max_pods(plan: PoolPlan) -> bool:
    """Whether user data sets the maximum number of pods.

    With prefix delegation, EKS sets the same number on its images
    (https://docs.aws.amazon.com/eks/latest/userguide/cni-increase-ip-addresses.html), so user data omits it: a new launch template would
    replace every machine. Custom images need it, and without prefixes EKS also counts efa-only interfaces.
    """
    return bool(plan.max_pods) and bool(plan.image_id or not plan.pod_prefixes)
