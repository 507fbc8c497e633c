"""Names of operators that plans use and rules check: Helm releases, the capacity check of Kueue, Karpenter's capacity modes."""

from collections.abc import Iterable
from dataclasses import dataclass

from rackwright.spec.inventory import Installed

EFA_PLUGIN, EFA_DRA_DRIVER, NEURON_PLUGIN = "aws-efa-k8s-device-plugin", "aws-dranet", "neuron-helm-chart"
CLUSTER_AUTOSCALER = "cluster-autoscaler"
MONITORING = "kube-prometheus-stack"
GPU_OPERATOR = "gpu-operator"
NETWORK_OPERATOR, NETWORK_OPERATOR_NAMESPACE = "network-operator", "nvidia-network-operator"
FEATURE_DISCOVERY = "node-feature-discovery"
ENVOY_GATEWAY = "gateway-helm"
"""Chart of Envoy Gateway."""
TRAINER, KUBERAY, MPI_OPERATOR = "kubeflow-trainer", "kuberay-operator", "mpi-operator"
POD_LOGS, POD_LOGS_NAMESPACE, POD_LOGS_ACCOUNT = "aws-for-fluent-bit", "kube-system", "pod-logs"
KARPENTER_CRDS, KARPENTER = "karpenter-crd", "karpenter"
KARPENTER_CAPACITY_TYPES = {"on-demand": "on-demand", "spot": "spot", "reservation": "reserved", "capacity-block": "reserved"}
"""Capacity mode -> value of karpenter.sh/capacity-type (https://karpenter.sh/docs/concepts/nodepools/#capacity-type)."""
COMPUTE_CLASS = "compute-class"
"""Provisioner of pools that GKE's autoscaler grows in the order of a ComputeClass."""
PROVISIONING_CONTROLLER, PROVISIONING_FLAG = "kueue.x-k8s.io/provisioning-request", "enable-provisioning-requests"
"""Kueue's controller of admission checks that ask the cluster autoscaler, and the autoscaler's flag to answer them."""
UNLIMITED_RETRIES = 2**31 - 1
"""Retries of a ProvisioningRequest, in a field of 32 bits that has no value for no limit. After the last one Kueue deactivates the job."""


@dataclass(frozen=True)
class MetricsEndpoint:
    """Service of Prometheus, which autoscalers query and whose namespace reads metrics of pods."""

    namespace: str
    service: str
    port: int = 9090

    @property
    def url(self) -> str:
        return f"http://{self.service}.{self.namespace}:{self.port}"


STACK_METRICS = MetricsEndpoint("monitoring", "monitoring-prometheus")
"""Prometheus of the release that stacks install."""
OPERATED_SERVICE = "prometheus-operated"
"""Service that Prometheus Operator creates beside each Prometheus, whatever the release is called
(prometheus-operator, pkg/prometheus/server/statefulset.go, governingServiceName)."""


def installed_metrics(installed: Iterable[Installed]) -> MetricsEndpoint | None:
    """Prometheus of the cluster; None where the inventory lists no kube-prometheus-stack."""
    found = next((each for each in installed if each.name == MONITORING), None)
    return MetricsEndpoint(found.namespace, found.service or OPERATED_SERVICE) if found else None


def pod_log_group(cluster: str) -> str:
    """Name of the log group of a cluster's pods, beside that of its control plane."""
    return f"/aws/eks/{cluster}/pods"
