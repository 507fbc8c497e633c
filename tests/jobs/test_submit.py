"""Submitting to a fake API server, with the real Kubernetes client."""

import shutil
from pathlib import Path

import pytest
from rackwright.diagnostics.errors import UserError
from rackwright.workflow.cluster.api import ClusterApi
from rackwright.workflow.cluster.submission import follow, submit

from tests import api_server, plans
from tests.api_server import FakeApi
from tests.jobs import cases
from tests.jobs.answers import JOBS, PODS, QUEUE, WORKLOADS, job_set, pods

pytest.importorskip("kubernetes", reason="the extra `cluster` is not installed")

CREATED = {f"POST {JOBS}": [job_set()], QUEUE: [{"metadata": {"name": "default"}}]}


@pytest.fixture
def made():
    return cases.job(plans.training_case())


def submitted(made, fake: FakeApi, folder: Path, **options) -> None:
    with api_server.serving(fake, folder) as kubeconfig:
        submit(made, ClusterApi(kubeconfig), **options)


def test_a_job_is_checked_by_a_dry_run_and_then_created(made, tmp_path):
    fake = FakeApi(dict(CREATED))
    submitted(made, fake, tmp_path)
    (dry, first), (real, second) = fake.created(JOBS)
    assert dry == {"dryRun": "All", "fieldManager": "rackwright", "fieldValidation": "Strict"}
    assert real == {"fieldManager": "rackwright", "fieldValidation": "Strict"}
    assert first == second == made.body


def test_a_dry_run_creates_nothing(made, tmp_path):
    fake = FakeApi(dict(CREATED))
    submitted(made, fake, tmp_path, dry_run=True)
    assert [query.get("dryRun") for query, _ in fake.created(JOBS)] == ["All"]


def refusal(made, answers, folder, code="V-199") -> str:
    fake = FakeApi(answers)
    with pytest.raises(UserError) as caught:
        submitted(made, fake, folder)
    (problem,) = caught.value.problems
    assert problem.code == code
    assert problem.fix
    assert not any("dryRun" not in query for query, _ in fake.created(JOBS)), "nothing was created"
    return problem.advice


def test_another_cluster_is_refused_before_the_first_request_of_a_job(made, tmp_path):
    assert "has no queue default in namespace team-nlp, so it is not the cluster of this stack" in refusal(made, {}, tmp_path)


@pytest.mark.parametrize("status", [401, 403])
def test_forbidden_credentials(made, tmp_path, status):
    answer = (status, {"message": 'localqueues is forbidden: User "jane"'})
    text = refusal(made, {QUEUE: [answer]}, tmp_path, "U-forbidden")
    assert f"answers {status}: localqueues is forbidden" in text
    assert "blueprint.admins" in text


def test_a_job_that_a_webhook_denies_is_no_fault_of_the_credentials(made, tmp_path):
    """Webhooks answer 403 too."""
    answer = (403, {"message": 'admission webhook "vjobset.kb.io" denied the request: parallelism is not set'})
    text = refusal(made, CREATED | {f"POST {JOBS}": [answer]}, tmp_path)
    assert 'refuses job team-nlp/sft: admission webhook "vjobset.kb.io" denied the request: parallelism is not set' in text


@pytest.mark.parametrize("method", ["", "POST "])
def test_a_server_that_fails_is_reported(made, tmp_path, method):
    path = f"POST {JOBS}" if method else QUEUE
    text = refusal(made, CREATED | {path: [(500, {"message": "etcdserver: request timed out"})]}, tmp_path, "U-api")
    assert "answers 500: etcdserver: request timed out" in text


def test_the_servers_own_text_is_shown(made, tmp_path):
    answer = (400, {"message": 'strict decoding error: unknown field "spec.sucessPolicy"'})
    assert 'unknown field "spec.sucessPolicy"' in refusal(made, CREATED | {f"POST {JOBS}": [answer]}, tmp_path)


def test_a_job_of_the_same_name_is_left_alone(made, tmp_path):
    exists = (409, {"message": "exists"})
    answers = CREATED | {f"POST {JOBS}": [exists], f"{JOBS}/sft": [job_set(("Completed", "jobset completed successfully"))]}
    text = refusal(made, answers, tmp_path)
    assert "Job team-nlp/sft exists (completed: jobset completed successfully)" in text
    assert "--name sft-2" in text


