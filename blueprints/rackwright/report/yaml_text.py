"""Kubernetes objects as YAML, in the order of their fields."""

import re
from collections.abc import Sequence
from typing import Any

import yaml

WIDTH = 120


class _Dumper(yaml.SafeDumper):
    """Writes equal values twice, instead of as anchor and alias."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


# Texts that other parsers read as numbers, dates or booleans are quoted. PyYAML follows YAML 1.1; kubectl's parser and YAML 1.2 differ
# (https://yaml.org/spec/1.2.2/#103-core-schema; resolve.go of sigs.k8s.io/yaml/goyaml.v2, which drops underscores in numbers).
_AMBIGUOUS = {
    "float": (r"[-+]?(\.[0-9_]+|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9_]+)?", "-+.0123456789"),
    "int": (r"[-+]?0([oO]?[0-7_]+|[bB][01_]+|[xX][0-9a-fA-F_]+)", "-+0"),
    "timestamp": (r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?", "0123456789"),
    "bool": (r"[yYnN]", "yYnN"),
}
for _kind, (_pattern, _starts) in _AMBIGUOUS.items():
    _Dumper.add_implicit_resolver(f"tag:yaml.org,2002:{_kind}", re.compile(f"^(?:{_pattern})$"), list(_starts))


def _text(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    """Several lines as a block, such as scripts and configuration files."""
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _text)


def yaml_text(objects: Sequence[dict[str, Any]]) -> str:
    """One document per object."""
    return yaml.dump_all(objects, Dumper=_Dumper, sort_keys=False, width=WIDTH, allow_unicode=True)
