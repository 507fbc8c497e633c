"""The script of all nodes: real processes on loopback addresses, and a program in place of mpirun."""

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rackwright.compile.preflight.scripts import check_cluster

from tests.preflight import mpirun


def limits(folder: Path, count: int, **changes: Any) -> dict[str, Any]:
    """For nodes on 127.0.0.1, 127.0.0.2 and so on, with a shared folder."""
    given: dict[str, Any] = {
        "hosts": [f"127.0.0.{number + 1}" for number in range(count)],
        "gpus": 8,
        "all_reduce": "all_reduce_perf -b 1G",
        "pair_busbw_gb_s": 300.0,
        "cluster_busbw_gb_s": 300.0,
        "timeout_s": 20,
        "shared_folder": str(folder / "shared"),
        "storage_gb_s": 0.0001,
        "storage_bytes_per_node": 1000003,
        "ready_s": 20,
    }
    return given | changes


def results(folder: Path, count: int = 3, rates: dict[str, Any] | None = None, started: int | None = None, **changes: Any) -> list[dict]:
    """Results that rank 0 prints. started: number of nodes that start, default all."""
    (folder / "bin").mkdir()
    program = folder / "bin" / "mpirun"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {mpirun.__file__} "$@"\n')
    program.chmod(0o755)
    shutil.copy(check_cluster.__file__, folder / "check_cluster.py")
    (folder / "limits.json").write_text(json.dumps(limits(folder, count, **changes)))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    common = os.environ | {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "RATES": json.dumps(rates or {})}
    common |= {"MASTER_PORT": str(port), "PREFLIGHT_TOKEN": "uid-1"}
    processes = [_start(folder, common, rank) for rank in reversed(range(count if started is None else started))]
    text, _ = processes[-1].communicate(timeout=60)
    assert [process.wait(timeout=20) for process in processes] == [0] * len(processes), "every process ends"
    return [json.loads(line.removeprefix(check_cluster.MARKER)) for line in text.splitlines() if line.startswith(check_cluster.MARKER)]


def _start(folder: Path, common: dict[str, str], rank: int) -> subprocess.Popen:
    environment = common | {"NODE_RANK": str(rank), "NODE_NAME": f"node-{rank}", "PREFLIGHT_ADDRESS": f"127.0.0.{rank + 1}"}
    command = [sys.executable, str(folder / "check_cluster.py"), str(folder / "limits.json")]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def failures(found: list[dict]) -> list[tuple]:
    return [(row["name"], row["measured"], row["limit"], row["nodes"]) for row in found if not row["passed"]]


def test_healthy_nodes_pass_in_pairs_together_and_on_storage(tmp_path):
    found = results(tmp_path)
    assert failures(found) == []
    names = [row["name"] for row in found]
    assert sorted(names) == sorted(["pair-busbw-gb-s"] * 3 + ["cluster-busbw-gb-s", "storage-write-gb-s", "storage-read-gb-s"])
    assert {tuple(row["nodes"]) for row in found if row["name"].startswith("pair")} == {
        ("node-0", "node-1"),
        ("node-1", "node-2"),
        ("node-2", "node-0"),
    }
    assert next(row for row in found if row["name"].startswith("cluster"))["measured"] == 400.0, "the largest message counts"
    assert not (tmp_path / "shared").exists()


def test_a_slow_node_is_named_and_left_out(tmp_path):
    found = results(tmp_path, 4, rates={"127.0.0.3": 96.5})
    bad = failures(found)
    assert ("node-fabric", "no pair with this node passed", "one pair", ["node-2"]) in bad
    assert [row for row in bad if row[0].startswith("pair")] == [
        ("pair-busbw-gb-s", 96.5, 300.0, ["node-2", "node-3"]),
        ("pair-busbw-gb-s", 96.5, 300.0, ["node-1", "node-2"]),
    ]
    together = next(row for row in found if row["name"].startswith("cluster"))
    assert (together["passed"], together["nodes"]) == (True, ["node-0", "node-1", "node-3"])


ERROR = "NCCL WARN NET/Plugin: no network plugin AWS Libfabric"
WRONG = "12 values of the result are wrong"
DEFECTS = {"no-fabric": (ERROR, ERROR), "wrong-values": ("wrong", WRONG), "hang": ("hang", "no result in 2 s")}


@pytest.mark.parametrize("name", DEFECTS)
def test_two_nodes_without_a_result_both_fail_with_the_reason(name, tmp_path):
    value, why = DEFECTS[name]
    found = results(tmp_path, 2, rates={"127.0.0.2": value}, timeout_s=2, shared_folder="")
    assert [row["detail"] for row in found if row["name"].startswith("pair")] == [why]
    assert [row["nodes"] for row in found if row["name"] == "node-fabric"] == [["node-0"], ["node-1"]]
    assert not any(row["name"].startswith("cluster") for row in found)


def test_slow_storage_is_named_with_its_rate(tmp_path):
    found = failures(results(tmp_path, 2, storage_gb_s=1000.0))
    assert [(name, limit, nodes) for name, _, limit, nodes in found] == [
        ("storage-write-gb-s", 1000.0, ["node-0", "node-1"]),
        ("storage-read-gb-s", 1000.0, ["node-0", "node-1"]),
    ]


def test_storage_that_cannot_be_written_fails_with_the_error(tmp_path):
    (tmp_path / "shared").write_text("a file")
    found = [row for row in results(tmp_path, 2) if row["name"] == "storage-write-gb-s"]
    assert found[0]["measured"] is None
    assert "node-0: " in found[0]["detail"]
    assert "Error" in found[0]["detail"]


def test_a_node_that_does_not_start_is_reported(tmp_path):
    found = results(tmp_path, 3, started=2, ready_s=3)
    assert ("started", "127.0.0.3 does not answer") in [(row["name"], row["measured"]) for row in found]
    assert next(row for row in found if row["name"].startswith("cluster"))["nodes"] == ["node-0", "node-1"]


def test_one_node_reduces_over_its_own_links(tmp_path):
    found = results(tmp_path, 1)
    assert failures(found) == []
    assert next(row for row in found if row["name"].startswith("cluster"))["limit"] is None


def test_a_command_without_the_secret_is_not_run(tmp_path, monkeypatch):
    """Other pods of the namespace reach the port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    common = os.environ | {"MASTER_PORT": str(port), "PREFLIGHT_TOKEN": "uid-1"}
    shutil.copy(check_cluster.__file__, tmp_path / "check_cluster.py")
    (tmp_path / "limits.json").write_text(json.dumps(limits(tmp_path, 2)))
    process = _start(tmp_path, common, 1)
    monkeypatch.setenv("MASTER_PORT", str(port))
    monkeypatch.setenv("PREFLIGHT_TOKEN", "guessed")
    try:
        while check_cluster.remote("127.0.0.2", "true")[1].endswith("Connection refused"):
            pass
        assert check_cluster.remote("127.0.0.2", f"touch {tmp_path / 'made'}")[0] == 255
        assert not (tmp_path / "made").exists()
        monkeypatch.setenv("PREFLIGHT_TOKEN", "uid-1")
        assert check_cluster.remote("127.0.0.2", "echo yes") == (0, "yes\n")
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("count", range(2, 12))
def test_pairs_of_a_round_are_disjoint_and_every_node_is_in_two(count):
    pairs = check_cluster.rounds(count)
    for one in pairs:
        members = [node for pair in one for node in pair]
        assert len(members) == len({*members})
    total = [node for one in pairs for pair in one for node in pair]
    assert {total.count(node) for node in range(count)} == ({1} if count == 2 else {2})
