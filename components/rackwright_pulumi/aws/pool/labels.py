"""Labels of the nodes of a pool."""

import re

from rackwright.stackplan import PoolPlan
from rackwright.stackplan.labels import RESOURCES

GPU_LABEL = "k8s.amazonaws.com/accelerator"
"""With this label the cluster autoscaler counts a node without GPUs as not ready yet, so that it adds no second one
(kubernetes/autoscaler@604ab45 cluster-autoscaler/cloudprovider/aws/README.md)."""
LABEL_MAX = 63


def node_labels(plan: PoolPlan) -> dict[str, str]:
    """Labels of the plan and, on GPU machines that the cluster autoscaler adds, the label of the GPU.

    A node with this label is not ready until it offers nvidia.com/gpu, which divided GPUs never do.
    """
    gpu = plan.autoscaled and plan.pod_resource == RESOURCES["gpu"]
    value = re.sub("[^a-z0-9]+", "-", (plan.accelerator or "gpu").lower())[:LABEL_MAX].strip("-")
    return dict(plan.labels) | ({GPU_LABEL: value} if gpu else {})
