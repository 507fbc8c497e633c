"""`rackwright doctor` after a killed update: the listed resources are imported, and the next update succeeds."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from rackwright_pulumi.doctor import diagnose, simulated_inventory
from rackwright_pulumi.graph_file import StackExport
from rackwright_pulumi.stack_export import graph_of_export

from tests import plans
from tests.engine.aws_stacks import Stack
from tests.testing import previews

pytestmark = pytest.mark.slow
LIMIT_S = 120
ATTRIBUTES = ("", ".attrs")
"""Suffixes of the files of a state in a local backend: the state, and its attributes, which are written first."""


def killed(stack: Stack, cloud, resources: int) -> None:
    """Start an update, and kill the engine when the cloud has this many resources."""
    command = ["pulumi", "up", "--stack", stack.name, "--yes", "--skip-preview", "--non-interactive"]
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, cwd=stack.engine.work, env=cloud.environment(stack.engine.work), start_new_session=True, **streams)
    deadline = time.monotonic() + LIMIT_S
    while len(cloud.resources()) < resources and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for state in (stack.engine.work / "backend").rglob(f"stacks/*/{stack.name}.json"):
        if any(not Path(f"{state}{suffix}").read_bytes().rstrip().endswith(b"}") for suffix in ATTRIBUTES):
            for suffix in ATTRIBUTES:  # killed while it wrote: Pulumi keeps the state before that
                shutil.copy(f"{state}.bak{suffix}", f"{state}{suffix}")


@pytest.mark.parametrize("resources", [12, 40])
def test_lost_resources_are_imported_and_the_update_finishes(resources, cloud, tmp_path):
    stack = Stack(plans.training_plan(), cloud, tmp_path)
    cloud.latency_s = 0.2
    killed(stack, cloud, resources)
    cloud.latency_s = 0.0
    stack.engine.run("cancel", stack.name, "--yes")
    stack.engine.run("refresh", "--stack", stack.name, "--yes", "--skip-preview", "--clear-pending-creates")
    export = StackExport.model_validate_json(stack.engine.run("stack", "export", "--stack", stack.name))
    known = {each.id for each in export.deployment.resources}
    lost = {record.id for record in cloud.resources() if record.id not in known}
    found = diagnose(previews.graph(stack.plan), graph_of_export(export), simulated_inventory(cloud.path), stack.plan.name)
    assert {each.id for each in found.lost} == lost
    assert found.undeclared == ()
    file = tmp_path / "imports.json"
    file.write_text(json.dumps(found.import_file()))
    if lost:
        options = ("--yes", "--skip-preview", "--protect=false", "--generate-code=false")
        stack.engine.run("import", "--stack", stack.name, "--file", str(file), *options)
    stack.engine.up()
    stack.engine.up(expect_no_changes=True)
    stack.teardown()
    assert cloud.is_empty()
