"""Layouts of `rackwright manifests`: what kustomize builds, and what the CRDs of Argo CD and Flux accept."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from rackwright_pulumi.manifest_layouts.layout import Layout

from tests.compile.contracts import strict_errors
from tests.render.renderers import needed_binary, needed_source

STACKS = Path(__file__).resolve().parents[2] / "stacks"
EXAMPLES = ["llama-70b-sft", "llama-70b-onprem", "chat-eks"]
GIT = ("--git-url", "https://git.example/clusters.git", "--git-path", "clusters/train")
CRDS = {
    "argoproj.io": ("argocd", "manifests/crds"),
    "helm.toolkit.fluxcd.io": ("flux-helm", "config/crd/bases"),
    "source.toolkit.fluxcd.io": ("flux-source", "config/crd/bases"),
    "kustomize.toolkit.fluxcd.io": ("flux-kustomize", "config/crd/bases"),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """(example, layout) -> folder, written once each."""
    from rackwright.cli.main import run

    made: dict[tuple[str, str], Path] = {}

    def write(name: str, layout: str) -> Path:
        if (name, layout) not in made:
            folder = tmp_path_factory.mktemp(layout) / name
            path = str(STACKS / f"{name}.yaml")
            assert run(["manifests", path, "-o", str(folder), "--layout", layout, "--today", "2026-11-21", *GIT]) == 0
            made[name, layout] = folder
        return made[name, layout]

    return write


@pytest.mark.parametrize("layout", list(Layout))
@pytest.mark.parametrize("name", EXAMPLES)
def test_every_layout_has_the_same_objects_and_pinned_charts(name, layout, written):
    plain = written(name, "plain")
    objects = {key(body) for path in plain.glob("*.yaml") if ".values." not in path.name for body in documents(path)}
    script = (plain / "install.sh").read_text()
    charts = {line.split()[3]: line.split("--version ")[1].split()[0] for line in script.splitlines() if line.startswith("helm ")}
    assert objects == objects_of(written(name, layout))
    assert charts == charts_of(written(name, layout), layout, name)


@pytest.mark.parametrize("name", EXAMPLES)
def test_waves_follow_the_script(name, written):
    """Everything is in a later wave than what it waits for: namespaces before charts, charts before their custom resources."""
    waves = argo_waves(written(name, "argocd"))
    kueue = waves.get(("Application", f"{name}-kueue"), 0)
    queues = [wave for (kind, _), wave in waves.items() if kind in ("ClusterQueue", "LocalQueue", "ResourceFlavor", "Topology")]
    assert all(wave > kueue for wave in queues)
    assert waves["Application", f"{name}-kube-prometheus-stack"] > waves["Namespace", "monitoring"]
    flux = written(name, "flux") / "kustomizations"
    chain = [next(documents(path)) for path in sorted(flux.glob("*.yaml"))]
    assert [body["spec"].get("dependsOn", [{"name": None}])[0]["name"] for body in chain] == [
        None,
        *(body["metadata"]["name"] for body in chain[:-1]),
    ]


def test_flux_releases_depend_on_the_releases_that_the_stack_orders(written):
    folder = written("llama-70b-sft", "flux")
    kueue = next(body for body in all_documents(folder) if key(body) == ("HelmRelease", "kueue-system", "kueue"))
    assert {each["name"] for each in kueue["spec"]["dependsOn"]} >= {"jobset", "dcgm-exporter", "nvidia-device-plugin"}
    source = next(body for body in all_documents(folder) if key(body) == ("OCIRepository", "kueue-system", "kueue"))
    assert source["spec"]["ref"]["digest"].startswith("sha256:")


@pytest.mark.parametrize("layout", ["argocd", "flux"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_crds_of_the_tools_accept_the_files(name, layout, written):
    folder, checked = written(name, layout), 0
    for body in all_documents(folder):
        group = body["apiVersion"].partition("/")[0]
        if group in CRDS:
            module, path = CRDS[group]
            assert strict_errors(body, needed_source(module) / path) == []
            checked += 1
    assert checked > 3


@pytest.mark.parametrize("name", EXAMPLES)
def test_kustomize_builds_every_base(name, written, tmp_path):
    """Empty charts of the same name and version are in the folder that kustomize would download charts to."""
    kustomize, helm = needed_binary("kustomize"), needed_binary("helm")
    folder = tmp_path / name
    shutil.copytree(written(name, "kustomize"), folder)
    for base in yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]:
        own = yaml.safe_load((folder / base / "kustomization.yaml").read_text())
        for chart in own.get("helmCharts", []):
            empty_chart(folder / base / "charts" / f"{chart['name']}-{chart['version']}" / chart["name"], chart)
        command = [str(kustomize), "build", "--enable-helm", "--helm-command", str(helm), str(folder / base)]
        built = subprocess.run(command, capture_output=True, text=True, check=False)
        assert built.returncode == 0, built.stderr
        found = [key(body) for body in yaml.safe_load_all(built.stdout) if body and body["kind"] != "EmptyChart"]
        assert found == [key(next(documents(folder / base / file))) for file in own["resources"]]


def empty_chart(folder: Path, chart: dict[str, Any]) -> None:
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text(yaml.safe_dump({"apiVersion": "v2", "name": chart["name"], "version": chart["version"]}))
    body = {"apiVersion": "test/v1", "kind": "EmptyChart", "metadata": {"name": chart["releaseName"]}}
    (folder / "templates" / "empty.yaml").write_text(yaml.safe_dump(body))


def key(body: dict[str, Any]) -> tuple[str, str, str]:
    return body["kind"], body["metadata"].get("namespace", ""), body["metadata"]["name"]


def documents(path: Path):
    return (body for body in yaml.safe_load_all(path.read_text()) if body)


def all_documents(folder: Path):
    return [
        body for path in sorted(folder.rglob("*.yaml")) if ".values." not in path.name for body in documents(path) if "metadata" in body
    ]


def objects_of(folder: Path) -> set[tuple[str, str, str]]:
    return {key(body) for body in all_documents(folder) if body["apiVersion"].partition("/")[0] not in CRDS}


def charts_of(folder: Path, layout: str, stack: str) -> dict[str, str]:
    """Release -> version of its chart."""
    if layout == Layout.PLAIN:
        lines = [line for line in (folder / "install.sh").read_text().splitlines() if line.startswith("helm ")]
        return {line.split()[3]: line.split("--version ")[1].split()[0] for line in lines}
    if layout == Layout.KUSTOMIZE:
        bases = [yaml.safe_load(path.read_text()) for path in folder.glob("*/kustomization.yaml")]
        return {chart["releaseName"]: chart["version"] for base in bases for chart in base.get("helmCharts", [])}
    bodies = all_documents(folder)
    if layout == Layout.ARGOCD:
        charts = [body["spec"]["source"] for body in bodies if body["kind"] == "Application" and "chart" in body["spec"]["source"]]
        return {chart["helm"]["releaseName"]: chart["targetRevision"] for chart in charts}
    sources = {key(body)[1:]: body["spec"]["ref"]["tag"] for body in bodies if body["kind"] == "OCIRepository"}
    releases = {key(body)[1:]: body["spec"] for body in bodies if body["kind"] == "HelmRelease"}
    return {name[1]: spec["chart"]["spec"]["version"] if "chart" in spec else sources[name] for name, spec in releases.items()}


def argo_waves(folder: Path) -> dict[tuple[str, str], int]:
    bodies = [body for path in (folder / "apps").glob("*.yaml") for body in documents(path)]
    return {
        (body["kind"], body["metadata"]["name"]): int(body["metadata"]["annotations"]["argocd.argoproj.io/sync-wave"]) for body in bodies
    }
