"""Checks the fabric and the shared storage of all nodes together, with one process per node.

Usage: check_cluster.py LIMITS, on every node, and `check_cluster.py agent HOST COMMAND...`, which mpirun starts in place of ssh.
NODE_RANK 0 leads: it starts nccl-tests with mpirun for pairs of nodes and for all, and measures writing and reading of the shared folder.
Other nodes run the commands that it sends, until it has finished. Prints one line per result, with MARKER before its JSON. A failed
check is a result; the exit status is 0.
"""

import concurrent.futures
import hmac
import json
import os
import re
import shlex
import shutil
import socket
import socketserver
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

MARKER = "rackwright-preflight "
READY_S = 900
"""Seconds for the containers of all nodes to start."""
BLOCK = 8 * 1024**2
BUSBW = 7
"""Column of the bus bandwidth out of place in the table of nccl-tests (NVIDIA/nccl-tests src/common.cu)."""
WRONG = 8
"""Column of the number of wrong values."""

Limits = dict[str, Any]


def token() -> str:
    """Secret of this run: the UID of its JobSet, which only pods of the JobSet and readers of the API know."""
    return os.environ["PREFLIGHT_TOKEN"]


def port() -> int:
    """Port of the processes, which training uses later for its rendezvous."""
    return int(os.environ["MASTER_PORT"])


def report(name: str, passed: bool, measured: Any, limit: Any, nodes: list[str], detail: str = "") -> dict[str, Any]:
    """Prints a result. measured, limit: in the unit at the end of the name, or text."""
    result = {"name": name, "passed": passed, "measured": measured, "limit": limit, "nodes": nodes, "detail": detail}
    print(MARKER + json.dumps(result, separators=(",", ":")), flush=True)
    return result


