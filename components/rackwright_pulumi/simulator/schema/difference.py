"""Differences between two sets of inputs, and whether they force a replacement."""

import ipaddress
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from rackwright_pulumi.simulator.computed.names import NAMES
from rackwright_pulumi.simulator.provider.values import unwrap_secrets
from rackwright_pulumi.simulator.schema import facts as catalog
from rackwright_pulumi.simulator.schema.facts import entry

AUTONAMED = "pulumi.com/autonamed"
"""The annotation of names that the Kubernetes provider generated."""
Inputs = Mapping[str, Any]
CONDITIONS: dict[str, Callable[[Inputs, Inputs], tuple[str, ...]]] = {}
"""Replacements that depend on values (CustomizeDiff in the Terraform providers): the inputs that force them."""


@dataclass(frozen=True)
class InputChange:
    """One changed value: its path in Pulumi's form (``nodeConfig.taints[0].key``), and whether it forces a replacement."""

    path: str
    kind: str
    """``add``, ``update`` or ``delete``."""
    replaces: bool

    @property
    def property(self) -> str:
        """The top-level input."""
        return self.path.partition(".")[0].partition("[")[0]


@dataclass(frozen=True)
class Differences:
    """All changes, sorted by path."""

    changes: tuple[InputChange, ...]
    delete_before_replace: bool = False

    @property
    def replaces(self) -> tuple[str, ...]:
        """Paths that force a replacement."""
        return tuple(c.path for c in self.changes if c.replaces)

    def __bool__(self) -> bool:
        return bool(self.changes)


def differences(token: str, old: Inputs, new: Inputs, ignore: Sequence[str] = ()) -> Differences:
    """Compare two sets of inputs of one resource (wire names, with or without secret envelopes).

    ignore: property paths as in ``ResourceOptions.ignore_changes``, where ``[*]`` matches every position.
    An empty list or object equals an input that is not set. Unknown new values count as changes.
    """
    before, after = unwrap_secrets(dict(old)), unwrap_secrets(dict(new))
    facts = catalog.find(token) or catalog.Facts(token, {}, (), {}, {}, catalog.KUBERNETES_IDENTITY)
    forced = CONDITIONS.get(token, lambda old, new: ())(before, after)
    found = [
        InputChange(c.path, c.kind, c.replaces or c.property in forced)
        for name in sorted(before.keys() | after.keys())
        if not name.startswith("__")
        for c in _walk(facts, name, before.get(name), after.get(name))
        if not _ignored(c.path, ignore)
    ]
    replaced = any(c.replaces for c in found)
    return Differences(tuple(found), replaced and _keeps_fixed_name(token, before, after))


def _walk(facts: catalog.Facts, path: str, old: Any, new: Any) -> Iterator[InputChange]:
    old, new = (None if v in ([], {}) else v for v in (old, new))
    if old == new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            inner = f'{path}["{key}"]' if any(c in key for c in './["') else f"{path}.{key}"
            yield from _walk(facts, inner, old.get(key), new.get(key))
    elif isinstance(old, list) and isinstance(new, list):
        if _without_positions(path) in facts.sets and sorted(map(repr, old)) == sorted(map(repr, new)):
            return
        for i, (before, after) in enumerate(zip_longest(old, new)):
            yield from _walk(facts, f"{path}[{i}]", before, after)
    else:
        kind = "add" if old is None else "delete" if new is None else "update"
        yield InputChange(path, kind, _replaces(facts, _without_positions(path), old, new))


def _replaces(facts: catalog.Facts, path: str, old: Any, new: Any) -> bool:
    parents = path.split(".")
    if any(".".join(parents[:n]) in facts.replace for n in range(1, len(parents) + 1)):
        return True
    one_side = old if new is None else new if old is None else None
    if one_side is None:
        return False
    return path in facts.replace_blocks or any(_replaces(facts, leaf, value, None) for leaf, value in _leaves(path, one_side))


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield f"{path}.{key}", inner
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(path, inner)


def _without_positions(path: str) -> str:
    """The path without list positions and quoted map keys."""
    while "[" in path:
        head, _, rest = path.partition("[")
        path = head + rest.partition("]")[2]
    return path


def _ignored(path: str, ignore: Sequence[str]) -> bool:
    for pattern in ignore:
        compared, ignored = map(_without_positions, (path, pattern)) if "[*]" in pattern else (path, pattern)
        if compared == ignored or compared.startswith((ignored + ".", ignored + "[")):
            return True
    return False


def _keeps_fixed_name(token: str, old: Inputs, new: Inputs) -> bool:
    """Whether the program sets a physical name and keeps it: the providers then delete first, because two cannot exist."""
    if token.startswith("kubernetes:"):
        before, after = old.get("metadata") or {}, new.get("metadata") or {}
        given = after.get("name") and not (after.get("annotations") or {}).get(AUTONAMED)
        return bool(given) and all(before.get(k) == after.get(k) for k in ("name", "namespace"))
    rule = NAMES.get(token)
    name = rule.property if rule else ""
    return bool(name) and name not in new.get("__defaults", ()) and new.get(name) is not None and old.get(name) == new.get(name)


@entry(CONDITIONS, "aws:ec2/instance:Instance")
def instance(old: Inputs, new: Inputs) -> tuple[str, ...]:
    """User data restarts the instance, unless userDataReplaceOnChange is set."""
    return ("userData", "userDataBase64") if new.get("userDataReplaceOnChange") else ()


@entry(CONDITIONS, "aws:fsx/lustreFileSystem:LustreFileSystem")
def lustre_file_system(old: Inputs, new: Inputs) -> tuple[str, ...]:
    """Capacity can grow, except on SCRATCH_1; with EFA the throughput cannot change (rule V-51)."""
    shrinks = (new.get("storageCapacity") or 0) < (old.get("storageCapacity") or 0) or new.get("deploymentType") == "SCRATCH_1"
    return (*(("storageCapacity",) if shrinks else ()), *(("perUnitStorageThroughput",) if new.get("efaEnabled") else ()))


@entry(CONDITIONS, "aws:eks/cluster:Cluster")
def eks_cluster(old: Inputs, new: Inputs) -> tuple[str, ...]:
    """Envelope encryption can be enabled, but not disabled."""
    return ("encryptionConfig",) if old.get("encryptionConfig") and not new.get("encryptionConfig") else ()


@entry(CONDITIONS, "gcp:compute/subnetwork:Subnetwork")
def subnetwork(old: Inputs, new: Inputs) -> tuple[str, ...]:
    """A range can be widened in place."""
    try:
        wider = ipaddress.ip_network(old["ipCidrRange"]).subnet_of(ipaddress.ip_network(new["ipCidrRange"]))  # ty: ignore[invalid-argument-type]
    except (KeyError, ValueError, TypeError):
        wider = False
    return () if wider else ("ipCidrRange",)


@entry(CONDITIONS, "gcp:compute/disk:Disk")
def disk(old: Inputs, new: Inputs) -> tuple[str, ...]:
    return ("size",) if (new.get("size") or 0) < (old.get("size") or 0) else ()
