"""User data of Canonical's Ubuntu for EKS, whose /etc/eks/bootstrap.sh has the options of Amazon Linux 2.

Source: eksctl, for releases up to Ubuntu 26.04 (eksctl-io/eksctl@99984ad pkg/nodebootstrap/assets/scripts/bootstrap.ubuntu.sh).
"""

import shlex

from rackwright.stackplan import PoolPlan
from rackwright.stackplan.labels import EFA_NODE_HUGE_PAGES

from rackwright_pulumi.aws.pool.node_bootstrap import ClusterJoinInfo, kubelet_flags, sets_max_pods

FABRIC = f"""\
sysctl -w vm.nr_hugepages={EFA_NODE_HUGE_PAGES}
mkdir -p /etc/systemd/system/containerd.service.d
printf '[Service]\\nLimitMEMLOCK=infinity\\n' > /etc/systemd/system/containerd.service.d/memlock.conf
systemctl daemon-reload
systemctl restart containerd
"""
"""Runs before the kubelet counts huge pages and before containers inherit the runtime's limit of locked memory."""


def ubuntu_script(plan: PoolPlan, cluster: ClusterJoinInfo) -> str:
    pods = ["--use-max-pods", "false"] if sets_max_pods(plan) else []
    flags = [*kubelet_flags(plan), *([f"--max-pods={plan.max_pods}"] if pods else [])]
    command = [
        "/etc/eks/bootstrap.sh",
        cluster.name,
        *("--apiserver-endpoint", cluster.endpoint),
        *("--b64-cluster-ca", cluster.certificate),
        *("--dns-cluster-ip", cluster.dns_address),
        *pods,
        *("--kubelet-extra-args", " ".join(flags)),
    ]
    return "\n".join(("#!/bin/bash", "set -euo pipefail", (FABRIC if plan.nics else "") + shlex.join(command), ""))
