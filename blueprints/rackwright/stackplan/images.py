"""Images that machines start from: EKS node image families with the drivers they contain, and images of boxes."""

from rackwright.catalog.release.pinned_versions import pinned_versions

DRIVERS = {"gpu": "nvidia", "neuron": "neuron"}
"""Kind of machine -> suffix of the image variant that contains its drivers."""
UBUNTU = "ubuntu"
"""Has no variants: the GPU operator installs the drivers."""


def box_image(kind: str, cpu_arch: str) -> str:
    """Name of a box's image, empty where none is pinned. All have an SSM agent and the user `ubuntu`."""
    row = pinned_versions("box-image").get(f"{kind}-{cpu_arch}")
    return row.version if row else ""


def image_variant(family: str, kind: str) -> str:
    """Neutral name of a family's image for a kind of machine: al2023, al2023-nvidia, ubuntu."""
    drivers = DRIVERS.get(kind, "")
    return f"{family}-{drivers}" if drivers and family != UBUNTU else family


def image_family(image: str) -> str:
    """Family of an image's neutral name: al2023-nvidia is al2023."""
    return image.partition("-")[0]
