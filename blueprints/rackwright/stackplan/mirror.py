"""Names of charts and container images in a mirror: the registry of `registry:` followed by the path of the source."""


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
