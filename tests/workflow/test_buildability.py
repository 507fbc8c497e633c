"""Fits that this release can build rank first; the others have a reason."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from rackwright import compile_plan, load, read, size
from rackwright.catalog import Catalog
from rackwright.cli.main import run
from rackwright.compile.compile import PATHS
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem, Stage
from rackwright.report.alternatives import frontier_rows
from rackwright.report.document.contents import contents
from rackwright.report.plan_json import plan_json
from rackwright.report.terminal.plan import order_text
from rackwright.sizing.size import size as sized_by_goals
from rackwright.stackplan import BlueprintKind
from rackwright.wording.plan_text import with_text
from rackwright.wording.rationale import rationale
from rackwright.workflow.pipeline import Pipeline
from rackwright.workflow.stack import buildability

TODAY = date(2026, 11, 21)
CASES = Path(__file__).parents[1] / "cases"
TWO_CLOUDS = """\
api_version: rackwright/v1
name: mix
workloads:
  - name: sft
    kind: finetune
    model: {base: llama-3.1-8b}
    adapter: {type: lora, rank: 16, targets: all-linear}
    data: {samples: 20000, tokens_per_sample: 1000, epochs: 1, size: 1 GB}
    sequence_length: 2048
    global_batch_size: 32
infra:
  any_of:
    - {cloud: gcp, project: my-project, regions: [us-central1], capacity: {ordered: [spot, on-demand]}}
    - {cloud: aws, account: "123456789012", regions: [us-east-1], capacity: {ordered: [on-demand]}}
