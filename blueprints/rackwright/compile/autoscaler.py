"""The cluster autoscaler: moves managed node groups between their bounds, the preferred pool first."""

from collections.abc import Sequence
from typing import Any

from rackwright.compile.releases import ON_SYSTEM, release
from rackwright.compile.wants import PoolWant, ReleaseWant, ref

AUTOSCALER = "cluster-autoscaler"
HIGHEST = 100
"""Priority of the pool that grows first; each one after it has one less."""


def cluster_autoscaler(pools: Sequence[PoolWant]) -> ReleaseWant:
    """Two of them, one at work. A machine's local disk holds nothing that is missed, and an empty machine goes after ten minutes.

    Priorities are a text of the chart, since their keys are numbers; EKS names a scaling group after its node group.
    """
    arguments: dict[str, Any] = {"skip-nodes-with-local-storage": False, "balance-similar-node-groups": False, "expander": "least-waste"}
    values: dict[str, Any] = {
        "replicaCount": 2,
        "nodeSelector": ON_SYSTEM,
        "fullnameOverride": AUTOSCALER,
        "awsRegion": ref("place.region"),
        "autoDiscovery": {"clusterName": ref("cluster.name")},
        "rbac": {"serviceAccount": {"name": AUTOSCALER}},
        "extraArgs": arguments,
    }
    if len(pools) > 1:
        arguments["expander"] = "priority,least-waste"
        values["expanderPriorities"] = _priorities(pools)
    return release(AUTOSCALER, "kube-system", values)


def _priorities(pools: Sequence[PoolWant]) -> str:
    """One key per preference: pools that stand first among their own kind share it, and YAML reads only the last of two equal keys."""
    names: dict[int, list[str]] = {}
    for pool in pools:
        names.setdefault(HIGHEST - pool.preference, []).append(f"  - .*-pool-{pool.name}-nodes-.*\n")
    return "".join(f"{priority}:\n{''.join(patterns)}" for priority, patterns in names.items())
