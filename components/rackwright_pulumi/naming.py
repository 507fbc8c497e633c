"""Logical and physical names. A name identifies a resource, so tests compare all of them literally.

Changing a name requires an alias and a changelog entry.
"""

import hashlib

SIMULATED_USER = "SIMULATED"
"""Unique ID of the principal that runs updates in simulated clouds and recorded graphs. IDs of IAM have 16 or more characters."""


def child(parent: str, *parts: str | int) -> str:
    """Logical name of a child: `child("llama", "net", 1)` is `llama-net-1`; it is not shortened or hashed."""
    return "-".join([parent, *map(str, parts)])


def physical(name: str, limit: int) -> str:
    """A fixed physical name, cut to `limit` characters with a hash that distinguishes long names."""
    if len(name) <= limit:
        return name
    return f"{name[: limit - 7].rstrip('-')}-{hashlib.sha256(name.encode()).hexdigest()[:6]}"


def chart_name(chart: object) -> str:
    """Name of a Helm chart, without the registry and digest of an `oci://` reference."""
    return str(chart).rpartition("/")[2].partition("@")[0]
