"""`rackwright manifests` and `rackwright images`: the objects of the graph as files, and what a mirror needs."""

import json
import re
from pathlib import Path

import pytest
import yaml
from rackwright.catalog.release.chart_images import chart_images
from rackwright.catalog.release.pinned_versions import pinned_versions

from tests.cli.conftest import STACKS

TODAY = ("--today", "2026-11-21")
CLUSTERS = ["llama-70b-sft", "chat-eks", "gemma-pretrain", "chat-serve"]
IMAGE = "registry.example/team/trainer@sha256:" + "0" * 64


def spec_of(name: str) -> Path:
    return STACKS / f"{name}.yaml"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Name -> (folder, graph) of an example, once each."""
    from rackwright.cli.main import run

    made: dict[str, Path] = {}

    def write(name: str) -> Path:
        if name not in made:
            made[name] = tmp_path_factory.mktemp("manifests") / name
            assert run(["manifests", str(spec_of(name)), "-o", str(made[name]), *TODAY]) == 0
        return made[name]

    return write


@pytest.mark.parametrize("name", CLUSTERS)
def test_every_object_of_the_graph_has_a_file(name, written, rackwright):
    folder = written(name)
    bodies = [yaml.safe_load(path.read_text()) for path in sorted(folder.glob("*.yaml")) if not path.name.endswith(".values.yaml")]
    nodes = [
        node for node in rackwright("graph", spec_of(name), "--json", *TODAY).json["resources"] if node["type"].startswith("kubernetes:")
    ]
    objects = {
        (node["inputs"]["kind"], node["inputs"]["metadata"].get("namespace"), node["inputs"]["metadata"]["name"])
        for node in nodes
        if not node["type"].endswith(":Release") and node["inputs"]["kind"] != "Secret"
    }
    assert {(body["kind"], body["metadata"].get("namespace"), body["metadata"]["name"]) for body in bodies} == objects
    releases = [node for node in nodes if node["type"].endswith(":Release")]
    assert len(list(folder.glob("*.values.yaml"))) == len(releases)


@pytest.mark.parametrize("name", CLUSTERS)
def test_the_script_installs_each_file_after_its_namespace(name, written):
    folder, script = written(name), (written(name) / "install.sh").read_text()
    lines = [line for line in script.splitlines() if line.startswith(("kubectl", "helm"))]
    named = [next(word for word in line.split() if word.endswith(".yaml")) for line in lines]
    assert named == sorted(path.name for path in folder.glob("*.yaml"))
    seen: set[str] = {"kube-system"}
    for line, file in zip(lines, named, strict=True):
        body = yaml.safe_load((folder / file).read_text())
        if line.startswith("helm"):
            assert line.split("--namespace ")[1].split()[0] in seen, line
        elif body["kind"] == "Namespace":
            seen.add(body["metadata"]["name"])
        else:
            assert body["metadata"].get("namespace", "kube-system") in seen, file
    assert all("--version" in line for line in lines if line.startswith("helm"))


def test_secrets_are_left_out_and_named(written):
    folder = written("chat-eks")
    assert "# First create Secret run-secrets in namespace team-chat: VLLM_API_KEY" in (folder / "install.sh").read_text()
    assert not any("kind: Secret" in path.read_text() for path in folder.glob("*.yaml"))


@pytest.mark.parametrize("name", CLUSTERS)
def test_no_value_of_the_simulated_cloud_is_written(name, written):
    """Each is a placeholder with the path of the stack's output."""
    text = "".join(path.read_text() for path in written(name).glob("*.yaml"))
    assert re.findall(r"\b(?:fs|subnet|sg|vpc)-[0-9a-f]{8,}|arn:aws:kms:[^*\s]+:key/[0-9a-f-]+", text) == []
    assert "${" in text


