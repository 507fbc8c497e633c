"""Mistakes that depend on the kind of stack: `validate` reports them where every candidate has them, otherwise they belong to the
candidate."""

from datetime import date
from pathlib import Path

import pytest
from rackwright import compile_plan, load
from rackwright.cli.main import run
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Stage
from rackwright.workflow.pipeline import Pipeline

from tests import plans

ROOT = Path(__file__).parents[2]
TODAY = date(2026, 11, 21)
TOO_SMALL = "10.0.0.0/26 is too small for the subnets of a training-cluster, which need a /23"


def cluster_in(cidr: str, folder: Path, kind: str = "auto", capacity: str = "") -> Path:
    text = (ROOT / "stacks" / "llama-70b-sft.yaml").read_text(encoding="utf-8").replace("  kind: auto\n", f"  kind: {kind}\n")
    text = text.replace("    - cloud: aws\n", f"    - cloud: aws\n      network: {{cidr: {cidr}}}\n")
    path = folder / "cluster.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_range_too_small_for_the_kind_in_the_spec_is_refused_before_sizing(tmp_path):
    with pytest.raises(UserError, match=f"C-cidr.*{TOO_SMALL}"):
        load(cluster_in("10.0.0.0/26", tmp_path, "training-cluster"))


def test_a_range_too_small_for_every_candidate_is_an_error_of_the_plan(tmp_path, monkeypatch, capsys):
    path = cluster_in("10.0.0.0/26", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert load(path), "a box would fit"
    for command in ("plan", "choose", "compile"):
        assert run([command, path.name, "--today", str(TODAY)]) == 2, command
        shown = capsys.readouterr()
        assert TOO_SMALL in " ".join((shown.out + shown.err).split()), command
        assert "not buildable in this release" not in shown.out
    preview = Pipeline(path, TODAY).preview()
    assert [(problem.code, problem.mark is not None) for problem in preview.errors] == [("C-cidr", True)]
    assert preview.before_you_build == ()
    assert preview.refusal(1) == f"not buildable with this spec: {TOO_SMALL}"


def test_a_box_ranks_before_clusters_that_the_range_is_too_small_for(tmp_path):
    path = tmp_path / "lora.yaml"
    text = (ROOT / "stacks" / "mistral-7b-qlora.yaml").read_text(encoding="utf-8")
    path.write_text(text.replace("    - cloud: aws\n", "    - cloud: aws\n      network: {cidr: 10.0.0.0/26}\n"), encoding="utf-8")
    assert "network: {cidr" in path.read_text(encoding="utf-8")
    pipeline = Pipeline(path, TODAY)
    preview = pipeline.preview()
    assert preview.errors == ()
    assert preview.stack
    assert preview.stack.network.cidr == "10.0.0.0/26"
    clusters = [rank for rank, fit in enumerate(pipeline.plan.fits, 1) if fit.candidate.nodes > 1]
    assert {preview.refusal(rank) for rank in clusters} <= {f"not buildable with this spec: {TOO_SMALL}"}


@pytest.mark.parametrize(
    ("case", "code"),
    [
        (plans.training_case(blueprint={"ssh_from": ["203.0.113.0/24"]}), "C-ssh"),
        (plans.training_case(blueprint={"kind": "box"}), "C-nodes"),
        (plans.training_case(machine="g5g.16xlarge", blueprint={"nodes": {"devices": "dra"}}), "C-devices"),
    ],
)
def test_options_that_only_a_candidate_lacks_are_mistakes_of_the_spec(case, code):
    with pytest.raises(UserError) as refused:
        compile_plan(*case, today=TODAY)
    assert [(problem.code, problem.stage) for problem in refused.value.problems] == [(code, Stage.PLAN)]


def test_a_limit_of_this_release_stops_building_and_not_planning():
    with pytest.raises(UserError) as refused:
        compile_plan(*plans.tpu_case(machine="g2-standard-12"), today=TODAY)
    assert [(problem.code, problem.stage) for problem in refused.value.problems] == [("C-machine", Stage.BUILD)]
