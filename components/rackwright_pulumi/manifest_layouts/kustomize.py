"""Ordered bases for kustomize: one folder per wave, with its objects and the charts that kustomize renders."""

from typing import Any

from rackwright.report.yaml_text import yaml_text

from rackwright_pulumi.kubernetes.manifest_files import SCRIPT_START, ManifestFile, Manifests

API = "kustomize.config.k8s.io/v1beta1"
APPLY = """\
# Objects are refused until the CRDs and webhooks of the charts of earlier folders answer: each folder is tried for 20 minutes.
apply() {
  tries=120
  until kustomize build --enable-helm "$1" | kubectl apply --server-side --force-conflicts -f -; do
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || exit 1
    sleep 10
  done
}"""


def kustomize_texts(made: Manifests) -> dict[str, str]:
    """kustomization.yaml with the bases in order, the bases, and a script that applies one after the other."""
    texts: dict[str, str] = {}
    names = [wave_folder(number) for number in range(len(made.waves))]
    for name, wave in zip(names, made.waves, strict=True):
        texts |= {f"{name}/{file.name}": yaml_text([file.body]) for file in wave}
        texts[f"{name}/kustomization.yaml"] = yaml_text([_base(wave)])
    texts["kustomization.yaml"] = yaml_text([_kustomization(resources=names)])
    script = (*SCRIPT_START, *made.secret_comments, APPLY, *(f"apply {name}" for name in names), "")
    return texts | {"install.sh": "\n".join(script)}


def wave_folder(number: int) -> str:
    return f"wave-{number:02}"


def _base(wave: tuple[ManifestFile, ...]) -> dict[str, Any]:
    charts = [_chart(file) for file in wave if file.release]
    objects = [file.name for file in wave if not file.release]
    return _kustomization(resources=objects) | ({"helmCharts": charts} if charts else {})


def _kustomization(resources: list[str]) -> dict[str, Any]:
    """Objects in the order of `resources`, not in kustomize's own order of kinds."""
    return {"apiVersion": API, "kind": "Kustomization", "sortOptions": {"order": "fifo"}, "resources": resources}


def _chart(file: ManifestFile) -> dict[str, Any]:
    """An entry of `helmCharts` (https://kubectl.docs.kubernetes.io/references/kustomize/builtins/#_helmchartinflationgenerator_)."""
    release = file.release
    assert release, f"{file.name} has the values of a chart"
    return {
        "name": release.chart_name,
        "repo": release.chart_parent,
        "version": release.version,
        "releaseName": release.name,
        "namespace": release.namespace,
        "valuesFile": file.name,
        "includeCRDs": True,
        "skipTests": True,
    }
