"""First boot of an Amazon Linux 2023 node: https://awslabs.github.io/amazon-eks-ami/nodeadm/"""

import json
from email.mime.base import MIMEBase
from email.mime.multipart import MIMEMultipart
from typing import Any

from rackwright.stackplan import PoolPlan

from rackwright_pulumi.aws.pool.lustre_client import lustre_over_efa
from rackwright_pulumi.aws.pool.node_bootstrap import Joining, kubelet_flags, says_pods

LIMITS = {"RLIMIT_MEMLOCK": 2**50, "RLIMIT_NOFILE": 2**20}
"""Bytes a container may pin (RDMA pins what it moves, and the runtime's own limit is a few MiB: here more than any machine has), and files
it may open (the image's own value, which a list of ours replaces whole).

Not RLIM_INFINITY: nodeadm reads numbers as doubles, writes 2^64 - 1 back as 18446744073709552000, and containerd refuses that, so the node
never gets ready (awslabs/amazon-eks-ami@81fec2e nodeadm/internal/util/merge.go, internal/containerd/base_runtime_spec.go).
"""


def node_config(plan: PoolPlan, joining: Joining | None) -> str:
    """Multipart user data with one NodeConfig, as JSON, which is YAML, and a script where Lustre needs one; empty where the defaults serve.

    joining: only on an image of one's own; EKS merges it into the user data of its images itself.
    """
    spec: dict[str, Any] = {}
    kubelet: dict[str, Any] = {"config": {"maxPods": plan.max_pods}} if says_pods(plan) else {}
    if plan.nics:
        limits = [{"type": kind, "soft": most, "hard": most} for kind, most in LIMITS.items()]
        spec["containerd"] = {"baseRuntimeSpec": {"process": {"rlimits": limits}}}
    if plan.local_nvme:
        spec["instance"] = {"localStorage": {"strategy": "RAID0"}}
    if joining:
        spec["cluster"] = _cluster(joining)
        kubelet["flags"] = kubelet_flags(plan)
    if kubelet:
        spec["kubelet"] = kubelet
    if not spec:
        return ""
    script = lustre_over_efa(plan.lustre_interfaces) if plan.lustre_interfaces else ""
    return _multipart({"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": spec}, script)


def _cluster(joining: Joining) -> dict[str, str]:
    return {
        "name": joining.name,
        "apiServerEndpoint": joining.endpoint,
        "certificateAuthority": joining.certificate,
        "cidr": joining.service_cidr,
    }


def _multipart(config: dict[str, Any], script: str) -> str:
    """A fixed boundary: a random one would be a new template version at every update."""
    message = MIMEMultipart(boundary="rackwright")
    message.attach(_part("application", "node.eks.aws", json.dumps(config, indent=1, sort_keys=True)))
    if script:
        message.attach(_part("text", "x-shellscript", script))
    return message.as_string()


def _part(kind: str, form: str, text: str) -> MIMEBase:
    body = MIMEBase(kind, form)
    body.set_payload(text)
    return body