blueprint: {ttl: 3d, kind: box}
"""
"""A box on Google Cloud is cheapest. In a release that does not build it, one on AWS ranks first."""


@pytest.fixture(autouse=True)
def _no_box_on_google(monkeypatch):
    monkeypatch.delitem(PATHS, (BlueprintKind.BOX, "gcp"))


def test_buildable_candidates_rank_first_in_their_order():
    spec = read(TWO_CLOUDS)
    plain, plan = with_text(sized_by_goals(spec, today=TODAY)), size(spec, today=TODAY)
    assert all(fit.not_buildable is None for fit in plain.fits)
    assert plain.fits[0].candidate.cloud == "gcp"
    has_image = {machine.name for machine in Catalog.default().machines if not machine.no_box_image}  # a V100 has none
    built = [fit for fit in plain.fits if fit.candidate.cloud == "aws" and (fit.candidate.nodes > 1 or fit.candidate.machine in has_image)]
    assert any(fit.candidate.machine == "p3dn.24xlarge" for fit in plan.fits[len(built) :])
    assert list(plan.fits[: len(built)]) == built
    assert compile_plan(spec, plan, plan.fits[0], today=TODAY).place.cloud == "aws"


def test_a_row_that_cannot_be_built_has_a_reason(tmp_path, monkeypatch, capsys):
    (tmp_path / "mix.yaml").write_text(TWO_CLOUDS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    pipeline = Pipeline(tmp_path / "mix.yaml", TODAY)
    preview = pipeline.preview()
    assert preview.refusal(1) == ""
    rank = next(rank for rank, fit in enumerate(pipeline.plan.fits, 1) if fit.candidate.cloud == "gcp")
    assert preview.refusal(rank) == "not buildable in this release: This release does not support a box on gcp"
    assert run(["plan", "mix.yaml", "--top", "400", "--today", str(TODAY)]) == 0
    assert "not buildable in this release: This release does not support a box on gcp" in " ".join(capsys.readouterr().out.split())
    with pytest.raises(UserError, match="C-no-path"):
        pipeline.choose(rank)


def test_frontier_points_that_cannot_be_built_have_a_reason_in_json_table_and_card():
    spec = read(TWO_CLOUDS)
    plan = size(spec, today=TODAY)
    preview = Pipeline.of_spec(spec, TODAY, plan=plan).preview()
    points = plan_json(plan, preview)["frontier"]
    by_rank = {point["rank"]: point["not_buildable"] for point in points}
    assert by_rank == {rank: preview.refusal(rank) or None for rank in by_rank}
    refused = [rank for rank, reason in by_rank.items() if reason]
    assert refused
    rows = {row[0]: row[-1] for row in frontier_rows(plan, spec.goals, None, preview)}
    assert all("not buildable in this release: " in rows[f"#{rank}"] for rank in refused)
    first = replace(plan, fits=(plan.fits[refused[0] - 1], *plan.fits))
    no_path = Problem("C-no-path", "no path", stage=Stage.BUILD)
    (chosen, *_) = contents(spec, first, replace(preview, refusals=((no_path,), *preview.refusals)), TODAY)["cards"]
    assert ("Build", "not buildable in this release: no path") in chosen["lines"]


def test_candidates_that_cannot_be_built_are_marked_wherever_they_are_named(tmp_path, monkeypatch, capsys):
    """`why`, `explain`, JSON and `order` named a box on Google Cloud as if it could be chosen."""
    (tmp_path / "mix.yaml").write_text(TWO_CLOUDS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    pipeline = Pipeline(tmp_path / "mix.yaml", TODAY)
    plan, preview = pipeline.plan, pipeline.preview()
    reasons = [fit.not_buildable or "" for fit in plan.fits]
    assert reasons == [preview.refusal(rank) for rank in range(1, len(plan.fits) + 1)]
    assert reasons == sorted(reasons, key=bool)
    assert all(fit.why.endswith(fit.not_buildable) for fit in plan.fits if fit.not_buildable)
    rank = next(rank for rank, fit in enumerate(plan.fits, 1) if fit.candidate.cloud == "gcp")
    for command in (["explain", "mix.yaml", str(rank)], ["compare", "mix.yaml", "1", str(rank)]):
        assert run([*command, "--today", str(TODAY)]) == 0
        assert "This release does not support a box on gcp" in " ".join(capsys.readouterr().out.split()), command
    smaller = plan.fits[rank - 1]
    only = replace(plan, fits=(plan.fits[0], smaller), rejected=(), near_tie=smaller)
    assert rationale(only).count("(not buildable in this release)") >= 1
    assert order_text(only, pipeline.spec) == ""


def test_no_near_tie_is_a_stack_that_cannot_be_built():
    plan = size(read(TWO_CLOUDS.replace("blueprint:", "goals: {optimize_for: time}\nblueprint:")), today=TODAY)
    assert plan.near_tie is None or not plan.near_tie.not_buildable


def test_choose_records_no_candidate_that_cannot_be_built(tmp_path, monkeypatch, capsys):
    (tmp_path / "mix.yaml").write_text(TWO_CLOUDS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    rank = next(i for i, fit in enumerate(Pipeline(tmp_path / "mix.yaml", TODAY).plan.fits, 1) if fit.not_buildable)
    assert run(["choose", "mix.yaml", str(rank), "--today", str(TODAY)]) == 2
    assert "This release does not support a box on gcp" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "mix.decision.json").exists()
    (tmp_path / "gcp.yaml").write_text(TWO_CLOUDS[: TWO_CLOUDS.index("    - {cloud: aws")] + "blueprint: {kind: box}\n", encoding="utf-8")
    assert run(["choose", "gcp.yaml", "--today", str(TODAY)]) == 2
    assert "This release does not support a box on gcp" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "gcp.decision.json").exists()


def test_only_the_first_fit_is_compiled_if_it_can_be_built(monkeypatch):
    compiled = []
    monkeypatch.setattr(buildability, "compile_plan", lambda *_, **__: compiled.append(1))
    size(read(TWO_CLOUDS), today=TODAY)
    assert len(compiled) == 1


def test_failures_of_compilation_are_found_with_one_compilation_per_combination(monkeypatch):
    tried = []

    def refuse_g6e(spec, plan, fit, **_):
        tried.append((fit.candidate.machine, fit.candidate.capacity, fit.candidate.nodes == 1))
        if fit.candidate.machine.startswith("g6e"):
            raise UserError([Problem("C-image", "no image starts it")])

    monkeypatch.setattr(buildability, "compile_plan", refuse_g6e)
    plan = size(read(TWO_CLOUDS), today=TODAY)
    assert not plan.fits[0].candidate.machine.startswith("g6e")
    assert len(tried) == len(set(tried))


def test_the_public_size_fills_in_the_sentences_of_a_plan_once():
    plan = size(load(CASES / "sizing" / "pinned" / "spec.yaml"), today=TODAY)
    assert plan.scaling
    assert all(fit.why for fit in plan.fits)
    assert with_text(plan) is plan
    assert with_text(replace(plan)) == plan
