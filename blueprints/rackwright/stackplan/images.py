"""Images that machines start from, and the names of charts and container images in a mirror."""

from rackwright.catalog.release.pinned_versions import pinned_versions

DRIVERS = {"gpu": "nvidia", "neuron": "neuron"}
"""Kind of machine -> suffix of the image variant that contains its drivers."""
UBUNTU = "ubuntu"
"""Has no variants: the GPU operator installs the drivers."""


def box_image(kind: str, cpu_arch: str, prefix: str = "") -> str:
    """Name of a box's image, empty where none is pinned. prefix: of the cloud's images (`CloudProfile.box_images`)."""
    row = pinned_versions("box-image").get(f"{prefix}{kind}-{cpu_arch}")
    return row.version if row else ""


def image_variant(family: str, kind: str) -> str:
    """Neutral name of a family's image for a kind of machine: al2023, al2023-nvidia, ubuntu."""
    drivers = DRIVERS.get(kind, "")
    return f"{family}-{drivers}" if drivers and family != UBUNTU else family


def image_family(image: str) -> str:
    """Family of an image's neutral name: al2023-nvidia is al2023."""
    return image.partition("-")[0]


def mirrored_image(reference: str, registry: str) -> str:
    """The image in the registry, with its tag and digest: nvcr.io/nvidia/driver:1 is registry/nvidia/driver:1.

    reference: also a repository without a tag, or a host alone, which is the registry itself. Unchanged where it is in the registry.
    """
    if f"{reference}/".startswith(f"{registry}/"):
        return reference
    first, slash, rest = reference.partition("/")
    is_host = "." in first or ":" in first or first == "localhost"
    if not slash:
        return registry if is_host and ":" not in first else f"{registry}/{reference}"
    return f"{registry}/{rest if is_host else reference}"


def mirrored_chart(chart: str, registry: str) -> str:
    """OCI reference of a chart in the registry. chart: a name, or its full `oci://` reference."""
    return f"oci://{registry}/charts/{chart.rpartition('/')[2]}"
