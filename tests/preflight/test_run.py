"""A run against a fake API server, with the real Kubernetes client: results as JSON and JUnit, labels and taints of nodes."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from rackwright.diagnostics.errors import UserError
from rackwright.workflow.cluster import preflight as workflow
from rackwright.workflow.cluster.connection import RefusedError
from rackwright.workflow.cluster.preflight import PreflightRun, write_results
from rackwright.workflow.cluster.preflight_results import Results, checks_of

from tests import api_server, plans
from tests.preflight.api_server import GOOD, JOBS, NO_NODE, NO_QUOTA, SPACE, FakeCluster, row
from tests.preflight.test_objects import made

pytest.importorskip("kubernetes", reason="the extra `cluster` is not installed")
NAMES = ("gpu-0", "gpu-1", "gpu-2", "gpu-3")
CLUSTER = [row("cluster-busbw-gb-s", True, 412.5, 300.0, *NAMES)]


def cluster(**messages: list | None) -> FakeCluster:
    """Four nodes with good results, except for those given."""
    texts = {name: json.dumps(messages.get(name.replace("-", "_"), GOOD)) for name in NAMES}
    return FakeCluster(messages=texts, log=CLUSTER)


def run(fake: FakeCluster, folder: Path, **clock: Any) -> tuple[Results, list[str]]:
    """clock: `sleep` and `now` of the run."""
    lines: list[str] = []
    clock = {"sleep": lambda _: None} | clock
    with api_server.serving(fake, folder) as kubeconfig:
        found = PreflightRun(made(plans.training_case()), workflow.NodeApi(kubeconfig), lines.append, **clock).run()
    return found, lines


def test_nodes_that_pass_are_labelled_and_nothing_is_left(tmp_path):
    fake = cluster()
    found, lines = run(fake, tmp_path)
    assert found.passed
    assert lines == ["checking 4 nodes", "checking 4 nodes together"]
    assert fake.labels == dict.fromkeys(NAMES, "passed")
    assert {body["spec"]["taints"][0].get("$patch") for _, body in fake.patches} == {"delete"}
    assert SPACE not in fake.objects, "the DaemonSet holds CPUs that a job for whole machines needs"
    assert f"{JOBS}/preflight" not in fake.objects


def test_the_job_is_checked_by_a_dry_run_before_it_is_created(tmp_path):
    fake = cluster()
    run(fake, tmp_path)
    posts = [query for method, path, query, _ in fake.requests if (method, path) == ("POST", JOBS)]
    assert [query.get("dryRun") for query in posts] == ["All", None]
    applied = [query for method, path, query, _ in fake.requests if method == "PATCH" and path.startswith(SPACE)]
    assert applied
    assert all(query["fieldValidation"] == "Strict" for query in applied)


BAD = [
    {"name": "gpu-count", "passed": False, "measured": 7, "limit": 8},
    {"name": "ecc", "passed": False, "measured": 2, "limit": 0, "detail": "GPU 3: 2"},
]


def test_a_bad_node_is_named_tainted_and_left_out_of_the_next_check(tmp_path):
    fake = cluster(gpu_2=BAD)
    fake.log = [row("cluster-busbw-gb-s", True, 410.0, 300.0, "gpu-0", "gpu-1", "gpu-3")]
    found, lines = run(fake, tmp_path)
    assert [check.text for check in found.failures] == [
        "gpu-2: gpu-count is 7, the limit is 8",
        "gpu-2: ecc is 2, the limit is 0 (GPU 3: 2)",
    ]
    assert lines[-1] == "checking 3 nodes together"
    assert fake.labels == {"gpu-0": "passed", "gpu-1": "passed", "gpu-2": "failed", "gpu-3": "passed"}
    taints = [body["spec"]["taints"] for name, body in fake.patches if name == "gpu-2"]
    assert taints[0] == [{"key": "rackwright/preflight", "value": "failed", "effect": "NoSchedule"}]
    job = next(body for method, path, _, body in fake.requests if (method, path) == ("POST", JOBS))
    assert job["spec"]["replicatedJobs"][0]["template"]["spec"]["parallelism"] == 3


def test_a_node_with_a_slow_fabric_fails(tmp_path):
    fake = cluster()
    fake.log = [
        row("pair-busbw-gb-s", False, 96.5, 300.0, "gpu-2", "gpu-3"),
        row("node-fabric", False, "no pair with this node passed", "one pair", "gpu-2"),
        *CLUSTER,
    ]
    run(fake, tmp_path)
    assert fake.labels == {"gpu-0": "passed", "gpu-1": "passed", "gpu-2": "failed", "gpu-3": "passed"}


SHARED = {
    "cluster": [row("cluster-busbw-gb-s", False, 210.0, 300.0, *NAMES)],
    "storage": [*CLUSTER, row("storage-read-gb-s", False, 1.2, 8.0, *NAMES)],
    "no-result": [],
}


@pytest.mark.parametrize("name", SHARED)
def test_a_fault_of_no_single_node_keeps_the_queue_closed(name, tmp_path):
    fake = cluster()
    fake.log = SHARED[name]
    found, _ = run(fake, tmp_path)
    assert not found.passed
    assert fake.labels == dict.fromkeys(NAMES)
    assert {found.result_of(node) for node in NAMES} == {"blocked"}


def test_a_node_without_a_result_fails_with_the_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(workflow, "NODES_WAIT_S", 0)
    fake = cluster()
    fake.messages["gpu-1"] = None
    found, _ = run(fake, tmp_path)
    assert [check.text for check in found.failures] == ["gpu-1: result is not measured, the limit is 0 s (ImagePullBackOff)"]
    assert fake.labels["gpu-1"] == "failed"


@pytest.mark.parametrize("text", ["[" * 200_000, "{}", "[1]", '[{"name": "ecc"}]', '[{"name": "ecc", "passed": true', "null"])
def test_a_result_that_is_cut_fails_its_node(text, tmp_path):
    fake = cluster()
    fake.messages["gpu-1"] = text
    run(fake, tmp_path)
    assert fake.labels == {"gpu-0": "passed", "gpu-1": "failed", "gpu-2": "passed", "gpu-3": "passed"}


def test_a_line_of_the_log_that_is_cut_is_no_result(tmp_path):
    fake = cluster()
    fake.log, fake.log_text = [], 'rackwright-preflight {"name": "cluster-busbw-gb-s", "pas\nrackwright-preflight []\n'
    found, _ = run(fake, tmp_path)
    assert [check.name for check in found.failures] == ["cluster"]


def test_control_characters_of_a_node_are_escaped_in_junit(tmp_path):
    fake = cluster(gpu_2=[BAD[1] | {"detail": "GPU 3\x1b[2J\x00"}])
    found, _ = run(fake, tmp_path)
    case = next(ElementTree.fromstring(found.to_junit()).iter("failure"))
    assert case.get("message") == "gpu-2: ecc is 2, the limit is 0 (GPU 3\\u001b[2J\\u0000)"


@pytest.mark.parametrize(("text", "count"), [("1k", 1000), ("32", 32), ("", 0)])
def test_amounts_of_devices_are_quantities_of_kubernetes(text, count, tmp_path):
    fake = cluster()
    fake.amounts = {"nvidia.com/gpu": "8", "vpc.amazonaws.com/efa": text}
    found, _ = run(fake, tmp_path)
    assert {check.measured for check in found.checks if check.name.endswith("/efa")} == {count}


def test_devices_that_the_plugin_lacks_are_found(tmp_path):
    fake = cluster()
    fake.amounts = {"nvidia.com/gpu": "8", "vpc.amazonaws.com/efa": "31"}
    found, _ = run(fake, tmp_path)
    assert found.failures[0].text == "gpu-0: allocatable vpc.amazonaws.com/efa is 31, the limit is 32"


def test_a_node_with_another_driver_than_most_fails(tmp_path):
    def driver(version: str) -> list[dict]:
        return [{"name": "driver", "passed": True, "measured": version, "limit": "equal on all nodes"}]

    fake = cluster(gpu_0=driver("580.95.05"), gpu_1=driver("580.95.05"), gpu_2=driver("570.1"), gpu_3=driver("580.95.05"))
    found, _ = run(fake, tmp_path)
    assert [check.text for check in found.failures] == [
        "gpu-2: driver-of-most is 570.1, the limit is 580.95.05 (3 of 4 nodes have 580.95.05)"
    ]


NO_TOOL = [{"name": "driver-tool", "passed": False, "measured": None, "limit": "nvidia-smi"}]


def test_a_node_that_was_not_measured_gets_no_taint(tmp_path):
    fake = cluster(gpu_1=NO_TOOL)
    fake.log = [row("cluster-busbw-gb-s", True, 412.5, 300.0, "gpu-0", "gpu-2", "gpu-3")]
    found, _ = run(fake, tmp_path)
    assert [check.text for check in found.failures] == ["gpu-1: driver-tool is not measured, the limit is nvidia-smi"]
    assert fake.labels == {"gpu-0": "passed", "gpu-1": None, "gpu-2": "passed", "gpu-3": "passed"}
    assert {body["spec"]["taints"][0].get("$patch") for _, body in fake.patches} == {"delete"}


def test_the_log_is_read_without_waiting_for_its_end(tmp_path):
    fake = cluster()
    run(fake, tmp_path)
    queries = [query for _, path, query, _ in fake.requests if path.endswith("rank-0/log")]
    assert [query.get("follow") for query in queries] == ["false"]


@pytest.mark.parametrize("method", ["_messages", "_wait_for"])
def test_an_interrupted_run_leaves_nothing(method, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    fake = cluster()
    monkeypatch.setattr(PreflightRun, method, interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(fake, tmp_path)
    assert SPACE not in fake.objects
    assert f"{JOBS}/preflight" not in fake.objects


def test_a_refused_object_leaves_no_namespace(tmp_path, monkeypatch):
    def refused(api, body):
        if body["kind"] == "DaemonSet":
            raise RefusedError(422, "invalid")
        apply(api, body)

    fake, apply = cluster(), workflow.NodeApi.apply
    monkeypatch.setattr(workflow.NodeApi, "apply", refused)
    with pytest.raises(UserError, match="V-215"):
        run(fake, tmp_path)
    assert SPACE not in fake.objects


def test_nodes_keep_the_mark_of_an_earlier_check_until_a_result_says_otherwise(tmp_path):
    fake = cluster(gpu_2=BAD)
    fake.earlier = dict.fromkeys(NAMES, "passed") | {"gpu-3": "failed"}
    run(fake, tmp_path)
    marks = [(name, body["metadata"]["labels"]["rackwright/preflight"]) for name, body in fake.patches]
    assert marks[:2] == [("gpu-2", "failed"), ("gpu-3", None)]
    assert fake.labels == {"gpu-0": "passed", "gpu-1": "passed", "gpu-2": "failed", "gpu-3": "passed"}


@pytest.mark.parametrize(("busy", "reason"), [("queued", NO_QUOTA), ("unplaced", NO_NODE)])
@pytest.mark.parametrize("earlier", ["passed", None])
def test_busy_nodes_keep_their_marks(earlier, busy, reason, tmp_path):
    waited: list[float] = []
    fake = cluster()
    fake.busy = busy
    fake.earlier = dict.fromkeys(NAMES, earlier) if earlier else {}
    found, lines = run(fake, tmp_path, sleep=waited.append, now=lambda: sum(waited))
    text = f"nodes are busy for 10 minutes: {reason}"
    assert [(check.name, check.detail) for check in found.checks if check.skipped] == [("cluster", text)]
    assert lines[-1] == f"skipped the check of 4 nodes together: {text}"
    assert workflow.START_WAIT_S <= sum(waited) < workflow.START_WAIT_S + 60
    assert not found.failures
    assert fake.labels == dict.fromkeys(NAMES, earlier)
    assert found.passed == (earlier == "passed")
    assert f"{JOBS}/preflight" not in fake.objects


def test_a_missing_node_is_reported(tmp_path):
    fake = cluster()
    fake.log = [row("cluster-busbw-gb-s", True, 412.5, 300.0, *NAMES[:3])]
    del fake.messages["gpu-3"]
    found, _ = run(fake, tmp_path)
    assert [check.text for check in found.failures] == ["no node: node-count is 3, the limit is 4"]
    assert fake.labels == dict.fromkeys(NAMES[:3], "passed")


def test_another_cluster_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"V-214 .*no node with the label rackwright/role=accelerator"):
        run(FakeCluster(), tmp_path)


JSON = {
    "version": "preflight/1",
    "stack": "llama-70b-sft",
    "passed": False,
    "nodes": {"gpu-0": "passed", "gpu-1": "failed"},
    "checks": [
        {"name": "gpu-count", "passed": True, "measured": 8, "limit": 8, "nodes": ["gpu-0"]},
        {"name": "nvlink", "passed": True, "measured": "", "limit": "", "nodes": ["gpu-0"], "detail": "none", "skipped": True},
        {"name": "gpu-count", "passed": False, "measured": 7, "limit": 8, "nodes": ["gpu-1"]},
        {"name": "pair-busbw-gb-s", "passed": True, "measured": 402.0, "limit": 300.0, "nodes": ["gpu-0", "gpu-1"]},
    ],
}
JUNIT = """\
<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="preflight of llama-70b-sft">
  <testsuite name="gpu-0" tests="2" failures="0" skipped="1">
    <testcase classname="preflight.gpu-0" name="gpu-count" />
    <testcase classname="preflight.gpu-0" name="nvlink">
      <skipped message="none" />
    </testcase>
  </testsuite>
  <testsuite name="gpu-1" tests="1" failures="1" skipped="0">
    <testcase classname="preflight.gpu-1" name="gpu-count">
      <failure message="gpu-1: gpu-count is 7, the limit is 8" />
    </testcase>
  </testsuite>
  <testsuite name="cluster" tests="1" failures="0" skipped="0">
    <testcase classname="preflight.cluster" name="pair-busbw-gb-s gpu-0 gpu-1" />
  </testsuite>
</testsuites>
"""


def test_results_as_json_and_junit(tmp_path):
    checks = tuple(checks_of(json.dumps(JSON["checks"])))
    results = Results("llama-70b-sft", ("gpu-0", "gpu-1"), checks, frozenset({"gpu-1"}))
    write_results(results, tmp_path / "out")
    written = json.loads((tmp_path / "out" / "results.json").read_text())
    assert written["checks"] == JSON["checks"]
    assert written == JSON
    assert (tmp_path / "out" / "junit.xml").read_text() == JUNIT
