"""The cluster autoscaler: resizes managed node groups, the preferred pool first."""

import hashlib
from collections.abc import Sequence
from typing import Any

from rackwright.compile.operators.capacity_check import POOL_BACKOFF_MINUTES, provisioning_request_crd
from rackwright.compile.operators.helm_releases import SYSTEM_NODE_SELECTOR, release
from rackwright.stackplan import PoolPlan, ReleasePlan, ref
from rackwright.stackplan.namespaces import SYSTEM_NAMESPACE
from rackwright.stackplan.operators import CLUSTER_AUTOSCALER, PROVISIONING_FLAG

MAX_PRIORITY = 100
"""Priority of the pool that grows first; each further pool has one less."""
NAME_MAX, PREFIX_MAX = 55, 36
"""Length of a node group's name before Pulumi's eight characters; a longer name is cut to a prefix (rackwright_pulumi/naming.py)."""


def cluster_autoscaler(pools: Sequence[PoolPlan], stack: str, checks_capacity: bool = False) -> ReleasePlan:
    """Two replicas, of which one is active. Nodes with local disks are removed too, ten minutes after they are empty.

    Priorities are a text, because their keys are numbers. EKS names a scaling group after its node group.
    checks_capacity: answers the ProvisioningRequests of Kueue. Their CRD is part of this release, because the autoscaler and Kueue look for
    it when they start. The chart's role has the permissions.
    """
    arguments: dict[str, Any] = {"skip-nodes-with-local-storage": False, "balance-similar-node-groups": False, "expander": "least-waste"}
    values: dict[str, Any] = {
        "replicaCount": 2,
        "nodeSelector": SYSTEM_NODE_SELECTOR,
        "fullnameOverride": CLUSTER_AUTOSCALER,
        "awsRegion": ref("place.region"),
        "autoDiscovery": {"clusterName": ref("cluster.name")},
        "rbac": {"serviceAccount": {"name": CLUSTER_AUTOSCALER}},
        "extraArgs": arguments,
    }
    if checks_capacity:
        arguments |= {PROVISIONING_FLAG: True, "initial-node-group-backoff-duration": f"{POOL_BACKOFF_MINUTES}m"}
        values["extraObjects"] = [provisioning_request_crd()]
    if len(pools) > 1:
        arguments["expander"] = "priority,least-waste"
        names: dict[int, list[str]] = {}  # pools of equal preference share a key, because YAML reads only the last of two equal keys
        for pool in pools:
            names.setdefault(MAX_PRIORITY - pool.preference, []).append(f"  - {_pattern(pool, stack)}\n")
        values["expanderPriorities"] = "".join(f"{priority}:\n{''.join(patterns)}" for priority, patterns in names.items())
    return release(CLUSTER_AUTOSCALER, SYSTEM_NAMESPACE, values)


def _pattern(pool: PoolPlan, stack: str) -> str:
    """Pattern of a pool's scaling group; for groups without a match the autoscaler silently uses least-waste."""
    name = f"{stack}-pool-{pool.name}-nodes"
    if len(name) <= NAME_MAX:
        return f".*-pool-{pool.name}-nodes-.*"
    return f".*{name[: PREFIX_MAX - 7].rstrip('-')}-{hashlib.sha256(name.encode()).hexdigest()[:6]}-.*"