def test_outputs_of_the_stack_replace_the_placeholders(rackwright, tmp_path):
    lustre = {"id": "fs-1", "dnsName": "fs-1.fsx", "mountName": "abc"}
    (tmp_path / "outputs.json").write_text(json.dumps({"lustre": lustre, "parts": {"key": {"arn": "arn:key"}}}))
    target = tmp_path / "out"
    result = rackwright("manifests", spec_of("llama-70b-sft"), "-o", target, "--outputs", tmp_path / "outputs.json", *TODAY)
    assert result.status == 0
    text = "".join(path.read_text() for path in target.iterdir())
    assert "${" not in text
    volume = next(yaml.safe_load(path.read_text()) for path in target.glob("*persistentvolume-*"))
    assert volume["spec"]["csi"]["volumeHandle"] == "fs-1"


def test_two_runs_write_the_same_files(rackwright, written, tmp_path):
    assert rackwright("manifests", spec_of("llama-70b-sft"), "-o", tmp_path / "again", *TODAY).status == 0
    first, second = (
        {path.name: path.read_text() for path in folder.iterdir()} for folder in (written("llama-70b-sft"), tmp_path / "again")
    )
    assert first == second


def test_a_box_has_no_objects(rackwright, tmp_path):
    result = rackwright("manifests", spec_of("mistral-7b-qlora"), "-o", tmp_path / "out", *TODAY)
    assert result.status == 2
    assert "error U-manifests" in result.err
    assert not (tmp_path / "out").exists()


def test_a_folder_with_files_is_left_alone(rackwright, tmp_path):
    (tmp_path / "99-old.yaml").write_text("kind: Pod\n")
    result = rackwright("manifests", spec_of("llama-70b-sft"), "-o", tmp_path, *TODAY)
    assert result.status == 2
    assert "old ones would be installed too" in " ".join(result.err.split())
    assert [path.name for path in tmp_path.iterdir()] == ["99-old.yaml"]


def test_images_lists_charts_and_images_with_digests_and_targets(rackwright, tmp_path):
    path = tmp_path / "llama-70b-sft.yaml"
    run = f"    kind: finetune\n    run: {{image: {IMAGE}, command: [train]}}\n"
    path.write_text(spec_of("llama-70b-sft").read_text().replace("    kind: finetune\n", run, 1))
    found = rackwright("images", path, "--mirror", "mirror.example/ai", "--json", *TODAY).json
    kueue = next(row for row in found if row["kind"] == "chart" and row["used_by"] == "kueue")
    assert kueue["digest"].startswith("sha256:")
    assert kueue["mirror"].startswith("oci://mirror.example/ai/charts/kueue:")
    own = next(row for row in found if row["used_by"] == "run")
    assert (own["reference"], own["mirror"]) == (IMAGE, "mirror.example/ai/" + IMAGE.partition("/")[2])
    charts = {row["used_by"] for row in found if row["kind"] == "chart"}
    assert charts == {row["used_by"] for row in found if row["kind"] == "image"} - {"run"}


def test_images_lists_the_server(rackwright):
    found = rackwright("images", spec_of("chat-eks"), "--json", *TODAY).json
    assert any(row["used_by"] == "Deployment chat" and "vllm" in row["reference"] for row in found)


def test_images_of_charts_belong_to_the_pinned_versions():
    for chart, row in pinned_versions("chart").items():
        assert {image.version for image in chart_images(chart)} <= {row.version.partition("@")[0]}, chart


def test_each_warning_is_printed_once(rackwright, tmp_path):
    """The command reads the stack and its graph."""
    result = rackwright("manifests", spec_of("llama-70b-sft"), "-o", tmp_path / "out", *TODAY)
    warnings = re.findall(r"warning ([A-Z]\S+?):? ", result.err.replace("\n", " "))
    assert "R-36" in warnings
    assert len(warnings) == len(set(warnings))


def test_a_credential_in_the_url_of_the_repository_is_refused(rackwright, tmp_path):
    url = "https://user:ghp_0000111122223333444455556666777788889999@git.example/a.git"
    result = rackwright("manifests", spec_of("chat-onprem"), "-o", tmp_path / "out", "--layout", "argocd", "--git-url", url, *TODAY)
    assert result.status == 2
    assert "ghp_" not in result.out + result.err
    assert not (tmp_path / "out").exists()
