"""The files of a layout. All layouts install the same objects and charts, in the order of the stack's dependencies."""

from rackwright.report.yaml_text import yaml_text

from rackwright_pulumi.kubernetes.manifest_files import Manifests
from rackwright_pulumi.manifest_layouts.argocd import argocd_texts
from rackwright_pulumi.manifest_layouts.flux import flux_texts
from rackwright_pulumi.manifest_layouts.kustomize import kustomize_texts
from rackwright_pulumi.manifest_layouts.layout import GitSource, Layout


def layout_texts(made: Manifests, layout: Layout, stack: str, source: GitSource) -> dict[str, str]:
    """Path -> text of every file. stack: prefix of names that several stacks share a namespace with."""
    if layout is Layout.KUSTOMIZE:
        return kustomize_texts(made)
    if layout is Layout.ARGOCD:
        return argocd_texts(made, stack, source)
    if layout is Layout.FLUX:
        return flux_texts(made, stack, source)
    return {file.name: yaml_text([file.body]) for file in made.files} | {"install.sh": made.script}
