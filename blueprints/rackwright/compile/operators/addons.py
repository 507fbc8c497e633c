"""Cluster add-ons. On EKS three must exist before a node joins; the others need a node."""

from typing import Any

from rackwright.compile.operators.versions import EKS_ADDONS
from rackwright.stackplan import AddonPlan

BEFORE_NODES = ("pod-network", "kube-proxy", "pod-identity")
OPTIONAL = ("lustre", "object-store-mount")
"""Drivers of storage that not every cluster has."""
VALUES: dict[str, tuple[tuple[str, Any], ...]] = {
    # Prefixes instead of single addresses: EFA machines take pod addresses from card 0 alone and run out at 51 pods (recipes 2.2).
    "pod-network": (("env", {"ENABLE_PREFIX_DELEGATION": "true"}), ("enableNetworkPolicy", "true")),
    # Servers read weights as files with the permissions of their pods; a download would need a second copy on a larger disk.
    "object-store-mount": (("node", {"tolerateAllTaints": True}),),
}


def eks_addons(*optional: str) -> tuple[AddonPlan, ...]:
    """The add-ons of every cluster, and those of OPTIONAL that are named."""
    names = [name for name in EKS_ADDONS if name not in OPTIONAL or name in optional]
    return tuple(AddonPlan(n, EKS_ADDONS[n], needs_nodes=n not in BEFORE_NODES, values=VALUES.get(n, ())) for n in names)


def gke_addons(*optional: str) -> tuple[AddonPlan, ...]:
    """The driver of buckets, and those of OPTIONAL that are named; GKE selects the versions."""
    return tuple(AddonPlan(name, "") for name in ("object-store-mount", *optional))
