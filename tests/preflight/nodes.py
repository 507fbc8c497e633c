"""A node in a folder: `nvidia-smi` as a program, the log of the kernel, RDMA devices and disks as files."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rackwright.compile.preflight.scripts import check_node

SMI = """#!/bin/sh
case "$*" in
  *--query-gpu=*) cat "$FAKE/gpus" ;;
  *--query-remapped-rows=*) cat "$FAKE/rows" ;;
  *nvlink*) cat "$FAKE/nvlink" ;;
  *) exit 2 ;;
esac
"""
LIMITS: dict[str, Any] = {
    "gpus": 8,
    "products": ["NVIDIA-H100-80GB-HBM3"],
    "nvlinks": 18,
    "driver": "",
    "uncorrected_ecc_errors": 0,
    "application_xids": [13, 31, 43, 45, 68],
    "fabric": "infiniband",
    "ports": 8,
    "port_names": [],
    "port_layer": "InfiniBand",
    "port_gbps": 400,
    "firmware": "",
    "local_disks": 8,
    "locked_bytes": 0,
}


@dataclass(frozen=True)
class FakeNode:
    """A healthy node with 8 H100 and 8 InfiniBand ports, unless changed. ecc: by GPU. links: active NVLinks by GPU."""

    gpus: int = 8
    name: str = "NVIDIA H100 80GB HBM3"
    driver: str = "580.95.05"
    ecc: dict[int, int] = field(default_factory=dict)
    pending: tuple[int, ...] = ()
    links: dict[int, int] = field(default_factory=dict)
    log: tuple[str, ...] = ("6,1,0,-;nvidia: loading out-of-tree module",)
    port: dict[int, dict[str, str]] = field(default_factory=dict)
    ports: int = 8
    disks: int = 8

    def build(self, folder: Path) -> None:
        """Writes the files of the node."""
        program = folder / "bin" / "nvidia-smi"
        _write(program, SMI)
        program.chmod(0o755)
        each = range(self.gpus)
        _write(folder / "gpus", "".join(f"{n}, {self.name}, {self.driver}, {self.ecc.get(n, 0)}\n" for n in each))
        _write(folder / "rows", "".join(f"0000{n}:9B:00.0, {int(n in self.pending)}, 0\n" for n in each))
        _write(folder / "nvlink", "".join(self._links(n) for n in each))
        _write(folder / "dev/kmsg", "\n".join(self.log))
        for number in range(self.ports):
            self._port(folder / f"sys/class/infiniband/mlx5_{number}", self.port.get(number, {}))
        for number in range(self.disks + 1):
            model = "Amazon Elastic Block Store" if number == 0 else "SAMSUNG MZQL23T8HCLS"
            _write(folder / f"sys/block/nvme{number}n1/device/model", model)

    def _links(self, gpu: int) -> str:
        active = self.links.get(gpu, 18)
        rows = [f"\t Link {n}: {'26.562 GB/s' if n < active else '<inactive>'}\n" for n in range(18)]
        return f"GPU {gpu}: {self.name} (UUID: GPU-{gpu})\n{''.join(rows)}"

    def _port(self, folder: Path, changed: dict[str, str]) -> None:
        values = {"state": "4: ACTIVE", "rate": "400 Gb/sec (4X NDR)", "link_layer": "InfiniBand"} | changed
        for name in ("state", "rate", "link_layer"):
            _write(folder / "ports" / "1" / name, values[name])
        _write(folder / "fw_ver", changed.get("firmware", "28.43.2566"))


def checks(node: FakeNode, folder: Path, **limits: Any) -> dict[str, dict[str, Any]]:
    """Check by name, from the script as its container starts it."""
    node.build(folder)
    return _run(folder, limits)


def without_smi(folder: Path) -> dict[str, dict[str, Any]]:
    """Checks of a node whose driver is not loaded."""
    FakeNode().build(folder)
    _write(folder / "bin" / "nvidia-smi", "#!/bin/sh\necho 'NVIDIA-SMI has failed' >&2\nexit 9\n")
    return _run(folder, {})


def without_tool(folder: Path) -> dict[str, dict[str, Any]]:
    """Checks of a healthy node in a container without nvidia-smi."""
    FakeNode().build(folder)
    (folder / "bin" / "nvidia-smi").unlink()
    return _run(folder, {})


def _run(folder: Path, limits: dict[str, Any]) -> dict[str, dict[str, Any]]:
    _write(folder / "limits.json", json.dumps(LIMITS | limits))
    environment = os.environ | {"PREFLIGHT_ROOT": str(folder), "FAKE": str(folder), "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    command = [sys.executable, check_node.__file__, str(folder / "limits.json"), str(folder / "message")]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    return {record["name"]: record for record in json.loads((folder / "message").read_text())}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
