"""Kubernetes labels, annotations, resource names and ports that plans use and rules check."""

from collections.abc import Mapping
from typing import Any

EFA_RESOURCE, EFA_DEVICE_CLASS, EFA_CLAIM = "vpc.amazonaws.com/efa", "efa.networking.k8s.aws", "efa"
"""Resource of the device plugin, device class of the DRA driver (aws/eks-charts@5239609 stable/aws-dranet), and
name of the claim template."""
HUGE_PAGES, HUGE_PAGE_MIB = "hugepages-2Mi", 2
EFA_NODE_HUGE_PAGES, HUGE_PAGES_MIB = 5128, 5120
"""Huge pages that EKS images reserve on a node with EFA, which are no ordinary memory; and MiB that a pod with EFA requests of them
(https://docs.aws.amazon.com/eks/latest/userguide/node-efa.html)."""
RDMA_RESOURCE, RDMA_DEVICE_CLASS, RDMA_CLAIM = "mrdma.google.com/interface", "mrdma.google.com", "rdma"
"""RDMA interfaces on GKE: the name under which queues count them, device class (GoogleCloudPlatform/container-engine-accelerators@992db812
gpudirect-rdma), and name of the claim template."""
NODE_POOL_LABEL = "cloud.google.com/gke-nodepool"
QUEUED_LABEL = "cloud.google.com/gke-queued"
"""Label of nodes of a pool with queued provisioning (GoogleCloudPlatform/cluster-toolkit@1047080 gke-node-pool)."""
COMPUTE_CLASS_LABEL = "cloud.google.com/compute-class"
"""Label and taint of nodes in a ComputeClass, and node selector of its pods
(https://cloud.google.com/kubernetes-engine/docs/concepts/about-custom-compute-classes)."""
TPU_LABEL, TPU_TOPOLOGY_LABEL = "cloud.google.com/gke-tpu-accelerator", "cloud.google.com/gke-tpu-topology"
"""Labels that GKE sets on its nodes: the node pool, and the kind and topology of a TPU slice
(https://cloud.google.com/kubernetes-engine/docs/concepts/plan-tpus)."""
DEFAULT_INTERFACE_ANNOTATION, INTERFACES_ANNOTATION = "networking.gke.io/default-interface", "networking.gke.io/interfaces"
"""Annotations of a pod with its interfaces in the networks of its node
(https://cloud.google.com/kubernetes-engine/docs/how-to/setup-multinetwork-support-for-pods)."""
ACCOUNT_ANNOTATION = "iam.gke.io/gcp-service-account"
"""Annotation of a Kubernetes service account: the Google service account that its pods act as."""
MANAGED_NETWORKS_LABEL = "cloud.google.com/gke-networking-dra-driver"
"""Node label with which GKE gives further interfaces to pods by DRA (GoogleCloudPlatform/cluster-toolkit@1047080 gke-node-pool)."""
RESOURCES = {"gpu": "nvidia.com/gpu", "tpu": "google.com/tpu", "neuron": "aws.amazon.com/neuron"}
PLUGIN_CONFIG_LABEL = "nvidia.com/device-plugin.config"
"""Node label: configuration of NVIDIA's device plugin (NVIDIA/k8s-device-plugin README, multiple config files)."""
MIG_CONFIG_LABEL = "nvidia.com/mig.config"
"""Node label: configuration of NVIDIA's MIG manager (docs.nvidia.com/datacenter/cloud-native/gpu-operator, GPU Operator with MIG)."""
ROLE_LABEL = "rackwright/role"
SYSTEM_LABEL = "rackwright/system"
"""Label of own servers without GPUs, which every stack in the cluster sets to the same value: role labels are those of one stack."""
QUEUES_LABEL = "rackwright/queues"
"""Label of namespaces on own servers whose jobs Kueue manages."""
PREFLIGHT_LABEL, PASSED, FAILED = "rackwright/preflight", "passed", "failed"
"""Label of a node with the result of its check, its values, and key of the taint of a node that failed."""
POOL_LABEL = "rackwright/pool"
"""Node label of a pool; Kueue flavors select pools by it."""
ZONE_LABEL, ZONE_ID_LABEL = "topology.kubernetes.io/zone", "topology.k8s.aws/zone-id"
"""Node labels of the zone's name and of its ID on AWS; Karpenter accepts both as requirements (karpenter.sh/docs/concepts/scheduling)."""
OPEN_PATHS_ARGUMENT = "--middleware=open_paths.OpenPaths"
"""Argument of a model server that refuses paths for which it checks no API key."""
SERVER_PORT = 8000
LOAD_SECONDS_ANNOTATION = "rackwright/load-seconds"
"""Annotation: expected seconds from pod start to the first answer."""
SECRETS_DIGEST_ANNOTATION = "rackwright/secrets-digest"
"""Annotation of a pod template: a hash of the secrets that its containers read at their start, so that changed secrets restart its pods."""
RACK_LABEL = "rackwright/rack"
"""Node label of the rack of an own server; a topology level of queues."""
FABRIC_CONFIG = "fabric"
"""ConfigMap of a namespace with the environment of NCCL; `envFrom` gives it to a container."""
RESOURCES_ANNOTATION = "rackwright/resources"
"""Annotation: resources that a pod requests to use every RDMA port of its node, as JSON."""


def is_fabric_config(body: Mapping[str, Any]) -> bool:
    """Whether an object is the ConfigMap of the fabric; servers have ConfigMaps too."""
    return body["kind"] == "ConfigMap" and body["metadata"]["name"] == FABRIC_CONFIG
