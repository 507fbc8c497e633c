"""Kubernetes objects as YAML, in the order of their fields."""

from collections.abc import Sequence
from typing import Any

import yaml

WIDTH = 120


class _Dumper(yaml.SafeDumper):
    """Writes equal values twice, instead of as anchor and alias."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def yaml_text(objects: Sequence[dict[str, Any]]) -> str:
    """One document per object."""
    return yaml.dump_all(objects, Dumper=_Dumper, sort_keys=False, width=WIDTH, allow_unicode=True)
