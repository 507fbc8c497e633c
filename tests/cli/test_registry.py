"""`registry:` of a spec, and `rackwright images --format`: everything comes from the mirror, and the script fills it."""

import re
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import STACKS
from tests.compile.test_mirror import images

TODAY = ("--today", "2026-11-21")
EXAMPLES = ["llama-70b-sft", "chat-eks", "gemma-pretrain", "chat-serve", "llama-70b-onprem", "chat-onprem", "assistant-eks"]
MIRROR = "mirror.example:5000/ai"
IMAGE = "registry.example/team/trainer@sha256:" + "0" * 64


@pytest.fixture
def mirrored(tmp_path):
    """Name -> path of an example with a registry, and with a container for its job."""

    def write(name: str) -> Path:
        text = (STACKS / f"{name}.yaml").read_text()
        if "kind: finetune\n" in text and "run:" not in text:
            text = text.replace("    kind: finetune\n", f"    kind: finetune\n    run: {{image: {IMAGE}, command: [train]}}\n", 1)
        path = tmp_path / f"{name}.yaml"
        path.write_text(f"{text}\nregistry: {MIRROR}\n".replace("inventory: inventories", f"inventory: {STACKS}/inventories"))
        return path

    return write


@pytest.mark.parametrize("name", EXAMPLES)
def test_no_image_of_a_graph_escapes_the_mirror(name, mirrored, rackwright):
    graph = rackwright("graph", mirrored(name), "--json", *TODAY).json
    nodes = [node["inputs"] for node in graph["resources"] if node["type"].startswith("kubernetes:")]
    assert nodes
    assert [found for node in nodes for found in images(node) if not found[1].startswith(MIRROR)] == []
    charts = [node for node in nodes if "chart" in node]
    assert all(node["chart"].startswith(f"oci://{MIRROR}/charts/") and not node.get("repositoryOpts") for node in charts)


def test_the_job_uses_the_mirror(mirrored, rackwright):
    body = rackwright("job", mirrored("llama-70b-onprem"), "--json", *TODAY).json
    source = yaml.safe_load((STACKS / "llama-70b-onprem.yaml").read_text())["workloads"][0]["run"]["image"]
    assert [image for _, image in images(body)] == [f"{MIRROR}/{source.partition('/')[2]}"]


def test_images_names_the_sources_and_their_targets(mirrored, rackwright):
    found = rackwright("images", mirrored("llama-70b-onprem"), "--json", *TODAY).json
    rows = [row for row in found if row["kind"] != "addon"]
    assert [row for row in rows if MIRROR in row["reference"]] == []
    assert all(row["mirror"].removeprefix("oci://").startswith(MIRROR) for row in rows)
    policy = next(row for row in rows if row["used_by"] == "NicClusterPolicy nic-cluster-policy")
    assert policy["reference"].startswith("nvcr.io/nvidia/mellanox/")


@pytest.mark.parametrize("tool", ["skopeo", "crane"])
def test_the_script_copies_every_chart_and_image(tool, mirrored, rackwright):
    path = mirrored("llama-70b-onprem")
    script = rackwright("images", path, "--format", tool, *TODAY).out
    rows = rackwright("images", path, "--json", *TODAY).json
    for row in (row for row in rows if row["kind"] == "image"):
        assert re.sub(r":[^:/@]+@", "@", row["reference"]) in script
        assert (f"not copied: {row['reference']}" in script) is not row["is_complete"]
    kueue = next(line for line in script.splitlines() if "/charts/kueue" in line)
    assert kueue.startswith(f"{tool} copy")
    assert kueue.endswith("charts/kueue:0.19.2")
    assert f"helm push charts/gpu-operator-v26.3.3.tgz oci://{MIRROR}/charts" in script
    assert not re.search(r":[^:/@\s]+@sha256", script), "neither tool accepts a tag together with a digest"
    assert script.rstrip().endswith("exit 1")


def test_a_script_without_a_mirror_is_refused(rackwright):
    result = rackwright("images", STACKS / "llama-70b-sft.yaml", "--format", "crane", *TODAY)
    assert result.status == 2
    assert "error U-mirror" in result.err


@pytest.mark.parametrize("wrong", ["https://mirror.example", "mirror", "Mirror.example/ai", "mirror.example/ai:v1", "mirror.example/a b"])
def test_the_mirror_of_images_has_the_form_of_a_registry(wrong, rackwright):
    result = rackwright("images", STACKS / "llama-70b-sft.yaml", "--mirror", wrong, *TODAY)
    assert (result.status, result.out) == (2, "")
    assert f"--mirror has {wrong!r}, which is no registry" in " ".join(result.err.split())


@pytest.mark.parametrize("wrong", ["https://mirror.example", "mirror", "mirror.example/", "Mirror.example/ai"])
def test_a_registry_is_a_host_with_a_path(wrong, rackwright, tmp_path):
    path = tmp_path / "spec.yaml"
    path.write_text((STACKS / "llama-70b-sft.yaml").read_text() + f"\nregistry: {wrong}\n")
    result = rackwright("plan", path, *TODAY)
    assert result.status == 2
    assert "mirror.example/ai" in " ".join(result.err.split())


def test_a_placeholder_that_is_left_is_named(rackwright, tmp_path):
    (tmp_path / "outputs.json").write_text('{"parts": {"key": {"arn": "arn:key"}}}')
    arguments = ("-o", tmp_path / "out", "--outputs", tmp_path / "outputs.json", "--layout", "kustomize")
    result = rackwright("manifests", STACKS / "llama-70b-sft.yaml", *arguments, *TODAY)
    assert result.status == 0
    assert "has no output lustre.id: ${lustre.id} is left in" in " ".join(result.out.split())
    left = [path for path in (tmp_path / "out").rglob("*.yaml") if "${" in path.read_text()]
    assert left
    assert all(yaml.safe_load(path.read_text())["kind"] == "PersistentVolume" for path in left)
