"""Names are identity: every logical and physical name is made here, and tests pin them literally.

Changing a name needs an alias and a changelog line.
"""

import hashlib


def child(parent: str, *parts: str | int) -> str:
    """Logical name of a child: `child("llama", "net", 1)` is `llama-net-1`. Never shortened, never hashed."""
    return "-".join([parent, *map(str, parts)])


def physical(name: str, limit: int) -> str:
    """A fixed name the cloud needs, cut to `limit` with a hash that keeps two long names apart."""
    if len(name) <= limit:
        return name
    return f"{name[: limit - 7].rstrip('-')}-{hashlib.sha256(name.encode()).hexdigest()[:6]}"
