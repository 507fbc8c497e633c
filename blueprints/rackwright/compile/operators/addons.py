"""Cluster add-ons. On EKS three must exist before a node joins; the others need a node."""

from typing import Any

from rackwright.compile.operators.versions import EKS_ADDONS
from rackwright.stackplan import AddonPlan

BEFORE_NODES = ("pod-network", "kube-proxy", "pod-identity")
VALUES: dict[str, tuple[tuple[str, Any], ...]] = {
    # Prefixes instead of single addresses: EFA machines take pod addresses from card 0 alone and run out at 51 pods (recipes 2.2).
    "pod-network": (("env", {"ENABLE_PREFIX_DELEGATION": "true"}), ("enableNetworkPolicy", "true")),
}


def eks_addons(lustre: bool) -> tuple[AddonPlan, ...]:
    names = [name for name in EKS_ADDONS if lustre or name != "lustre"]
    return tuple(AddonPlan(n, EKS_ADDONS[n], needs_nodes=n not in BEFORE_NODES, values=VALUES.get(n, ())) for n in names)


def gke_addons() -> tuple[AddonPlan, ...]:
    return (AddonPlan("object-store-mount", ""),)
