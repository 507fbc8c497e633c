"""First boot of an Amazon Linux 2023 node: https://awslabs.github.io/amazon-eks-ami/nodeadm/"""

import json
from email.mime.base import MIMEBase
from email.mime.multipart import MIMEMultipart
from typing import Any

from rackwright.compile.wants import PoolWant

UNLIMITED = 2**64 - 1
"""RLIM_INFINITY: RDMA pins the memory it moves, and the container runtime's own limit is a few MiB."""


def node_config(want: PoolWant) -> str:
    """Multipart user data with one NodeConfig; empty where the defaults serve. JSON is YAML, and keeps 2^64 - 1 a whole number."""
    instance: dict[str, Any] = {}
    spec: dict[str, Any] = {}
    if want.local_nvme:
        instance["localStorage"] = {"strategy": "RAID0"}
    if want.nics:
        limit = {"type": "RLIMIT_MEMLOCK", "soft": UNLIMITED, "hard": UNLIMITED}
        spec["containerd"] = {"baseRuntimeSpec": {"process": {"rlimits": [limit]}}}
    if want.max_pods:
        spec["kubelet"] = {"config": {"maxPods": want.max_pods}}
    if instance:
        spec["instance"] = instance
    if not spec:
        return ""
    return _multipart({"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": spec})


def _multipart(config: dict[str, Any]) -> str:
    """A fixed boundary: a random one would be a new template version at every update."""
    message = MIMEMultipart(boundary="rackwright")
    body = MIMEBase("application", "node.eks.aws")
    body.set_payload(json.dumps(config, indent=1, sort_keys=True))
    message.attach(body)
    return message.as_string()
