"""Layouts of the files of `rackwright manifests`: plain YAML, kustomize, Argo CD, Flux."""
