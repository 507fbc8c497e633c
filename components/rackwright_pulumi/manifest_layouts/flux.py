"""Flux: one Kustomization per wave after the one before it, with objects, chart sources and HelmReleases."""

from typing import Any

from rackwright.report.yaml_text import yaml_text

from rackwright_pulumi.kubernetes.manifest_files import ChartRelease, ManifestFile, Manifests
from rackwright_pulumi.manifest_layouts.kustomize import API, wave_folder
from rackwright_pulumi.manifest_layouts.layout import KEPT_KINDS, GitSource, annotated

SYSTEM = "flux-system"
"""Namespace of Flux, and name of the GitRepository that `flux bootstrap` creates."""
HELM, SOURCE, KUSTOMIZE = "helm.toolkit.fluxcd.io/v2", "source.toolkit.fluxcd.io/v1", "kustomize.toolkit.fluxcd.io/v1"
CHART_LAYER = {"mediaType": "application/vnd.cncf.helm.chart.content.v1.tar+gzip", "operation": "copy"}
"""Layer of an OCI artifact that has the chart (https://fluxcd.io/flux/components/source/ocirepositories/#layer-selector)."""
INTERVAL = "1h"
KEPT = {"kustomize.toolkit.fluxcd.io/prune": "disabled"}
FOLDER = "kustomizations"


def flux_texts(made: Manifests, stack: str, source: GitSource) -> dict[str, str]:
    """A folder per wave, and the folder of Kustomizations that Flux reads."""
    texts: dict[str, str] = {}
    for number, wave in enumerate(made.waves):
        folder = wave_folder(number)
        bodies = {file.name.replace(".values.", "."): _bodies(file) for file in wave}
        texts |= {f"{folder}/{name}": yaml_text(each) for name, each in bodies.items()}
        files = {"apiVersion": API, "kind": "Kustomization", "resources": sorted(bodies)}
        texts[f"{folder}/kustomization.yaml"] = yaml_text([files])
        comments = "".join(f"{line}\n" for line in made.secret_comments) if number == 0 else ""
        texts[f"{FOLDER}/{folder}.yaml"] = comments + yaml_text([_kustomization(stack, number, wave, source)])
    return texts


def _bodies(file: ManifestFile) -> list[dict[str, Any]]:
    if not file.release:
        return [annotated(file.body, KEPT) if file.body["kind"] in KEPT_KINDS else file.body]
    return [_chart_source(file.release), _helm_release(file.release, file.body)]


def _kustomization(stack: str, number: int, wave: tuple[ManifestFile, ...], source: GitSource) -> dict[str, Any]:
    """Ready when the charts of the wave are installed, and objects that the stack waits for report their state."""
    releases = [file.release for file in wave if file.release]
    reporting = [file for file in wave if file.ready_state]
    checks = [{"apiVersion": HELM, "kind": "HelmRelease", "name": each.name, "namespace": each.namespace} for each in releases]
    checks += [_kind(file) | {"name": file.body["metadata"]["name"]} for file in reporting]
    states = [_kind(file) | {"current": f"status.state == '{file.ready_state}'"} for file in reporting]
    spec = {
        "interval": INTERVAL,
        "timeout": f"{max((each.timeout_s for each in releases), default=300) + 300}s",
        "path": f"./{source.folder(wave_folder(number))}",
        "prune": True,
        "sourceRef": {"kind": "GitRepository", "name": SYSTEM},
        **({"dependsOn": [{"name": _name(stack, number - 1)}]} if number else {}),
        **({"healthChecks": checks} if checks else {}),
        **({"healthCheckExprs": states} if states else {}),
    }
    return {"apiVersion": KUSTOMIZE, "kind": "Kustomization", "metadata": {"name": _name(stack, number), "namespace": SYSTEM}, "spec": spec}


def _kind(file: ManifestFile) -> dict[str, Any]:
    return {key: file.body[key] for key in ("apiVersion", "kind")}


def _name(stack: str, number: int) -> str:
    return f"{stack}-{wave_folder(number)}"


def _chart_source(release: ChartRelease) -> dict[str, Any]:
    metadata = {"name": release.name, "namespace": release.namespace}
    if release.repository:
        return {
            "apiVersion": SOURCE,
            "kind": "HelmRepository",
            "metadata": metadata,
            "spec": {"interval": INTERVAL, "url": release.repository},
        }
    # A digest has priority over the tag: https://fluxcd.io/flux/components/source/ocirepositories/#reference
    reference = {"tag": release.version} | ({"digest": release.digest} if release.digest else {})
    spec = {"interval": INTERVAL, "url": release.chart, "ref": reference, "layerSelector": CHART_LAYER}
    return {"apiVersion": SOURCE, "kind": "OCIRepository", "metadata": metadata, "spec": spec}


def _helm_release(release: ChartRelease, values: dict[str, Any]) -> dict[str, Any]:
    if release.repository:
        of = {"kind": "HelmRepository", "name": release.name}
        chart = {"chart": {"spec": {"chart": release.chart_name, "version": release.version, "sourceRef": of}}}
    else:
        chart = {"chartRef": {"kind": "OCIRepository", "name": release.name}}
    after = [{"name": name, "namespace": namespace} for namespace, name in release.after]
    spec = {
        "interval": INTERVAL,
        "timeout": f"{release.timeout_s}s",
        "releaseName": release.name,
        **chart,
        **({"dependsOn": after} if after else {}),
        "install": {"crds": "CreateReplace", "remediation": {"retries": 3}},
        "upgrade": {"crds": "CreateReplace", "remediation": {"retries": 3, "remediateLastFailure": True}},
        "values": values,
    }
    metadata = {"name": release.name, "namespace": release.namespace}
    return {"apiVersion": HELM, "kind": "HelmRelease", "metadata": metadata, "spec": spec}
