"""Migration of older format versions: each step rewrites plain data to the next version and returns a note."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rackwright.diagnostics.problem import At, Problem
from rackwright.spec.base import quote
from rackwright.spec.spec import API_VERSION

Data = dict[str, object]


@dataclass(frozen=True)
class MigrationStep:
    """From one version to the next."""

    to: str
    rewrite: Callable[[Data], Data]
    """Returns new data; never changes its argument. `api_version` is set by the caller."""
    note: str
    """What changed, for the user."""


STEPS: Mapping[str, MigrationStep] = {}
"""Version -> step to the next one. `rackwright/v1` is the first version, so there is none yet."""


def migrate(data: Data, steps: Mapping[str, MigrationStep] = STEPS) -> tuple[Data, tuple[str, ...]]:
    """`data` in today's version and a note for each step taken; unchanged where its version is today's or unknown."""
    notes: list[str] = []
    while (step := steps.get(str(data.get("api_version")))) is not None:
        notes.append(f"{data['api_version']} -> {step.to}: {step.note}")
        data = step.rewrite(data) | {"api_version": step.to}
    return data, tuple(notes)


def version_problem(data: Data, steps: Mapping[str, MigrationStep] = STEPS) -> Problem | None:
    """The problem with `api_version`, None when it can be read (or is missing, which the models report)."""
    version = data.get("api_version")
    if "api_version" not in data or version == API_VERSION or (isinstance(version, str) and version in steps):
        return None
    supported = ", ".join([API_VERSION, *steps])
    number = re.fullmatch(r"rackwright/v([0-9]{1,9})[a-z0-9]*", version) if isinstance(version, str) else None
    newer = number and int(number[1]) > int(API_VERSION.rpartition("v")[2])
    reason = f"{quote(version)} is newer than this release" if newer else f"{quote(version)} is not a version of the spec format"
    fix = f"upgrade rackwright; this release supports {supported}" if newer else f"use {supported}"
    return Problem("S-version", reason, at=At() / "api_version", fix=fix)
