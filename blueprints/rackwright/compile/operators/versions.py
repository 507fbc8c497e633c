"""Every version that a plan pins, with source and date. Versions are fixed, so that a new release never changes a running cluster."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Chart:
    """A Helm chart. chart: a full `oci://` reference, or a name within `repository`."""

    chart: str
    version: str
    repository: str = ""
    source: str = ""


CHARTS = {
    "kube-prometheus-stack": Chart(
        "kube-prometheus-stack",
        "88.5.3",
        "https://prometheus-community.github.io/helm-charts",
        "prometheus-community/helm-charts, seen 2026-11",
    ),
    "aws-efa-k8s-device-plugin": Chart(
        "aws-efa-k8s-device-plugin", "v0.5.30", "https://aws.github.io/eks-charts", "aws/eks-charts@5239609 (2026-08-03)"
    ),
    "nvidia-device-plugin": Chart(
        "nvidia-device-plugin", "0.20.0", "https://nvidia.github.io/k8s-device-plugin", "NVIDIA/k8s-device-plugin, seen 2026-11"
    ),
    "aws-dranet": Chart("aws-dranet", "1.0.0", "https://aws.github.io/eks-charts", "aws/eks-charts@5239609 (2026-08-03)"),
    "gpu-operator": Chart("gpu-operator", "v26.3.3", "https://helm.ngc.nvidia.com/nvidia", "NVIDIA/gpu-operator, tag v26.3.3"),
    "dcgm-exporter": Chart(
        "dcgm-exporter",
        "4.8.2",
        "https://nvidia.github.io/dcgm-exporter/helm-charts",
        "NVIDIA/dcgm-exporter@d5e5f51 deployment/Chart.yaml (2026-05-12)",
    ),
    "neuron-helm-chart": Chart(
        "oci://public.ecr.aws/neuron/neuron-helm-chart", "1.9.0", "", "aws-neuron/neuron-helm-charts, release 1.9.0 (2026-07-10)"
    ),
    "jobset": Chart("oci://registry.k8s.io/jobset/charts/jobset", "0.12.0", "", "kubernetes-sigs/jobset charts/jobset, tag 0.12.0"),
    "kueue": Chart("oci://registry.k8s.io/kueue/charts/kueue", "0.19.2", "", "kubernetes-sigs/kueue@ff69552 charts/kueue/README.md"),
    "karpenter": Chart("oci://public.ecr.aws/karpenter/karpenter", "1.14.1", "", "aws/karpenter-provider-aws@1d92708 (2026-08-21)"),
    "karpenter-crd": Chart("oci://public.ecr.aws/karpenter/karpenter-crd", "1.14.1", "", "aws/karpenter-provider-aws@1d92708 (2026-08-21)"),
    "lws": Chart("oci://registry.k8s.io/lws/charts/lws", "0.10.0", "", "kubernetes-sigs/lws site/content/en/docs/installation"),
    "cluster-autoscaler": Chart(
        "cluster-autoscaler", "9.59.0", "https://kubernetes.github.io/autoscaler", "kubermatic/kubermatic#16253 (2026-08): runs 1.35.0"
    ),
    "keda": Chart("keda", "2.20.2", "https://kedacore.github.io/charts", "kedacore/charts keda/Chart.yaml, seen 2026-11"),
}

KUBERNETES = "1.35"
"""EKS: standard support until 2027-03, node images exist for 1.30 to 1.36 (awslabs/amazon-eks-ami@81fec2e CHANGELOG.md).
GKE: the minor v6e, A3 Ultra and A4 are tested on (GoogleCloudPlatform/cluster-toolkit@1047080 examples/gke-*)."""

EKS_ADDONS = {
    "pod-network": "v1.22.3-eksbuild.1",
    "kube-proxy": "v1.35.3-eksbuild.17",
    "pod-identity": "v1.3.10-eksbuild.3",
    "dns": "v1.13.2-eksbuild.11",
    "block-storage": "v1.63.1-eksbuild.1",
    "lustre": "",
    "metrics": "v0.9.0-eksbuild.5",
    "node-health": "v1.6.0-eksbuild.1",
}
"""Builds for Kubernetes 1.35: AWS's own defaults as a public cluster definition measured them on 2026-08-04; node-health from
zalando-incubator/kubernetes-on-aws pull request 10793 (2026-03). No build of the Lustre driver is known for 1.35, and EKS refuses one that
does not exist: empty takes the default of the day the add-on is made, which EKS then keeps."""
AL2023_RELEASE = "1.35.6-20260728"
"""Release of the EKS node images, one number for every variant (awslabs/amazon-eks-ami; the recommended one of 2026-08-04)."""
BOTTLEROCKET_RELEASE = "1.58.0-c5c37032"
"""Version and commit, as EKS wants them: one number for every variant, of any Kubernetes. Images of Kubernetes 1.35 with it, NVIDIA's too,
are listed by the public AMI catalogue since 2026-04-01; NVIDIA's driver in it is R580 (bottlerocket-os/bottlerocket, release 1.53.0)."""
NODE_RELEASES = dict.fromkeys(("al2023", "al2023-nvidia", "al2023-neuron"), AL2023_RELEASE) | dict.fromkeys(
    ("bottlerocket", "bottlerocket-nvidia", "bottlerocket-neuron"), BOTTLEROCKET_RELEASE
)
"""Release per image. Ubuntu has none: EKS provides no Ubuntu image, and a custom image is identified by its AMI ID."""

SERVER_IMAGES = {
    "vllm": "vllm/vllm-openai:v0.30.0@sha256:8a69ffad015f138d7170c4ddc429e230a3bc1c1719f67e14324749df200a4b90",
    "vllm-efa": "public.ecr.aws/deep-learning-containers/vllm:0.28.0-gpu-py312-cu130-ubuntu24.04-ec2",
    "vllm-neuron": "public.ecr.aws/neuron/pytorch-inference-vllm-neuronx:0.16.0-neuronx-py312-sdk2.31.1-ubuntu24.04",
}
"""Release of vllm-project/vllm with the digest several public deployments pin (2026-10); AWS's own build of it with EFA and aws-ofi-nccl
(aws/deep-learning-containers docs/releasenotes/vllm); AWS's for Neuron, the last that serves on Inferentia2 and Trainium1 too: later ones
are for Trainium2 and 3, a beta (aws-neuron/deep-learning-containers@2be9ed1 README.md). Its runtime, 2.33, is the one the driver of
AL2023's images, 2.29, asks for (Neuron documentation, release notes of the runtime; awslabs/amazon-eks-ami@81fec2e CHANGELOG.md). No digest
of AWS's is known: rule V-13 says so."""
