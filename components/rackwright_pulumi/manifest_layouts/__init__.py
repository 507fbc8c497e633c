"""Layouts of the files of `rackwright manifests`: plain YAML, kustomize, Argo CD, Flux."""

from rackwright_pulumi.manifest_layouts.layout import GitSource, Layout, layout_texts

__all__ = ["GitSource", "Layout", "layout_texts"]
