"""A shell script that copies the charts and images of a stack to a mirror."""

import re
import shlex
from collections.abc import Iterator, Sequence
from enum import StrEnum

from rackwright.report.artifacts import Artifact

CHART_FILES = "charts"
"""Folder for charts that are not in an OCI registry."""


class CopyTool(StrEnum):
    """Program that copies images between registries, whatever platforms they are for."""

    SKOPEO = "skopeo"
    CRANE = "crane"


def mirror_script(found: Sequence[Artifact], tool: CopyTool) -> str:
    """The script. It ends with status 1 where an image has no complete tag, after it has copied everything else."""
    lines = ["#!/bin/sh", "set -eu"]
    charts = [artifact for artifact in found if artifact.kind == "chart"]
    lines += [] if all(chart.reference.startswith("oci://") for chart in charts) else [f"mkdir -p {CHART_FILES}"]
    for chart in charts:
        lines += _chart(chart, tool)
    images = {artifact.reference: artifact for artifact in found if artifact.kind == "image"}
    lines += [_copy(image.reference, image.mirror, tool) for image in images.values() if image.is_complete]
    left = [image for image in images.values() if not image.is_complete]
    lines += [f"echo {shlex.quote(f'not copied: {image.reference} of {image.used_by}: {image.note}')} >&2" for image in left]
    return "\n".join([*lines, *(["exit 1"] if left else []), ""])


def _chart(chart: Artifact, tool: CopyTool) -> Iterator[str]:
    if chart.reference.startswith("oci://"):
        yield _copy(chart.reference.removeprefix("oci://"), chart.mirror.removeprefix("oci://"), tool)
        return
    path, _, version = chart.reference.partition(" ")
    repository, _, name = path.rpartition("/")
    yield shlex.join(["helm", "pull", name, "--repo", repository, "--version", version, "--destination", CHART_FILES])
    yield shlex.join(["helm", "push", f"{CHART_FILES}/{name}-{version}.tgz", chart.mirror.rpartition("/")[0]])


def _copy(source: str, target: str, tool: CopyTool) -> str:
    """Neither tool accepts a tag together with a digest: the source is named by its digest, the copy by its tag."""
    source = re.sub(r":[^:/@]+@", "@", source)
    target = re.sub(r"(:[^:/@]+)@.*", r"\1", target)
    if tool is CopyTool.CRANE:
        return shlex.join(["crane", "copy", source, target])
    return shlex.join(["skopeo", "copy", "--all", "--preserve-digests", f"docker://{source}", f"docker://{target}"])
