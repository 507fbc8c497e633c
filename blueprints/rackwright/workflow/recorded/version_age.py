"""Age and support of the recorded versions, and what the versions of this release would change."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path

from rackwright.catalog.release.pinned_versions import support_of, support_of_image
from rackwright.catalog.rows import Support
from rackwright.clouds import profile
from rackwright.diagnostics.problem import Level, Problem
from rackwright.stackplan import StackPlan, VersionPins
from rackwright.workflow.decision import Decision

MAX_IMAGE_AGE = timedelta(days=90)
"""Age above which a machine image is reported. Assumption of rackwright, 2026-11: it lacks three months of security updates."""
NOTICE = timedelta(days=90)
"""Time before the end of support from which it is reported. Assumption of rackwright, 2026-11."""
RELEASE_DAY = re.compile(r"\b(20\d\d)(\d\d)(\d\d)$")
"""End of the names of EKS, DLAMI and Ubuntu images: 1.35.6-20260728. Other versions do not have their date."""
CONTROL_PLANE = "kubernetes"
"""The pinned version of the cluster, a component of support.csv like the charts."""


@dataclass(frozen=True)
class VersionChange:
    """A recorded version and that of this release; `recorded` or `release` is empty where only the other has the part."""

    part: str
    name: str
    recorded: str
    release: str
    support_ends: str | None = None


def age_warnings(stack: StackPlan, release: VersionPins, path: Path, today: date, chosen_on: str) -> list[Problem]:
    """Warnings about old images and versions whose support ends. release: versions of this release for the same stack.

    chosen_on: ISO date of the decision; the nodes of a cluster with held upgrades have images of about that day.
    """
    newer = {(part, name): version for part, name, version in _versions(release)}
    names: dict[tuple[str, str, str], list[str]] = {}
    for part, name, version in _versions(stack.pins):
        names.setdefault((part, version, newer.get((part, name), version)), []).append(name)
    found = []
    for (part, version, replacement), same in names.items():
        shown = f"`rackwright choose {path.name} --upgrade` shows the change to {replacement}"
        fix = shown if replacement != version else "update rackwright; this release has none newer"
        found += [replace(problem, fix=fix) for problem in _warnings(part, same, version, stack, today)]
    return [*found, *_held_nodes(stack, path, today - date.fromisoformat(chosen_on))]


def _held_nodes(stack: StackPlan, path: Path, age: timedelta) -> Iterator[Problem]:
    """Nodes that the cloud would upgrade, and does not until the end of support, by the cluster's maintenance exclusion."""
    command = profile(stack.place.cloud).node_upgrade_command
    if stack.cluster is None or not command or age <= MAX_IMAGE_AGE:
        return
    pools = ", ".join(pool.name for pool in stack.pools)
    reason = (
        f"The decision is {age.days} days old, more than {MAX_IMAGE_AGE.days}, and the cluster holds node upgrades until the end of "
        f"support: nodes of {pools} lack later security updates unless you upgraded them"
    )
    upgrade = command.format(cluster=stack.cluster.name, region=stack.place.region)
    fix = f"between two runs, `{upgrade}` for each pool, then `rackwright choose {path.name}`"
    yield Problem("D-image-age", reason, fix=fix, level=Level.WARNING)


def changes_of(recorded: Decision | None, release: Decision) -> list[VersionChange]:
    """The versions, machines and price that a decision would replace."""
    cloud, kubernetes = release.fit.candidate.cloud, release.pins.kubernetes
    ours, theirs = (_recorded_values(decision) if decision else {} for decision in (recorded, release))
    found = [(key, ours.get(key, ""), theirs.get(key, "")) for key in {**theirs, **ours}]
    return [VersionChange(*key, old, new, _support_ends(key, new, cloud, kubernetes)) for key, old, new in found if old != new]


def _recorded_values(decision: Decision) -> dict[tuple[str, str], str]:
    prices = (fit.candidate.price_usd_per_hour for fit in decision.fit.each_workload)
    price = " + ".join("not published" if each is None else f"{each:g} USD per machine hour" for each in prices)
    values = {(part, name): version for part, name, version in _versions(decision.pins)}
    return values | {("machines", "label"): decision.fit.label, ("machines", "price"): price}


def _versions(pins: VersionPins) -> Iterator[tuple[str, str, str]]:
    """Part, name and version of every pin."""
    if pins.kubernetes:
        yield CONTROL_PLANE, "cluster", pins.kubernetes
    for part in ("images", "charts", "addons"):
        for name, version in getattr(pins, part):
            yield part, name, version


def _support(part: str, name: str, version: str, cloud: str) -> Support | None:
    if part == CONTROL_PLANE:
        return support_of(CONTROL_PLANE, cloud, version)
    return support_of_image(name, cloud, version) if part == "images" else support_of(name, "", version.partition("@")[0])


def _support_ends(key: tuple[str, str], version: str, cloud: str, kubernetes: str) -> str | None:
    row = _support(*key, version, cloud)
    if row and row.follows == CONTROL_PLANE:
        row = support_of(CONTROL_PLANE, cloud, kubernetes)
    return row.support_ends if row else None


def _following_images(stack: StackPlan) -> str:
    """Names of the images whose support ends with that of the cluster's version."""
    rows = ((name, _support("images", name, version, stack.place.cloud)) for name, version in stack.pins.images)
    return ", ".join(name for name, row in rows if row and row.follows == CONTROL_PLANE)


def _release_day(version: str) -> date | None:
    dated = RELEASE_DAY.search(version)
    try:
        return date(*map(int, dated.groups())) if dated else None
    except ValueError:
        return None  # eight digits that are no date


def _warnings(part: str, names: list[str], version: str, stack: StackPlan, today: date) -> Iterator[Problem]:
    """Every warning about one version. A version without a known date causes none."""
    what = f"Kubernetes {version}" if part == CONTROL_PLANE else f"{', '.join(names)} {version}"
    if part == "images" and (released := _release_day(version)) and today - released > MAX_IMAGE_AGE:
        age = today - released
        yield Problem(
            "D-image-age",
            f"Image {what} is {age.days} days old, more than {MAX_IMAGE_AGE.days}; it lacks later security updates",
            level=Level.WARNING,
        )
    for row in dict.fromkeys(filter(None, (_support(part, name, version, stack.place.cloud) for name in names))):
        if row.deprecated:
            yield Problem("D-support", f"{what} is deprecated. {row.notes}", level=Level.WARNING)
        if row.support_ends and today >= date.fromisoformat(row.support_ends) - NOTICE:
            images = _following_images(stack) if part == CONTROL_PLANE else ""
            yield Problem("D-support", _end_of_support(what, row, images, today), level=Level.WARNING)


def _end_of_support(what: str, row: Support, images: str, today: date) -> str:
    """images: names of those whose support ends too."""
    over = f"ended on {row.support_ends}" if f"{today}" > f"{row.support_ends}" else f"ends on {row.support_ends}"
    after = f"; extended support costs extra and ends on {row.extended_ends}" if row.extended_ends else ""
    follow = f". Node images follow it: {images}" if images else ""
    return f"Support of {what} {over}{after}{follow}{'. ' + row.notes if row.notes else ''}"