class CommandHandler(socketserver.StreamRequestHandler):
    """Runs one command and answers with its status and output."""

    def handle(self) -> None:
        request = json.loads(self.rfile.readline())
        if not hmac.compare_digest(request.get("token", ""), token()):
            return
        if "command" not in request:
            threading.Thread(target=self.server.shutdown).start()
            return
        done = subprocess.run(["sh", "-c", request["command"]], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.wfile.write(json.dumps({"status": done.returncode, "output": done.stdout.decode(errors="replace")}).encode())


class CommandServer(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


def serve() -> None:
    """Runs the commands of rank 0 until it has finished."""
    with CommandServer((os.environ.get("PREFLIGHT_ADDRESS", ""), port()), CommandHandler) as server:
        server.serve_forever(poll_interval=0.2)


def ask(host: str, request: dict[str, Any]) -> bytes:
    with socket.create_connection((host, port()), timeout=10) as connection:
        connection.settimeout(None)
        connection.sendall(json.dumps(request | {"token": token()}).encode() + b"\n")
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
        return b"".join(parts)


def remote(host: str, command: str) -> tuple[int, str]:
    """(exit status, output) of a shell command on a node."""
    try:
        answer = json.loads(ask(host, {"command": command}))
    except (OSError, ValueError) as error:
        return 255, f"{host} does not answer: {error}"
    return answer["status"], answer["output"]


def agent(arguments: list[str]) -> int:
    """Runs the command of mpirun on a host, as `ssh HOST COMMAND` does."""
    status, output = remote(arguments[0], " ".join(arguments[1:]))
    sys.stdout.write(output)
    return status


def wait_for(hosts: list[str], seconds: float) -> list[str]:
    """Hosts that do not answer in this time."""
    ends, waiting = time.monotonic() + seconds, list(hosts)
    while waiting and time.monotonic() < ends:
        waiting = [host for host in waiting if remote(host, "true")[0]]
        if waiting:
            time.sleep(1)
    return waiting


def rounds(count: int) -> list[list[tuple[int, int]]]:
    """Disjoint pairs of neighbours in a ring, so that every node is in two pairs; one pair for two nodes."""
    if count < 2:
        return []
    even = [(first, first + 1) for first in range(0, count - 1, 2)]
    odd = [(first, first + 1) for first in range(1, count - 1, 2)]
    if count == 2:
        return [even]
    last = (count - 1, 0)
    return [even, [*odd, last]] if count % 2 == 0 else [even, odd, [last]]


def busbw(hosts: list[str], limits: Limits) -> tuple[float | None, str]:
    """(GB/s of the largest message, why it failed) of an all-reduce over all GPUs of these hosts."""
    count, interface = limits["gpus"], os.environ.get("NCCL_SOCKET_IFNAME", "")
    launch = f"{sys.executable} {Path(__file__).resolve()} agent"
    agents = {"OMPI_MCA_plm_rsh_agent": launch, "PRTE_MCA_plm_ssh_agent": launch, "OMPI_MCA_plm_rsh_no_tree_spawn": "1"}
    agents |= {"PRTE_MCA_plm_ssh_no_tree_spawn": "1", "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,tcp"}
    if interface and not interface.startswith(("^", "=")):
        agents |= {"OMPI_MCA_btl_tcp_if_include": interface, "OMPI_MCA_oob_tcp_if_include": interface}
    command = ["mpirun", "--allow-run-as-root", "-np", str(count * len(hosts)), "--map-by", f"ppr:{count}:node", "--bind-to", "none"]
    command += ["-H", ",".join(f"{host}:{count}" for host in hosts), *shlex.split(limits["all_reduce"])]
    try:
        done = subprocess.run(command, env=os.environ | agents, capture_output=True, text=True, timeout=limits["timeout_s"])
    except subprocess.TimeoutExpired:
        return None, f"no result in {limits['timeout_s']} s"
    except OSError as error:
        return None, f"mpirun cannot be started: {error.strerror}"
    if done.returncode:
        return None, (done.stderr or done.stdout).strip()[-400:] or f"exit status {done.returncode}"
    return parsed(done.stdout)


def parsed(text: str) -> tuple[float | None, str]:
    """(GB/s, why there is none) from the table of nccl-tests."""
    rows = [line.split() for line in text.splitlines() if re.match(r"\s+\d+\s+\d+\s", line)]
    if not rows:
        return None, "nccl-tests printed no result"
    last = max(rows, key=lambda row: int(row[0]))
    if last[WRONG] not in ("0", "N/A"):
        return None, f"{last[WRONG]} values of the result are wrong"
    return float(last[BUSBW]), ""


def reduced(name: str, hosts: list[str], names: dict[str, str], limit: float | None, limits: Limits) -> dict[str, Any]:
    """Measures and reports an all-reduce. Without a limit it only has to end."""
    rate, why = busbw(hosts, limits)
    passed = rate is not None and (limit is None or rate >= limit)
    return report(name, passed, rate, limit, [names[host] for host in hosts], why)


def check_fabric(hosts: list[str], names: dict[str, str], limits: Limits) -> list[str]:
    """Checks pairs, then all hosts of which a pair passed; returns these hosts."""
    failed: list[set[str]] = []
    tested: dict[str, int] = dict.fromkeys(hosts, 0)
    with concurrent.futures.ThreadPoolExecutor(max(1, len(hosts) // 2)) as pool:
        for pairs in rounds(len(hosts)):
            chosen = [[hosts[first], hosts[second]] for first, second in pairs]
            found = pool.map(lambda pair: reduced("pair-busbw-gb-s", pair, names, limits["pair_busbw_gb_s"], limits), chosen)
            for pair, result in zip(chosen, found, strict=True):
                failed += [] if result["passed"] else [{*pair}]
                for host in pair:
                    tested[host] += 1
    bad = [host for host, count in tested.items() if count and sum(host in pair for pair in failed) == count]
    for host in bad:
        report("node-fabric", False, "no pair with this node passed", "one pair", [names[host]])
    good = [host for host in hosts if host not in bad]
    if good:
        reduced("cluster-busbw-gb-s", good, names, limits["cluster_busbw_gb_s"] if len(good) > 1 else None, limits)
    return good


def check_storage(hosts: list[str], names: dict[str, str], limits: Limits) -> None:
    """Every host writes a file to the shared folder, then reads that of the next host, which it has not cached."""
    folder = limits["shared_folder"]
    if not folder or not hosts:
        return
    commands = {
        "write": [f"storage write {folder}/{number}" for number in range(len(hosts))],
        "read": [f"storage read {folder}/{(number + 1) % len(hosts)}" for number in range(len(hosts))],
    }
    total = limits["storage_bytes_per_node"] * len(hosts)
    try:
        for action, parts in commands.items():
            started = time.monotonic()
            with concurrent.futures.ThreadPoolExecutor(len(hosts)) as pool:
                program = f"{shlex.quote(sys.executable)} {shlex.quote(str(Path(__file__).resolve()))}"
                lines = [f"{program} {part} {limits['storage_bytes_per_node']}" for part in parts]
                answers = list(pool.map(remote, hosts, lines))
            rate = total / (time.monotonic() - started) / 1e9
            errors = [f"{names[host]}: {output.strip()[-200:]}" for host, (status, output) in zip(hosts, answers, strict=True) if status]
            need = limits["storage_gb_s"]
            passed = not errors and rate >= need
            measured = None if errors else float(f"{rate:.3g}")
            report(f"storage-{action}-gb-s", passed, measured, need, [names[host] for host in hosts], "; ".join(errors))
            if errors:
                return
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def storage(action: str, path: Path, size: int) -> None:
    """Writes or reads a file of this size."""
    if action == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        block = os.urandom(BLOCK)
        with path.open("wb") as file:
            for start in range(0, size, BLOCK):
                file.write(block[: size - start])
            file.flush()
            os.fsync(file.fileno())
    else:
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            while file.read(BLOCK):
                pass


def lead(limits: Limits) -> None:
    """Runs every check on the hosts that answer, and ends the processes of the others."""
    hosts = limits["hosts"]
    threading.Thread(target=serve, daemon=True).start()
    absent = wait_for(hosts, limits.get("ready_s", READY_S))
    for host in absent:
        report("started", False, f"{host} does not answer", f"{READY_S} s", [])
    ready = [host for host in hosts if host not in absent]
    names = {host: remote(host, "printenv NODE_NAME")[1].strip() or host for host in ready}
    try:
        check_storage(check_fabric(ready, names, limits), names, limits)
    finally:
        for host in ready[1:]:
            ask(host, {})


def main(arguments: list[str]) -> int:
    if arguments[0] == "agent":
        return agent(arguments[1:])
    if arguments[0] == "storage":
        storage(arguments[1], Path(arguments[2]), int(arguments[3]))
        return 0
    limits = json.loads(Path(arguments[0]).read_text())
    if int(os.environ["NODE_RANK"]):
        serve()
    else:
        lead(limits)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
