"""Images that machines start from: EKS node image families with the drivers they contain, and images of boxes."""

BOX_IMAGES = {
    ("gpu", "x86_64"): "Deep Learning Base OSS Nvidia Driver GPU AMI (Ubuntu 24.04) 20260925",
    ("gpu", "arm64"): "Deep Learning ARM64 Base OSS Nvidia Driver GPU AMI (Ubuntu 24.04) 20261009",
    ("neuron", "x86_64"): "Deep Learning AMI Neuron (Ubuntu 24.04) 20260708",
    ("cpu", "x86_64"): "ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-20260923",
    ("cpu", "arm64"): "ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-arm64-server-20260923",
}
"""(kind of machine, architecture) -> name of a box's image, all with an SSM agent and the user `ubuntu`. Names are dated and never reused.

gpu: DLAMI release notes of 2026-09 and 2026-10 (docs.aws.amazon.com/dlami). neuron: SDK 2.31, the last image with torch-neuronx for
Inferentia2, Trainium1 and Trainium2 (Neuron documentation 2.32, setup/pytorch; name and date as users launched it in 2026-07 and -08).
cpu: Canonical's, which EC2 lists under the owner `amazon` too (an image description of 2026-10 has imageOwnerAlias amazon)."""
DRIVERS = {"gpu": "nvidia", "neuron": "neuron"}
"""Kind of machine -> suffix of the image variant that contains its drivers."""
UBUNTU = "ubuntu"
"""Has no variants: the GPU operator installs the drivers."""
NVIDIA_X86 = ("g4dn", "g5.", "g6.", "g6e", "g6f", "gr6.", "gr6f", "g7e", "p3", "p4d", "p5", "p6-b200", "p6-b300")
NEURON = ("inf1", "inf2", "trn1", "trn2")
IMAGE_DRIVERS = {
    ("al2023-nvidia", "x86_64"): NVIDIA_X86,
    ("al2023-nvidia", "arm64"): ("g5g", "p6e-gb200", "p6e-gb300", "u-p6e-gb200"),
    ("al2023-neuron", "x86_64"): NEURON,
    ("bottlerocket-nvidia", "x86_64"): NVIDIA_X86,
    ("bottlerocket-nvidia", "arm64"): ("g5g",),
    ("bottlerocket-neuron", "x86_64"): NEURON,
}
"""(image, architecture) -> prefixes of the instance types it has drivers for
(docs.aws.amazon.com/eks/latest/userguide/ml-eks-optimized-ami, a copy
of 2026-08; the older page launch-node-bottlerocket has no Bottlerocket on Inferentia). G7 is missing because it requires NVIDIA driver 595
(bottlerocket-custom-variant, the same guide)."""


def image_variant(family: str, kind: str) -> str:
    """Neutral name of a family's image for a kind of machine: al2023, al2023-nvidia, ubuntu."""
    drivers = DRIVERS.get(kind, "")
    return f"{family}-{drivers}" if drivers and family != UBUNTU else family


def image_family(image: str) -> str:
    """Family of an image's neutral name: al2023-nvidia is al2023."""
    return image.partition("-")[0]
