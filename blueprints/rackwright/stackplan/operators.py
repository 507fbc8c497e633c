"""Helm releases that rules and components refer to by name, and Karpenter's names for capacity modes."""

EFA_PLUGIN, EFA_DRA_DRIVER, NEURON_PLUGIN = "aws-efa-k8s-device-plugin", "aws-dranet", "neuron-helm-chart"
CLUSTER_AUTOSCALER = "cluster-autoscaler"
MONITORING = "kube-prometheus-stack"
POD_LOGS, POD_LOGS_NAMESPACE, POD_LOGS_ACCOUNT = "aws-for-fluent-bit", "kube-system", "pod-logs"
KARPENTER_CRDS, KARPENTER = "karpenter-crd", "karpenter"
KARPENTER_CAPACITY_TYPES = {"on-demand": "on-demand", "spot": "spot", "reservation": "reserved", "capacity-block": "reserved"}
"""Capacity mode -> value of karpenter.sh/capacity-type (https://karpenter.sh/docs/concepts/nodepools/#capacity-type)."""


def pod_log_group(cluster: str) -> str:
    """Name of the log group of a cluster's pods, beside that of its control plane."""
    return f"/aws/eks/{cluster}/pods"
