"""Checks one node: accelerators, their errors and links, RDMA ports, local disks, limit of locked memory.

Usage: check_node.py LIMITS [RESULT]. LIMITS: JSON with the expected values. RESULT: file for the results as JSON, beside standard output.
Exits with 0 whatever it finds, so that its pod is not restarted; what cannot be measured is a failed check.
"""

import csv
import json
import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Check = dict[str, Any]
Limits = dict[str, Any]
XID = re.compile(r"NVRM: Xid \(([^)]*)\): (\d+)")
DISK = re.compile(r"nvme\d+n\d+")
ABSENT = ("", "N/A", "[N/A]", "[Not Supported]")
RECORD_BYTES = 8192
"""Longest record of /dev/kmsg (CONSOLE_EXT_LOG_MAX of Linux)."""


def root() -> Path:
    """Folder in place of / for tests."""
    return Path(os.environ.get("PREFLIGHT_ROOT", "/"))


def check(name: str, passed: bool, measured: Any, limit: Any, detail: str = "") -> Check:
    """A result. measured, limit: numbers or text. detail: which device."""
    return {"name": name, "passed": passed, "measured": measured, "limit": limit} | ({"detail": detail} if detail else {})


def skipped(name: str, why: str) -> Check:
    return {"name": name, "passed": True, "skipped": True, "measured": "", "limit": "", "detail": why}


def smi(*arguments: str) -> str:
    return subprocess.run(["nvidia-smi", *arguments], capture_output=True, text=True, check=True, timeout=120).stdout


def gpu_rows(query: str) -> list[dict[str, str]]:
    """A row per GPU, by field of the query."""
    fields = query.split(",")
    text = smi(f"--query-gpu={query}", "--format=csv,noheader,nounits")
    return [dict(zip(fields, (cell.strip() for cell in row), strict=True)) for row in csv.reader(text.splitlines()) if row]


def gpus(limits: Limits) -> Iterator[Check]:
    """Number, product and driver of the GPUs, and their uncorrected errors."""
    ecc = "ecc.errors.uncorrected.volatile.total"
    rows = gpu_rows(f"index,name,driver_version,{ecc}")
    yield check("gpu-count", len(rows) == limits["gpus"], len(rows), limits["gpus"])
    names = sorted({row["name"].replace(" ", "-") for row in rows})
    products = limits["products"]
    known = [name for name in names if any(name.endswith(product) for product in products)]
    yield check("gpu-product", not products or known == names, ", ".join(names), ", ".join(products))
    drivers = sorted({row["driver_version"] for row in rows})
    wanted = limits["driver"]
    yield check("driver", not wanted or drivers == [wanted], ", ".join(drivers), wanted or "equal on all nodes")
    counted = {row["index"]: int(row[ecc]) for row in rows if row[ecc] not in ABSENT}
    if not counted:
        yield skipped("ecc", "the GPUs report no ECC errors")
        return
    high = limits["uncorrected_ecc_errors"]
    bad = [f"GPU {index}: {count}" for index, count in counted.items() if count > high]
    yield check("ecc", not bad, max(counted.values()), high, ", ".join(bad))


def remapped_rows(limits: Limits) -> Iterator[Check]:
    """Memory rows whose replacement waits for a reset of the GPU, or failed."""
    query = "--query-remapped-rows=gpu_bus_id,remapped_rows.pending,remapped_rows.failure"
    try:
        rows = [[cell.strip() for cell in row] for row in csv.reader(smi(query, "--format=csv,noheader,nounits").splitlines()) if row]
    except subprocess.CalledProcessError:
        rows = []
    if not any(cell not in ABSENT for row in rows for cell in row[1:]):
        yield skipped("remapped-rows", "the GPUs remap no rows")
        return
    bad = [row[0] for row in rows if {*row[1:]} - {*ABSENT, "0", "No"}]
    yield check("remapped-rows", not bad, len(bad), 0, ", ".join(bad))


def nvlinks(limits: Limits) -> Iterator[Check]:
    """Active NVLinks of the GPU with the fewest."""
    if not limits["nvlinks"]:
        yield skipped("nvlink", "no number of NVLinks is published for the GPU")
        return
    counts: dict[str, int] = {}
    for line in smi("nvlink", "--status").splitlines():
        if found := re.match(r"GPU (\d+):", line):
            counts[found[1]] = 0
        elif counts and re.match(r"\s+Link \d+: [0-9.]+ GB/s", line):
            counts[[*counts][-1]] += 1
    low = [f"GPU {index}: {count}" for index, count in counts.items() if count < limits["nvlinks"]]
    yield check("nvlink", bool(counts) and not low, min(counts.values(), default=0), limits["nvlinks"], ", ".join(low))


def xids(limits: Limits) -> Iterator[Check]:
    """Xids of the kernel's log since the node was started, without those of applications."""
    try:
        records = list(kernel_log())
    except OSError as error:
        yield check("xid", False, f"the log of the kernel cannot be read: {error.strerror}", "none")
        return
    found = [(int(match[2]), match[1]) for record in records if (match := XID.search(record))]
    bad = list(dict.fromkeys((number, device) for number, device in found if number not in limits["application_xids"]))
    measured = ", ".join(f"Xid {number}" for number in dict.fromkeys(number for number, _ in bad))
    yield check("xid", not bad, measured or "none", "none", ", ".join(dict.fromkeys(device for _, device in bad)))


