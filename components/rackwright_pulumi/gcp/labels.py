"""Labels and deletion policy of GCP resources."""

import re
from collections.abc import Iterable

LABEL_LENGTH = 63
"""Characters of a key or value: https://cloud.google.com/resource-manager/docs/labels-overview"""
_FORBIDDEN = re.compile(r"[^a-z0-9_-]")


def gcp_labels(tags: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Tags as labels: lower case, dashes for invalid characters, keys that begin with a letter."""
    return {_label(key if key[:1].isalpha() else f"tag-{key}"): _label(value) for key, value in tags}


def guard(teardown: bool) -> str:
    """The `deletion_policy` of resources with state: the provider does not delete them before a teardown."""
    return "DELETE" if teardown else "PREVENT"


def _label(text: str) -> str:
    return _FORBIDDEN.sub("-", text.lower())[:LABEL_LENGTH]
