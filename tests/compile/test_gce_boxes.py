"""A box on every machine of Google Cloud, in every capacity mode: a plan that satisfies all rules, or the reason of the rejection."""

import subprocess

import pytest
from rackwright.catalog import Catalog
from rackwright.catalog.rows import CapacityMode
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Level
from rackwright.validation.stack import check

from tests.gce_plans import GCE, gce_box_plan

MACHINES = {m.name: m for m in Catalog.default().machines if m.cloud == "gcp" and m.kind in ("gpu", "cpu")}
MODES = ("on-demand", "spot", "reservation", "flex-start")
RESERVED = {"capacity": {"ordered": [{"reservation": {"id": "team"}}]}}
REFUSED = {"a4x-highgpu-4g", "a4x-maxgpu-4g-metal", "a5x"}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", MACHINES)
def test_every_machine_in_every_mode_compiles_or_is_rejected(name, mode):
    machine = MACHINES[name]
    case = (name, mode, RESERVED if mode == "reservation" else None)
    if name in REFUSED:
        with pytest.raises(UserError, match=r"C-machine") as refused:
            gce_box_plan(*case)
        assert all(problem.reason and problem.fix for problem in refused.value.problems)
        return
    plan = gce_box_plan(*case)
    is_sold = mode in machine.capacity_modes or (mode == "reservation" and CapacityMode.ON_DEMAND in machine.capacity_modes)
    broken = {p.code for p in check(plan) if p.level is Level.ERROR} - {"V-30"}  # the zone of the test
    assert broken == (set() if is_sold else {"R-90"})
    box = plan.box
    assert (box.root.kind, box.data.kind) == (machine.boot_disk, machine.boot_disk)
    assert box.image.startswith("projects/ubuntu-os-")


@pytest.mark.parametrize(
    ("name", "kinds"),
    [("a3-highgpu-8g", ""), ("a3-megagpu-8g", ""), ("a3-ultragpu-8g", "ip fabric"), ("a4-highgpu-8g", "ip fabric"), ("g2-standard-4", "")],
)
def test_only_rdma_machines_have_further_interfaces(name, kinds):
    """TCPX and TCPXO carry traffic between machines; the RDMA profile gives A3 Ultra and A4 two gVNICs and eight RDMA interfaces."""
    nics = gce_box_plan(name, "spot").box.nics
    assert [nic.kind for nic in nics] == (["ip"] * 2 + ["fabric"] * 8 if kinds else [])


def test_bundled_local_ssds_are_used_and_none_are_added():
    assert {name: gce_box_plan(name, "spot").box.local_nvme for name in ("a2-ultragpu-1g", "a3-highgpu-1g", "g2-standard-8")} == {
        "a2-ultragpu-1g": True,
        "a3-highgpu-1g": True,
        "g2-standard-8": False,
    }
    assert not any(gce_box_plan(name, "spot").box.local_ssd_count for name in ("a2-highgpu-1g", "a3-highgpu-8g", "g2-standard-8"))


def test_setup_script_is_valid_bash():
    script = GCE["gce-box"]().box.setup_script
    ended = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
