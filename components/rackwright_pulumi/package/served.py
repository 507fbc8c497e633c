"""Component classes of the package."""

import importlib
from typing import Any

COMPONENTS = {
    "Box": "blueprints.box",
    "TrainingCluster": "blueprints.training_cluster",
    "InferenceFleet": "blueprints.inference_fleet",
    "TpuPod": "blueprints.tpu_pod",
    "AwsKey": "aws.key",
    "AwsNetwork": "aws.network.network",
    "AwsStorage": "aws.storage.storage",
    "AwsIdentity": "aws.identity.identity",
    "AwsBox": "aws.box.box",
    "AwsCluster": "aws.cluster.cluster",
    "AwsExistingCluster": "aws.existing_cluster",
    "AwsGuard": "aws.cost_alerts",
    "AwsPool": "aws.pool.pool",
    "AwsKarpenter": "aws.karpenter",
    "AwsAutoscaler": "aws.autoscaling",
    "AwsPodLogs": "aws.pod_logs",
    "AwsAddons": "aws.addons",
    "GcpNetwork": "gcp.network.network",
    "GcpAcceleratorNetworks": "gcp.network.accelerator_networks",
    "GcpSharedVpc": "gcp.network.shared_vpc",
    "GcpPrivateServices": "gcp.private_services",
    "GcpStorage": "gcp.storage.storage",
    "GcpNodeIdentity": "gcp.identity",
    "GcpWorkloadIdentity": "gcp.identity",
    "GcpCluster": "gcp.cluster",
    "GcpExistingCluster": "gcp.existing_cluster",
    "GcpPool": "gcp.pool",
    "GcpBoxIdentity": "gcp.box.identity",
    "GcpBox": "gcp.box.box",
    "GcpGuard": "gcp.cost_alerts",
    "KubernetesLayer": "kubernetes.workloads",
}
"""Component class (token `rackwright:index:<class>`) to its module."""


def component_class(name: str) -> Any:
    """Import the component class of a name. Raises LookupError for an unknown name."""
    if name not in COMPONENTS:
        raise LookupError(f"no component {name!r}; components: {', '.join(COMPONENTS)}")
    return getattr(importlib.import_module(f"rackwright_pulumi.{COMPONENTS[name]}"), name)
