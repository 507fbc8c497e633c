"""First boot of a Bottlerocket node: https://bottlerocket.dev/en/os/latest/api/settings/

Huge pages and the limit of pinned memory are not said here: Bottlerocket sets both where it finds EFA (bottlerocket-core-kit#141).
"""

import json
from collections.abc import Mapping
from typing import Any

from rackwright.stackplan import PoolPlan

from rackwright_pulumi.aws.pool.node_bootstrap import Joining, says_pods

LOCAL_DISKS = {
    "commands": [
        ["apiclient", "ephemeral-storage", "init"],
        ["apiclient", "ephemeral-storage", "bind", "--dirs", "/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods"],
    ],
    "essential": True,
    "mode": "always",
}
"""Local disks as one striped volume for what pods write: https://bottlerocket.dev/en/os/1.38.x/concepts/bootstrap-commands"""


def bottlerocket_settings(plan: PoolPlan, joining: Joining | None) -> str:
    """Settings in TOML; empty where the defaults serve. joining: as for `node_config`."""
    kubernetes: dict[str, Any] = {"max-pods": plan.max_pods} if says_pods(plan) else {}
    tables: dict[str, Mapping[str, Any]] = {}
    if joining:
        kubernetes |= {
            "cluster-name": joining.name,
            "api-server": joining.endpoint,
            "cluster-certificate": joining.certificate,
            "cluster-dns-ip": joining.dns_address,
        }
        tables["kubernetes.node-labels"] = dict(plan.labels)
        tables["kubernetes.node-taints"] = {taint.key: [f"{taint.value}:{taint.effect}"] for taint in plan.taints}
    if plan.local_nvme:
        tables["bootstrap-commands.local-disks"] = LOCAL_DISKS
    return "\n".join(_table(name, values) for name, values in ({"kubernetes": kubernetes} | tables).items() if values)


def _table(name: str, values: Mapping[str, Any]) -> str:
    """Keys are quoted, because a label's dots would make tables of it; TOML's texts, lists and booleans are JSON's."""
    lines = (f"{json.dumps(key)} = {json.dumps(value)}" for key, value in values.items())
    return "\n".join((f"[settings.{name}]", *lines, ""))
