"""User data of Amazon Linux 2023: https://awslabs.github.io/amazon-eks-ami/nodeadm/"""

import json
from email.mime.base import MIMEBase
from email.mime.multipart import MIMEMultipart
from typing import Any

from rackwright.stackplan import PoolPlan

from rackwright_pulumi.aws.pool.lustre_client import lustre_over_efa
from rackwright_pulumi.aws.pool.mig import mig_script
from rackwright_pulumi.aws.pool.node_bootstrap import ClusterJoinInfo, kubelet_flags, sets_max_pods

LIMITS = {"RLIMIT_MEMLOCK": 2**50, "RLIMIT_NOFILE": 2**20}
"""Locked memory in bytes (RDMA locks its buffers; the runtime's default is a few MiB, and 2^50 exceeds any machine), and open files (the
image's default, because the list replaces all limits).

RLIM_INFINITY fails: nodeadm reads numbers as doubles and writes 2^64 - 1 as 18446744073709552000, which containerd rejects, so the node
does not become ready (awslabs/amazon-eks-ami@81fec2e nodeadm/internal/util/merge.go, internal/containerd/base_runtime_spec.go).
"""


def node_config(plan: PoolPlan, cluster: ClusterJoinInfo | None) -> str:
    """MIME user data with a NodeConfig in JSON, and a script if Lustre or MIG needs one; empty if the defaults suffice.

    cluster: only for custom images; EKS adds it to the user data of its own images.
    """
    spec: dict[str, Any] = {}
    kubelet: dict[str, Any] = {"config": {"maxPods": plan.max_pods}} if sets_max_pods(plan) else {}
    if plan.nics:
        limits = [{"type": kind, "soft": limit, "hard": limit} for kind, limit in LIMITS.items()]
        spec["containerd"] = {"baseRuntimeSpec": {"process": {"rlimits": limits}}}
    if plan.local_nvme:
        spec["instance"] = {"localStorage": {"strategy": "RAID0"}}
    if cluster:
        spec["cluster"] = {
            "name": cluster.name,
            "apiServerEndpoint": cluster.endpoint,
            "certificateAuthority": cluster.certificate,
            "cidr": cluster.service_cidr,
        }
        kubelet["flags"] = kubelet_flags(plan)
    if kubelet:
        spec["kubelet"] = kubelet
    config = {"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": spec} if spec else None
    scripts = [lustre_over_efa(plan.lustre_interfaces)] if plan.lustre_interfaces else []
    scripts += [mig_script(plan.sharing)] if plan.sharing and plan.sharing.profile else []
    return _multipart(config, scripts) if config or scripts else ""


def _multipart(config: dict[str, Any] | None, scripts: list[str]) -> str:
    """A MIME document with a fixed boundary, because a random one changes the launch template in every update."""
    message = MIMEMultipart(boundary="rackwright")
    node_config = ("application", "node.eks.aws", json.dumps(config, indent=1, sort_keys=True) if config else "")
    for kind, form, text in (node_config, *(("text", "x-shellscript", script) for script in scripts)):
        if text:
            part = MIMEBase(kind, form)
            part.set_payload(text)
            message.attach(part)
    return message.as_string()
