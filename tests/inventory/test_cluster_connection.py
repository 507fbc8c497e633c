"""Commands that use a cluster report the same fault with the same code and text."""

import socket

import pytest
from rackwright.diagnostics.errors import UserError
from rackwright.workflow.cluster.api import ClusterApi, Kind
from rackwright.workflow.cluster.reader import ClusterReader

from tests.api_server import NODES, FakeApi, error, kubeconfig, serving

pytest.importorskip("kubernetes", reason="the extra `cluster` is not installed")
JOBS = Kind("jobset.x-k8s.io", "v1alpha2", "jobsets")
PATHS = (NODES, "/apis/jobset.x-k8s.io/v1alpha2/namespaces/team/jobsets")


def problems(config) -> list[tuple[str, str, str]]:
    """(code, reason without the path of the request, fix) of a list by the inventory and by the job."""
    found = []
    for request in (lambda: ClusterReader(config).nodes(), lambda: ClusterApi(config).find(JOBS, "team")):
        with pytest.raises(UserError) as caught:
            request()
        (problem,) = caught.value.problems
        found.append((problem.code, problem.reason.partition("/api")[0], problem.fix))
    return found


@pytest.mark.parametrize(("status", "code"), [(401, "U-forbidden"), (403, "U-forbidden"), (500, "U-api"), (429, "U-api")])
def test_the_same_answer_is_the_same_error(tmp_path, status, code):
    with serving(FakeApi({path: [error(status, f"User lab cannot list {path}")] for path in PATHS}), tmp_path) as config:
        first, second = problems(config)
    assert first == second
    assert first[0] == code
    assert f"answers {status}" in first[1]


def test_a_server_that_does_not_answer_is_the_same_error_after_one_attempt(tmp_path, caplog):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        config = kubeconfig(tmp_path, f"http://127.0.0.1:{free.getsockname()[1]}")
    first, second = problems(config)
    assert (first[0], first[2]) == (second[0], second[2])
    assert first[0] == "U-unreachable"
    assert "Retrying" not in caplog.text


def test_a_kubeconfig_that_cannot_be_used_is_the_same_error(tmp_path):
    (tmp_path / "config").write_text("clusters: [")
    found = []
    for connect in (ClusterReader, ClusterApi):
        with pytest.raises(UserError) as caught:
            connect(tmp_path / "config")
        found.append(caught.value.problems)
    assert found[0] == found[1]
    assert found[0][0].code == "U-kubeconfig"