def kernel_log() -> Iterator[str]:
    """Records of /dev/kmsg, which gives one at a time and never ends (https://www.kernel.org/doc/Documentation/ABI/testing/dev-kmsg)."""
    path = root() / "dev" / "kmsg"
    if path.is_file():
        yield from path.read_text(errors="replace").splitlines()
        return
    device = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        while True:
            try:
                yield os.read(device, RECORD_BYTES).decode(errors="replace")
            except BrokenPipeError:  # the record was overwritten
                continue
            except BlockingIOError:
                return
    finally:
        os.close(device)


def ports(limits: Limits) -> Iterator[Check]:
    """RDMA ports: how many are active, at which rate, and their firmware."""
    if not limits["ports"]:
        yield skipped("rdma-ports", "the plan uses no RDMA ports")
        return
    found = [port for port in all_ports() if is_of_fabric(port, limits)]
    active = [port for port in found if port["state"] == "ACTIVE"]
    states = [f"{port['name']}: {port['state']}" for port in found if port not in active]
    missing = [f"{name}: absent" for name in limits["port_names"] if name not in {port["name"] for port in found}]
    yield check("rdma-ports", len(active) >= limits["ports"], len(active), limits["ports"], ", ".join(states + missing))
    if limits["port_gbps"]:
        slow = [f"{port['name']}: {port['gbps']:g}" for port in active if port["gbps"] < limits["port_gbps"]]
        yield check("rdma-rate-gbps", not slow, min((p["gbps"] for p in active), default=0), limits["port_gbps"], ", ".join(slow))
    versions = sorted({port["firmware"] for port in found} - {""})
    wanted = limits["firmware"]
    yield check("firmware", not wanted or versions == [wanted], ", ".join(versions), wanted or "equal on all nodes")


def all_ports() -> Iterator[dict[str, Any]]:
    """First port of each RDMA device, from sysfs, which `ibstat` reads too."""
    for device in sorted((root() / "sys/class/infiniband").glob("*")):
        port = device / "ports" / "1"
        rate = text_of(port / "rate").partition(" ")[0]
        yield {
            "name": device.name,
            "driver": (device / "device" / "driver").resolve().name,
            "state": text_of(port / "state").partition(": ")[2] or "absent",
            "layer": text_of(port / "link_layer"),
            "gbps": float(rate) if rate else 0.0,
            "firmware": text_of(device / "fw_ver"),
        }


def is_of_fabric(port: dict[str, Any], limits: Limits) -> bool:
    if limits["port_names"]:
        return port["name"] in limits["port_names"]
    return port["driver"] == "efa" if limits["fabric"] == "efa" else port["driver"] != "efa" and port["layer"] == limits["port_layer"]


def text_of(path: Path) -> str:
    return path.read_text(errors="replace").strip() if path.is_file() else ""


def disks(limits: Limits) -> Iterator[Check]:
    """Local NVMe disks; network disks of EC2 are NVMe devices too, with their own model."""
    if not limits["local_disks"]:
        yield skipped("local-disks", "the plan uses no local disks")
        return
    blocks = (path for path in sorted((root() / "sys/block").glob("nvme*")) if DISK.fullmatch(path.name))
    local = [path.name for path in blocks if "Elastic Block Store" not in text_of(path / "device" / "model")]
    yield check("local-disks", len(local) >= limits["local_disks"], len(local), limits["local_disks"])


def locked_memory(limits: Limits) -> Iterator[Check]:
    """RDMA registers memory, which the process locks: at most that of the node."""
    if not limits["locked_bytes"]:
        yield skipped("memlock", "the plan uses no RDMA")
        return
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    unlimited = soft == resource.RLIM_INFINITY
    yield check("memlock", unlimited or soft >= limits["locked_bytes"], "unlimited" if unlimited else soft, limits["locked_bytes"])


CHECKS: dict[str, Callable[[Limits], Iterator[Check]]] = {
    "gpus": gpus,
    "remapped-rows": remapped_rows,
    "nvlinks": nvlinks,
    "xids": xids,
    "ports": ports,
    "disks": disks,
    "memlock": locked_memory,
}
DRIVER_CHECKS = ("gpus", "remapped-rows", "nvlinks")
"""Checks that read nvidia-smi."""


def run(limits: Limits) -> list[Check]:
    """Every check; one that ends with an error is a failed check with its text. Without nvidia-smi the GPUs are not measured."""
    results: list[Check] = []
    has_tool = shutil.which("nvidia-smi") is not None
    if not has_tool:
        results.append(check("driver-tool", False, None, "nvidia-smi", "the container of the check has no nvidia-smi"))
    for name, function in CHECKS.items():
        if name in DRIVER_CHECKS and not has_tool:
            continue
        try:
            results += function(limits)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            results.append(check(name, False, f"cannot be measured: {error}", "measured"))
    return results


def main(arguments: list[str]) -> None:
    limits = json.loads(Path(arguments[0]).read_text())
    text = json.dumps(run(limits), separators=(",", ":"))
    print(text, flush=True)
    if len(arguments) > 1:
        Path(arguments[1]).write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
