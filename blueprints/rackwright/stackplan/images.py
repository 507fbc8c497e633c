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


def image_variant(family: str, kind: str) -> str:
    """Neutral name of a family's image for a kind of machine: al2023, al2023-nvidia, ubuntu."""
    drivers = DRIVERS.get(kind, "")
    return f"{family}-{drivers}" if drivers and family != UBUNTU else family


def image_family(image: str) -> str:
    """Family of an image's neutral name: al2023-nvidia is al2023."""
    return image.partition("-")[0]
