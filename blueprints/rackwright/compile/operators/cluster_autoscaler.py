"""The cluster autoscaler: moves managed node groups between their bounds, the preferred pool first."""

import hashlib
from collections.abc import Sequence
from typing import Any

from rackwright.compile.operators.helm_releases import SYSTEM_NODE_SELECTOR, release
from rackwright.stackplan import PoolPlan, ReleasePlan, ref
from rackwright.stackplan.operators import CLUSTER_AUTOSCALER

MAX_PRIORITY = 100
"""Priority of the pool that grows first; each one after it has one less."""
NAME_MOST, PREFIX_MOST = 55, 36
"""Characters of a node group's name before the engine's own eight; a longer name is cut to a prefix (rackwright_pulumi/naming.py)."""


def cluster_autoscaler(pools: Sequence[PoolPlan], stack: str) -> ReleasePlan:
    """Two of them, one at work. A machine's local disk holds nothing that is missed, and an empty machine goes after ten minutes.

    Priorities are a text of the chart, since their keys are numbers; EKS names a scaling group after its node group.
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
    if len(pools) > 1:
        arguments["expander"] = "priority,least-waste"
        values["expanderPriorities"] = _priorities(pools, stack)
    return release(CLUSTER_AUTOSCALER, "kube-system", values)


def _priorities(pools: Sequence[PoolPlan], stack: str) -> str:
    """One key per preference: pools that stand first among their own kind share it, and YAML reads only the last of two equal keys."""
    names: dict[int, list[str]] = {}
    for pool in pools:
        names.setdefault(MAX_PRIORITY - pool.preference, []).append(f"  - {_pattern(pool, stack)}\n")
    return "".join(f"{priority}:\n{''.join(patterns)}" for priority, patterns in names.items())


def _pattern(pool: PoolPlan, stack: str) -> str:
    """Of a pool that matches none the autoscaler says nothing, and grows whichever wastes least."""
    name = f"{stack}-pool-{pool.name}-nodes"
    if len(name) <= NAME_MOST:
        return f".*-pool-{pool.name}-nodes-.*"
    return f".*{name[: PREFIX_MOST - 7].rstrip('-')}-{hashlib.sha256(name.encode()).hexdigest()[:6]}-.*"
