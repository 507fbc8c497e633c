"""The package with the real engine: its schema binds, and a remote pod is created and destroyed on the simulated cloud."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from rackwright_pulumi.program.build import declare
from rackwright_pulumi.simulator import SimulatedCloud
from rackwright_pulumi.simulator.engine import Engine, installed
from rackwright_pulumi.testing import record

from tests import plans
from tests.package.toy import ROOT

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.skipif(not installed(), reason="the pulumi CLI is not on PATH")]


@pytest.fixture
def binary(tmp_path) -> Path:
    """Starts the package with the interpreter of the tests; as a source plugin it would install an environment first."""
    path = tmp_path / "package" / "pulumi-resource-rackwright"
    path.parent.mkdir()
    path.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, str(ROOT / "components")])} "$@"\n')
    path.chmod(0o755)
    return path


@pytest.fixture
def engine(tmp_path, monkeypatch, binary) -> Engine:
    monkeypatch.setenv("PLAN", str(tmp_path / "plan.json"))
    (tmp_path / "plan.json").write_text(plans.tpu_plan().to_json())
    made = Engine(Path(__file__).parent / "program", SimulatedCloud(tmp_path / "cloud.sqlite"), tmp_path / "work")
    made.prepare()
    file = made.work / "Pulumi.yaml"
    project = yaml.safe_load(file.read_text())
    project["plugins"]["providers"].append({"name": "rackwright", "path": str(binary.parent)})
    file.write_text(yaml.safe_dump(project))
    return made


def test_the_engine_binds_the_schema(tmp_path, binary):
    environment = SimulatedCloud(tmp_path / "cloud.sqlite").environment(tmp_path)
    call = ["pulumi", "package", "get-schema", str(binary)]
    bound = json.loads(subprocess.run(call, env=environment, capture_output=True, text=True, check=True).stdout)
    committed = json.loads((ROOT / "docs" / "schema" / "components.json").read_text(encoding="utf-8"))
    assert bound["version"] == committed["version"]
    assert {token: kind.get("inputProperties") for token, kind in bound["resources"].items()} == {
        token: kind["inputProperties"] for token, kind in committed["resources"].items()
    }


def test_a_remote_pod_is_created_unchanged_and_destroyed(engine):
    here = record(lambda: declare(plans.tpu_plan(), teardown=True) and None)
    assert engine.up() == {"create": len(here.nodes) + 1}  # and the stack
    assert engine.outputs()["slices"][0]["hosts"] == 4
    engine.up(expect_no_changes=True)
    assert engine.destroy() == {"delete": len(here.nodes) + 1}
