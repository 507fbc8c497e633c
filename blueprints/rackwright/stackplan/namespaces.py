"""Namespaces of Kubernetes and of the operators, which neither teams nor stacks can have."""

from rackwright.stackplan.operators import GPU_OPERATOR, NETWORK_OPERATOR_NAMESPACE, STACK_METRICS

MONITORING_NAMESPACE = STACK_METRICS.namespace
TRAINER_NAMESPACE, KUBERAY_NAMESPACE, MPI_NAMESPACE = "kubeflow-system", "kuberay-system", "mpi-operator"
ENVOY_NAMESPACE = "envoy-gateway-system"
JOBSET_NAMESPACE, KUEUE_NAMESPACE, KEDA_NAMESPACE, LWS_NAMESPACE = "jobset-system", "kueue-system", "keda", "lws-system"
SYSTEM_NAMESPACE = "kube-system"
OPERATOR_NAMESPACES = {
    MONITORING_NAMESPACE: "privileged",
    GPU_OPERATOR: "privileged",
    NETWORK_OPERATOR_NAMESPACE: "privileged",
    JOBSET_NAMESPACE: "restricted",
    KUEUE_NAMESPACE: "restricted",
    KEDA_NAMESPACE: "restricted",
    LWS_NAMESPACE: "restricted",
    ENVOY_NAMESPACE: "restricted",
    TRAINER_NAMESPACE: "restricted",
    KUBERAY_NAMESPACE: "restricted",
    MPI_NAMESPACE: "baseline",
}
"""Namespace of Helm releases -> pod security level. The node exporter in `monitoring` reads the host; the GPU operator installs drivers."""
OPERATOR_SUFFIX = "-system"
"""End of the namespaces of many operators that run in a cluster already."""


def is_of_kubernetes(namespace: str) -> bool:
    """Whether every cluster has the namespace, or Kubernetes reserves its prefix
    (https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/)."""
    return namespace == "default" or namespace.startswith("kube-")


def is_reserved(namespace: str) -> bool:
    """Whether the namespace belongs to Kubernetes or to an operator."""
    return is_of_kubernetes(namespace) or namespace in OPERATOR_NAMESPACES or namespace.endswith(OPERATOR_SUFFIX)
