"""The boot script of a Lustre client over EFA, with fake tools and with folders as network interfaces."""

import base64
import email
import json
import os
import shutil
import subprocess
from dataclasses import replace

import pytest
from rackwright_pulumi.aws.pool.lustre_client import lustre_over_efa

from tests.components.aws.test_aws_pool import TEMPLATE, gpu, graph_of

bash = pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
TOOLS = {"dnf": "", "modprobe": "", "lnetctl": "", "ip": "echo default via 10.0.64.1 dev enp71s0 proto dhcp"}
PLACES = ("/sys/class/infiniband", "/etc/eks/nodeadm.d", "/var/lib/cloud")


def booted(folder, script: str, interfaces: int, broken: str = "") -> tuple[list[str], str]:
    """(calls, node label) of a machine with EFA interfaces and one interface without EFA."""
    drivers = {f"rdmap{i:03}": "efa" for i in range(interfaces)} | {"mlx5_0": "mlx5_core"}
    for name, driver in drivers.items():
        (folder / "drivers" / driver).mkdir(parents=True, exist_ok=True)
        (folder / "sys/class/infiniband" / name / "device").mkdir(parents=True)
        (folder / "sys/class/infiniband" / name / "device" / "driver").symlink_to(folder / "drivers" / driver)
    (folder / "etc/eks/nodeadm.d").mkdir(parents=True)
    (folder / "tools").mkdir()
    for name, body in TOOLS.items():
        body = "exit 1" if name == broken else body
        (folder / "tools" / name).write_text(f'#!/bin/bash\necho "{name} $*" >>{folder}/calls\n{body}\n')
        (folder / "tools" / name).chmod(0o755)
    for place in PLACES:
        script = script.replace(place, f"{folder}{place}")
    (folder / "part-001").write_text(script)
    path = f"{folder}/tools:{os.environ['PATH']}"
    subprocess.run(["bash", str(folder / "part-001")], env={"PATH": path}, check=not broken)
    (flag,) = json.loads((folder / "etc/eks/nodeadm.d/lustre.json").read_text())["spec"]["kubelet"]["flags"]
    return (folder / "calls").read_text().splitlines(), flag


@bash
def test_interfaces_are_added_evenly_with_efa_first(tmp_path):
    calls, flag = booted(tmp_path, lustre_over_efa(8), 32)
    added = [call.split()[6] for call in calls if call.startswith("lnetctl net add --net efa")]
    assert added == [f"rdmap{i:03}" for i in range(0, 32, 4)]
    assert "modprobe kefalnd ipif_name=enp71s0" in calls
    assert calls[-2:] == ["lnetctl udsp add --src efa --priority 0", "modprobe lustre"]
    assert flag == "--node-labels=rackwright/lustre=efa"


@bash
def test_the_script_runs_at_every_boot(tmp_path):
    """LNet loses its networks at a reboot, and user data runs once."""
    booted(tmp_path, lustre_over_efa(2), 4)
    again = tmp_path / "var/lib/cloud/scripts/per-boot/lustre-efa.sh"
    (tmp_path / "calls").unlink()
    subprocess.run([again], env={"PATH": f"{tmp_path}/tools:{os.environ['PATH']}"}, check=True)
    assert "lnetctl net add --net efa --if rdmap002 --peer-credits 32" in (tmp_path / "calls").read_text().splitlines()


@bash
@pytest.mark.parametrize("tool", ["dnf", "modprobe", "lnetctl"])
def test_a_node_that_falls_back_to_tcp_is_labelled(tmp_path, tool):
    calls, flag = booted(tmp_path, lustre_over_efa(8), 32, broken=tool)
    assert flag == "--node-labels=rackwright/lustre=tcp"
    assert "modprobe lustre" not in calls


def test_only_pools_with_lustre_over_efa_have_the_script():
    def kinds(want):
        raw = base64.b64decode(graph_of(want).one(TEMPLATE).inputs["userData"]).decode()
        return [part.get_content_type() for part in email.message_from_string(raw).get_payload()]

    assert kinds(gpu()) == ["application/node.eks.aws"]
    assert kinds(replace(gpu(), lustre_interfaces=8)) == ["application/node.eks.aws", "text/x-shellscript"]
