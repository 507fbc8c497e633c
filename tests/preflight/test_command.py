"""The command `rackwright preflight` on files."""

import shutil
from pathlib import Path

import pytest
import yaml
from rackwright.cli.main import run

pytest.importorskip("kubernetes", reason="the extra `cluster` is not installed")
SPEC = Path(__file__).parents[1] / "cases" / "jobs" / "image-without-digest" / "spec.yaml"
TODAY = ["--today", "2026-11-21"]
IMAGE = "registry.example/nccl-tests@sha256:" + "1" * 64


@pytest.fixture
def spec(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(SPEC, "demo.yaml")
    return "demo.yaml"


def test_objects_are_written_as_files_that_kubectl_applies(spec, capsys):
    assert run(["preflight", spec, "-o", "out", "--image", IMAGE, *TODAY]) == 0
    assert "wrote out/1-nodes.yaml\nwrote out/2-cluster.yaml" in capsys.readouterr().out
    kinds = [body["kind"] for name in ("1-nodes", "2-cluster") for body in yaml.safe_load_all(Path(f"out/{name}.yaml").read_text())]
    assert kinds == ["Namespace", "ConfigMap", "DaemonSet", "ConfigMap", "JobSet"]
    assert "  check_node.py: |\n" in Path("out/1-nodes.yaml").read_text(), "scripts can be read"


def test_the_help_shows_no_empty_default(capsys):
    assert run(["preflight", "--help"]) == 0
    assert "()" not in capsys.readouterr().out


def test_an_image_without_a_digest_is_a_warning(spec, capsys):
    assert run(["preflight", spec, "-o", "out", *TODAY]) == 0
    assert "warning V-212" in capsys.readouterr().err


def test_a_check_needs_the_machines_that_were_recorded(spec, capsys):
    assert run(["preflight", spec, "--submit", "--image", IMAGE, *TODAY]) == 2
    assert "error D-missing" in capsys.readouterr().err
    assert run(["preflight", spec, "--submit", "-o", "out", *TODAY]) == 2
    assert "--submit cannot be combined with --output" in capsys.readouterr().err
