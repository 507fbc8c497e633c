"""First boot of Canonical's Ubuntu for EKS: its /etc/eks/bootstrap.sh takes the options Amazon Linux 2 once had.

So eksctl starts them, up to Ubuntu 26.04 (eksctl-io/eksctl@99984ad pkg/nodebootstrap/assets/scripts/bootstrap.ubuntu.sh).
"""

import shlex

from rackwright.stackplan import PoolPlan

from rackwright_pulumi.aws.pool.node_bootstrap import Joining, kubelet_flags, says_pods

HUGE_PAGES = 5128
"""Pages of 2 MiB that EKS's own images set aside on EFA machines, and libfabric wants (EKS user guide, node-efa)."""
FABRIC = f"""\
sysctl -w vm.nr_hugepages={HUGE_PAGES}
mkdir -p /etc/systemd/system/containerd.service.d
printf '[Service]\\nLimitMEMLOCK=infinity\\n' > /etc/systemd/system/containerd.service.d/memlock.conf
systemctl daemon-reload
systemctl restart containerd
"""
"""Before the kubelet counts huge pages, and before a container inherits the runtime's limit of pinned memory."""


def ubuntu_script(plan: PoolPlan, joining: Joining) -> str:
    pods = ["--use-max-pods", "false"] if says_pods(plan) else []
    flags = [*kubelet_flags(plan), *([f"--max-pods={plan.max_pods}"] if pods else [])]
    command = [
        "/etc/eks/bootstrap.sh",
        joining.name,
        *("--apiserver-endpoint", joining.endpoint),
        *("--b64-cluster-ca", joining.certificate),
        *("--dns-cluster-ip", joining.dns_address),
        *pods,
        *("--kubelet-extra-args", " ".join(flags)),
    ]
    return "\n".join(("#!/bin/bash", "set -euo pipefail", (FABRIC if plan.nics else "") + shlex.join(command), ""))
