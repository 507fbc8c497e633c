"""Helm releases that rules refer to by name, and Karpenter's names for capacity modes."""

EFA_PLUGIN, EFA_DRA_DRIVER, NEURON_PLUGIN = "aws-efa-k8s-device-plugin", "aws-dranet", "neuron-helm-chart"
CLUSTER_AUTOSCALER = "cluster-autoscaler"
MONITORING = "kube-prometheus-stack"
KARPENTER_CRDS, KARPENTER = "karpenter-crd", "karpenter"
KARPENTER_CAPACITY_TYPES = {"on-demand": "on-demand", "spot": "spot", "reservation": "reserved", "capacity-block": "reserved"}
"""Capacity mode -> value of karpenter.sh/capacity-type (https://karpenter.sh/docs/concepts/nodepools/#capacity-type)."""