def test_a_cluster_without_jobsets(made, tmp_path):
    assert "does not serve JobSets" in refusal(made, {QUEUE: CREATED[QUEUE]}, tmp_path)


def test_an_unreachable_cluster_ends_at_once(made, tmp_path):
    api = ClusterApi(api_server.kubeconfig(tmp_path, "http://127.0.0.1:9"))
    with pytest.raises(UserError, match=r"U-unreachable .*127\.0\.0\.1:9 does not answer"):
        submit(made, api)


@pytest.mark.parametrize("text", [None, "not: [yaml", "apiVersion: v1\nkind: Config\n"])
def test_an_unusable_kubeconfig_is_named(tmp_path, text):
    path = tmp_path / "config"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UserError, match="U-kubeconfig"):
        ClusterApi(path)


def followed(made, answers, folder) -> tuple[list[str], str]:
    """(lines, phase at the end)."""
    lines: list[str] = []
    with api_server.serving(FakeApi(answers), folder) as kubeconfig:
        status = follow(made, ClusterApi(kubeconfig), lines.append, sleep=lambda _: None)
    return lines, status.phase


def test_status_and_log_are_followed_to_the_end(made, tmp_path):
    workload = {
        "metadata": {"ownerReferences": [{"uid": "1"}]},
        "status": {"conditions": [{"type": "QuotaReserved", "status": "False", "message": "insufficient unused quota for nvidia.com/gpu"}]},
    }
    answers = {
        f"{JOBS}/sft": [job_set(suspend=True), job_set(), job_set(("Completed", "jobset completed successfully"))],
        WORKLOADS: [{"items": [workload]}],
        PODS: [pods(), pods("Running"), pods("Running")],
        f"{PODS}/sft-workers-0-0-0/log": ["step 1\nstep 2\nlast line without break"],
    }
    lines, phase = followed(made, answers, tmp_path)
    assert lines == [
        "team-nlp/sft: queued: insufficient unused quota for nvidia.com/gpu",
        "team-nlp/sft: 1 of 4 pods run",
        "step 1",
        "step 2",
        "last line without break",
        "team-nlp/sft: completed: jobset completed successfully",
    ]
    assert phase == "Completed"


def test_a_restart_is_shown_and_the_new_pods_log_is_read(made, tmp_path):
    failed = job_set(("Failed", "jobset failed due to reaching max number of restarts"), restarts=3)
    answers = {
        f"{JOBS}/sft": [job_set(), job_set(restarts=1), failed],
        PODS: [pods("Running"), pods("Running"), pods("Running", first=7), pods("Running", first=7)],
        f"{PODS}/sft-workers-0-0-0/log": ["first"],
        f"{PODS}/sft-workers-0-0-7/log": ["second"],
    }
    lines, phase = followed(made, answers, tmp_path)
    assert [line for line in lines if not line.startswith("team-nlp")] == ["first", "second"]
    assert any("restart 1 of 3" in line for line in lines)
    assert phase == "Failed"


def test_a_deleted_job_ends_the_command(made, tmp_path):
    assert followed(made, {}, tmp_path) == (["team-nlp/sft: deleted"], "Failed")


SPEC = Path(__file__).parents[1] / "cases" / "jobs" / "image-without-digest" / "spec.yaml"


def test_the_command_needs_a_recorded_decision_and_then_submits(tmp_path, monkeypatch, capsys):
    from rackwright.cli.main import run

    monkeypatch.chdir(tmp_path)
    shutil.copy(SPEC, "demo.yaml")
    today = ["--today", "2026-11-21"]
    assert run(["job", "demo.yaml", "--submit", *today]) == 2
    assert "error D-missing" in capsys.readouterr().err
    assert run(["choose", "demo.yaml", *today]) == 0
    done = job_set(("Completed", "done"))
    with api_server.serving(FakeApi(CREATED | {f"{JOBS}/sft": [done]}), tmp_path) as kubeconfig:
        assert run(["job", "demo.yaml", "--submit", "--kubeconfig", str(kubeconfig), *today]) == 0
        assert "team-nlp/sft: completed: done" in capsys.readouterr().out
        assert run(["job", "demo.yaml", "--submit", "--dry-run", "--kubeconfig", str(kubeconfig), *today]) == 0
        assert "nothing was created" in capsys.readouterr().out
