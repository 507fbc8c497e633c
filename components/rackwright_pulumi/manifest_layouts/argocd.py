"""Argo CD: one Application for the stack, which has its objects and an Application per chart, in sync waves."""

from typing import Any

from rackwright.report.yaml_text import yaml_text

from rackwright_pulumi.kubernetes.manifest_files import ManifestFile, Manifests
from rackwright_pulumi.manifest_layouts.layout import KEPT_KINDS, GitSource, annotated

API, NAMESPACE = "argoproj.io/v1alpha1", "argocd"
HERE = "https://kubernetes.default.svc"
WAVE, OPTIONS = "argocd.argoproj.io/sync-wave", "argocd.argoproj.io/sync-options"
FINALIZER = "resources-finalizer.argocd.argoproj.io"
FOLDER = "apps"
HEALTH = """\
# Waves wait for charts only where Argo CD assesses the health of Applications, which it does not by default. Add to ConfigMap argocd-cm
# `resource.customizations.health.argoproj.io_Application`:
# https://argo-cd.readthedocs.io/en/stable/operator-manual/health/#argocd-app
"""


def argocd_texts(made: Manifests, stack: str, source: GitSource) -> dict[str, str]:
    """application.yaml, which an administrator applies, and the folder that it synchronizes."""
    texts = {f"{FOLDER}/{file.name.replace('.values.', '.')}": yaml_text([_synchronized(file, stack)]) for file in made.files}
    comments = "".join(f"{line}\n" for line in made.secret_comments)
    return texts | {"application.yaml": HEALTH + comments + yaml_text([_root(stack, source)])}


def _synchronized(file: ManifestFile, stack: str) -> dict[str, Any]:
    annotations = {WAVE: str(file.wave)}
    if file.release:
        return annotated(_chart(file, stack), annotations)
    kept = {OPTIONS: "Prune=false,Delete=false"} if file.body["kind"] in KEPT_KINDS else {}
    return annotated(file.body, annotations | kept)


def _root(stack: str, source: GitSource) -> dict[str, Any]:
    """Objects of CRDs that charts install later are not checked before their wave (SkipDryRunOnMissingResource)."""
    where = {"repoURL": source.url, "path": source.folder(FOLDER), "targetRevision": "HEAD", "directory": {"recurse": True}}
    return _application(stack, where, "default", ["ServerSideApply=true", "SkipDryRunOnMissingResource=true"])


def _chart(file: ManifestFile, stack: str) -> dict[str, Any]:
    """A chart with its values. Argo CD names OCI registries without their scheme
    (https://argo-cd.readthedocs.io/en/stable/user-guide/helm/)."""
    release = file.release
    assert release, f"{file.name} has the values of a chart"
    where = {
        "repoURL": release.chart_parent.removeprefix("oci://"),
        "chart": release.chart_name,
        "targetRevision": release.version,
        "helm": {"releaseName": release.name, "valuesObject": file.body},
    }
    return _application(f"{stack}-{release.name}", where, release.namespace, ["ServerSideApply=true"])


def _application(name: str, source: dict[str, Any], namespace: str, options: list[str]) -> dict[str, Any]:
    spec = {
        "project": "default",
        "source": source,
        "destination": {"server": HERE, "namespace": namespace},
        "syncPolicy": {
            "automated": {"prune": True, "selfHeal": True},
            "syncOptions": options,
            "retry": {"limit": 10, "backoff": {"duration": "30s", "factor": 2, "maxDuration": "10m"}},
        },
    }
    metadata = {"name": name, "namespace": NAMESPACE, "finalizers": [FINALIZER]}
    return {"apiVersion": API, "kind": "Application", "metadata": metadata, "spec": spec}
