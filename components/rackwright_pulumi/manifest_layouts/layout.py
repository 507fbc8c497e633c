"""The four layouts. All install the same objects and charts, in the order of the stack's dependencies."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from rackwright.report.yaml_text import yaml_text

from rackwright_pulumi.manifest_files import Manifests

KEPT_KINDS = ("Namespace", "PersistentVolume", "PersistentVolumeClaim")
"""Objects whose deletion deletes data. GitOps tools do not delete them when their file goes."""


class Layout(StrEnum):
    """Tool that installs the files."""

    PLAIN = "plain"
    KUSTOMIZE = "kustomize"
    ARGOCD = "argocd"
    FLUX = "flux"


@dataclass(frozen=True)
class GitSource:
    """Where the files are committed. url: of the repository. path: of the folder in it, such as clusters/train."""

    url: str = "${git.url}"
    path: str = "."

    def folder(self, name: str) -> str:
        """Path of a folder of the layout in the repository."""
        return name if self.path in ("", ".") else f"{self.path.strip('/')}/{name}"


def layout_texts(made: Manifests, layout: Layout, stack: str, source: GitSource) -> dict[str, str]:
    """Path -> text of every file. stack: prefix of names that several stacks share a namespace with."""
    from rackwright_pulumi.manifest_layouts.argocd import argocd_texts
    from rackwright_pulumi.manifest_layouts.flux import flux_texts
    from rackwright_pulumi.manifest_layouts.kustomize import kustomize_texts

    if layout is Layout.KUSTOMIZE:
        return kustomize_texts(made)
    if layout is Layout.ARGOCD:
        return argocd_texts(made, stack, source)
    if layout is Layout.FLUX:
        return flux_texts(made, stack, source)
    return {file.name: yaml_text([file.body]) for file in made.files} | {"install.sh": made.script}


def annotated(body: dict[str, Any], annotations: dict[str, str]) -> dict[str, Any]:
    """An object with more annotations."""
    metadata = body["metadata"]
    return body | {"metadata": metadata | {"annotations": {**(metadata.get("annotations") or {}), **annotations}}}
