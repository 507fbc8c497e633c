"""User data of Bottlerocket: https://bottlerocket.dev/en/os/latest/api/settings/

Huge pages and locked memory are not set here, because Bottlerocket sets both on machines with EFA
(https://github.com/bottlerocket-os/bottlerocket-core-kit/pull/141).
"""

import json
from collections.abc import Mapping
from typing import Any

from rackwright.stackplan import PoolPlan

from rackwright_pulumi.aws.pool.node_bootstrap import ClusterJoinInfo, sets_max_pods

LOCAL_DISKS = {
    "commands": [
        ["apiclient", "ephemeral-storage", "init"],
        ["apiclient", "ephemeral-storage", "bind", "--dirs", "/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods"],
    ],
    "essential": True,
    "mode": "always",
}
"""Local disks as one striped volume for pod data: https://bottlerocket.dev/en/os/1.38.x/concepts/bootstrap-commands"""


def bottlerocket_settings(plan: PoolPlan, cluster: ClusterJoinInfo | None) -> str:
    """Settings in TOML; empty if the defaults suffice. cluster: only for custom images."""
    kubernetes: dict[str, Any] = {"max-pods": plan.max_pods} if sets_max_pods(plan) else {}
    tables: dict[str, Mapping[str, Any]] = {}
    if cluster:
        kubernetes |= {
            "cluster-name": cluster.name,
            "api-server": cluster.endpoint,
            "cluster-certificate": cluster.certificate,
            "cluster-dns-ip": cluster.dns_address,
        }
        tables["kubernetes.node-labels"] = dict(plan.labels)
        tables["kubernetes.node-taints"] = {taint.key: [f"{taint.value}:{taint.effect}"] for taint in plan.taints}
    if plan.local_nvme:
        tables["bootstrap-commands.local-disks"] = LOCAL_DISKS
    lines: list[str] = []
    for name, values in ({"kubernetes": kubernetes} | tables).items():
        if values:  # quoted keys, because labels have dots; strings, lists and booleans have the syntax of JSON
            pairs = (f"{json.dumps(key)} = {json.dumps(value)}" for key, value in values.items())
            lines += [f"[settings.{name}]", *pairs, ""]
    return "\n".join(lines)
