"""The script of a node against nodes with one defect each: the check is named, with the measured value, the limit and the device."""

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from rackwright.compile.preflight.scripts import check_node

from tests.preflight.nodes import LIMITS, FakeNode, checks, without_smi, without_tool


def failed(found: dict[str, dict]) -> dict[str, tuple]:
    """(measured, limit, detail) of each failed check."""
    return {name: (row["measured"], row["limit"], row.get("detail", "")) for name, row in found.items() if not row["passed"]}


def test_a_healthy_node_passes_every_check(tmp_path):
    found = checks(FakeNode(), tmp_path)
    assert failed(found) == {}
    assert {name for name, row in found.items() if row.get("skipped")} == {"memlock"}
    assert found["driver"]["measured"] == "580.95.05"
    assert found["firmware"]["measured"] == "28.43.2566"


XID = "4,91,5,-;NVRM: Xid (PCI:0000:9b:00): 79, pid=1, GPU has fallen off the bus."
DEFECTS = {
    "missing-gpu": (FakeNode(gpus=7), "gpu-count", (7, 8, "")),
    "other-gpu": (FakeNode(name="NVIDIA H100 PCIe"), "gpu-product", ("NVIDIA-H100-PCIe", "NVIDIA-H100-80GB-HBM3", "")),
    "ecc": (FakeNode(ecc={3: 2}), "ecc", (2, 0, "GPU 3: 2")),
    "remapped-row": (FakeNode(pending=(5,)), "remapped-rows", (1, 0, "00005:9B:00.0")),
    "nvlink": (FakeNode(links={6: 17}), "nvlink", (17, 18, "GPU 6: 17")),
    "xid": (FakeNode(log=(XID, XID)), "xid", ("Xid 79", "none", "PCI:0000:9b:00")),
    "port-down": (FakeNode(port={2: {"state": "1: DOWN"}}), "rdma-ports", (7, 8, "mlx5_2: DOWN")),
    "port-missing": (FakeNode(ports=7), "rdma-ports", (7, 8, "")),
    "port-slow": (FakeNode(port={4: {"rate": "200 Gb/sec (4X HDR)"}}), "rdma-rate-gbps", (200.0, 400, "mlx5_4: 200")),
    "disk": (FakeNode(disks=7), "local-disks", (7, 8, "")),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_is_the_only_failed_check(name, tmp_path):
    node, check, values = DEFECTS[name]
    assert failed(checks(node, tmp_path)) == {check: values}


def test_an_xid_of_an_application_is_no_defect(tmp_path):
    log = ("4,91,5,-;NVRM: Xid (PCI:0000:9b:00): 31, pid=7, name=python, MMU Fault",)
    assert failed(checks(FakeNode(log=log), tmp_path)) == {}


def test_versions_of_the_spec_are_limits(tmp_path):
    found = failed(checks(FakeNode(), tmp_path, driver="590.10", firmware="28.44.1000"))
    assert found == {"driver": ("580.95.05", "590.10", ""), "firmware": ("28.43.2566", "28.44.1000", "")}


def test_ports_that_the_inventory_names_are_required(tmp_path):
    names = [f"mlx5_{number}" for number in (0, 1, 2, 3, 4, 5, 6, 9)]
    assert failed(checks(FakeNode(), tmp_path, port_names=names)) == {"rdma-ports": (7, 8, "mlx5_9: absent")}


def test_a_driver_that_does_not_answer_is_a_failed_check(tmp_path):
    found = without_smi(tmp_path)
    for name in ("gpus", "nvlinks"):
        assert not found[name]["passed"]
        assert "nvidia-smi" in found[name]["measured"]
    assert found["rdma-ports"]["passed"]


def test_a_container_without_the_tool_of_the_driver_measures_no_gpu(tmp_path):
    found = without_tool(tmp_path)
    assert failed(found) == {"driver-tool": (None, "nvidia-smi", "the container of the check has no nvidia-smi")}
    assert not {"gpu-count", "gpus", "nvlink", "nvlinks", "remapped-rows"} & {*found}


def test_a_limit_of_locked_memory_is_found(tmp_path):
    """RDMA registers memory up to that of the node. Nodes of EKS have a limit of 2**50 bytes, which is enough."""
    FakeNode().build(tmp_path)
    (tmp_path / "limits.json").write_text(json.dumps(LIMITS | {"locked_bytes": 2**41}))
    hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)[1]

    def lower() -> None:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, hard))

    command = [sys.executable, check_node.__file__, str(tmp_path / "limits.json")]
    done = subprocess.run(command, preexec_fn=lower, capture_output=True, check=True)
    row = next(row for row in json.loads(done.stdout) if row["name"] == "memlock")
    assert (row["passed"], row["measured"], row["limit"]) == (False, 65536, 2**41)


def test_the_script_imports_the_standard_library_only():
    text = Path(check_node.__file__).read_text()
    assert "rackwright" not in text
    assert len(text.encode()) < 2**20, "a ConfigMap has at most 1 MiB"


def test_results_fit_the_termination_message(tmp_path):
    """Kubernetes keeps 4,096 bytes of it."""
    ones = dict.fromkeys(range(7), 1)
    node = FakeNode(gpus=7, ecc=ones, links=ones, port={n: {"state": "1: DOWN"} for n in range(8)})
    assert len(json.dumps(list(checks(node, tmp_path).values()))) < 4096
