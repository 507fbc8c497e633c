"""Names of the layouts, and what they share."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

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


def annotated(body: dict[str, Any], annotations: dict[str, str]) -> dict[str, Any]:
    """An object with more annotations."""
    metadata = body["metadata"]
    return body | {"metadata": metadata | {"annotations": {**(metadata.get("annotations") or {}), **annotations}}}
