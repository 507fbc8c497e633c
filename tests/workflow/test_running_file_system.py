"""A running file system: what keeps it, what replaces it with its data, and that every command names which of the two happens."""

import json
from dataclasses import replace
from datetime import date
from pathlib import Path

import pulumi
import pytest
import yaml
from rackwright import preview
from rackwright.cli.main import run
from rackwright.diagnostics.problem import Level, Stage
from rackwright.sizing.node.file_system import LustreSize
from rackwright.workflow.decision import decision_path
from rackwright.workflow.pipeline import Pipeline
from rackwright_pulumi.program.settings import Settings, decide

from tests.sized_once import sized_once  # noqa: F401

ROOT = Path(__file__).parents[2]
STATES = ROOT / "tests" / "states" / "0.1.0" / "stacks"
TODAY = date(2026, 8, 1)
OVER_TCP = LustreSize(36000, "fsx-lustre-persistent2-500", 500)
OVER_EFA = LustreSize(19200, "fsx-lustre-persistent2-1000-efa", 1000, True)
KEPT, REPLACED = "D-file-system", "D-file-system-replaced"


@pytest.fixture
def spec(tmp_path, monkeypatch):
    """The example with a recorded decision, whose file system the default choice of this release would not be."""
    path = tmp_path / "llama-70b-sft.yaml"
    path.write_text((ROOT / "stacks" / path.name).read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    recorded(path, OVER_TCP)
    return path


def recorded(path: Path, size: LustreSize) -> None:
    decision = replace(Pipeline(path, TODAY).decision_of(1), file_system=size)
    decision_path(path).write_text(decision.to_json(), encoding="utf-8")


def with_storage(path: Path, storage) -> None:
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    data["blueprint"]["storage"] = storage
    path.write_text(yaml.safe_dump(data), encoding="utf-8")


def of_file_system(problems):
    return [problem for problem in problems if problem.code in (KEPT, REPLACED)]


def codes(problems):
    return [problem.code for problem in of_file_system(problems)]


REPLACING = [
    ({"lustre": {"efa": True}}, "fsx-lustre-persistent2-500-efa of 38,400 GiB"),
    ({"lustre": {"capacity": "19200 GiB"}}, "fsx-lustre-persistent2-500 of 19,200 GiB"),
    ({"lustre": {"tiering": "intelligent"}}, "fsx-lustre-intelligent-tiering of"),
    ("none", "deletes fsx-lustre-persistent2-500 of 36,000 GiB"),
]


@pytest.mark.parametrize(("storage", "becomes"), REPLACING, ids=["efa", "smaller", "tiering", "none"])
class TestReplaced:
    def test_an_update_stops_before_the_data_are_lost(self, spec, storage, becomes):
        with_storage(spec, storage)
        decided = Pipeline(spec, TODAY).decide()
        (found,) = of_file_system(decided.unsettled)
        assert (found.code, found.level, found.stage) == (REPLACED, Level.ERROR, Stage.BUILD)
        assert becomes in found.reason
        assert "fsx-lustre-persistent2-500 of 36,000 GiB" in found.reason
        assert KEPT not in codes(decided.problems)
        with pytest.raises(pulumi.RunError, match=REPLACED):
            decide(Settings(Path(spec.name), TODAY))

    def test_preview_and_plan_list_it(self, spec, storage, becomes):
        with_storage(spec, storage)
        update = preview(spec, today=TODAY)
        assert codes(update.problems) == codes(update.before_you_build) == [REPLACED]
        assert codes(Pipeline(spec, TODAY).preview().before_you_build) == [REPLACED]

    def test_a_choice_warns_and_accepts_it(self, spec, storage, becomes):
        with_storage(spec, storage)
        made = Pipeline(spec, TODAY).choose()
        (found,) = of_file_system(made.edits)
        assert (found.code, found.level, found.stage) == (REPLACED, Level.WARNING, Stage.PLAN)
        assert becomes in found.reason
        assert codes((*made.problems, *made.unsettled)) == []
        decision_path(spec).write_text(made.decision.to_json(), encoding="utf-8")
        accepted = Pipeline(spec, TODAY).decide()
        assert REPLACED not in codes((*accepted.problems, *accepted.edits))


@pytest.mark.parametrize(
    ("storage", "capacity"), [("lustre", 36000), ({"lustre": {"capacity": "38400 GiB"}}, 38400)], ids=["same", "larger"]
)
def test_what_fsx_changes_in_place_is_kept(spec, storage, capacity):
    with_storage(spec, storage)
    decided = Pipeline(spec, TODAY).decide()
    assert decided.plan.lustre.capacity_gib == capacity
    (found,) = of_file_system(decided.problems)
    assert "fsx-lustre-persistent2-500 of 36,000 GiB, is kept" in found.reason
    assert ("grows to 38,400 GiB" in found.reason) == (capacity == 38400)


def test_the_tier_changes_in_place_over_tcp_only(spec):
    """The provider updates perUnitStorageThroughput, except with EFA (tests/components/aws/test_aws_storage.py)."""
    with_storage(spec, {"lustre": {"throughput": 1000}})
    assert codes(Pipeline(spec, TODAY).decide().problems) == []
    with_storage(spec, "lustre")
    recorded(spec, OVER_EFA)
    with_storage(spec, {"lustre": {"throughput": 500}})
    assert codes(Pipeline(spec, TODAY).decide().unsettled) == [REPLACED]


def test_other_machines_of_the_same_stack_keep_it(spec):
    pipeline = Pipeline(spec, TODAY)
    first = pipeline.recorded.fit.candidate
    fits = enumerate(pipeline.plan.fits, 1)
    rank = next(rank for rank, fit in fits if fit.candidate.machine != first.machine and fit.candidate.region == first.region)
    made = pipeline.choose(rank)
    assert made.decision.fit.candidate.machine != first.machine
    assert (made.decision.file_system.volume, made.decision.file_system.efa) == (OVER_TCP.volume, False)
    assert made.decision.file_system.capacity_gib >= OVER_TCP.capacity_gib
    assert codes(made.edits) == []
    shown = made.decision.plan.machine.file_system
    assert (shown.tier, shown.bytes) == (made.plan.lustre.volume, made.plan.lustre.capacity_gib * 2.0**30)
    assert made.decision.plan.machine.nodes == made.decision.fit.candidate.nodes


def test_machines_without_efa_replace_a_file_system_with_efa(spec):
    recorded(spec, OVER_EFA)
    data = yaml.safe_load(spec.read_text(encoding="utf-8"))
    data["blueprint"]["nodes"] = {"image": "bottlerocket"}
    spec.write_text(yaml.safe_dump(data), encoding="utf-8")
    made = Pipeline(spec, TODAY).choose()
    assert not made.plan.lustre.rdma
    assert codes(made.edits) == [REPLACED]


def test_a_record_of_0_1_0_knows_what_that_release_built_before_the_edit(tmp_path):
    for file in STATES.glob("llama-70b-sft.*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    path = tmp_path / "llama-70b-sft.yaml"
    with_storage(path, {"lustre": {"efa": True}})
    (found,) = of_file_system(Pipeline(path, date(2026, 11, 21)).decide().unsettled)
    assert "fsx-lustre-persistent2-500 of 36,000 GiB becomes fsx-lustre-persistent2-500-efa" in found.reason


def test_plan_bill_and_preview_have_the_recorded_file_system(spec, capsys):
    pipeline = Pipeline(spec, TODAY)
    seen, update = pipeline.preview(), preview(spec, today=TODAY)
    made = pipeline.choose()
    assert seen.stack == made.plan
    assert seen.bill == made.bill
    for plan in (pipeline.plan, seen.plan, made.decision.plan, update.plan):
        shown = plan.machine.file_system
        assert (shown.tier, shown.bytes) == (OVER_TCP.volume, OVER_TCP.capacity_gib * 2.0**30)
    assert codes(seen.problems) == codes(update.problems) == codes(made.problems) == [KEPT]
    assert run(["plan", spec.name, "--json", "--today", TODAY.isoformat()]) == 0
    body = json.loads(capsys.readouterr().out)
    assert body["machine"]["file_system"]["tier"] == OVER_TCP.volume
    assert KEPT in {problem["code"] for problem in body["problems"]}


def test_preview_has_the_recorded_versions(spec):
    old = Pipeline(spec, TODAY).recorded
    name, version = old.pins.charts[0]
    pins = replace(old.pins, charts=((name, f"{version}-recorded"), *old.pins.charts[1:]))
    decision_path(spec).write_text(replace(old, pins=pins).to_json(), encoding="utf-8")
    pipeline = Pipeline(spec, TODAY)
    assert pipeline.preview().stack.pins == pipeline.choose().plan.pins == pins
    assert pipeline.choose(upgrade=True).plan.pins == old.pins


BUCKET = """api_version: rackwright/v1
name: sft
workloads: [{name: t, kind: finetune, model: {base: llama-3.1-70b}, data: {samples: 100000, tokens_per_sample: 2000}}]
infra:
  any_of:
    - cloud: aws
      account: "123456789012"
      regions: [us-east-1]
      capacity: {ordered: [on-demand]}
      pin: {instance: p5.48xlarge, nodes: 4}
blueprint: {kind: training-cluster, api_access: {cidrs: [203.0.113.0/24]}}
"""


def test_a_stack_with_a_bucket_only_gets_no_file_system_after_an_edit(tmp_path):
    path = tmp_path / "sft.yaml"
    path.write_text(BUCKET, encoding="utf-8")
    decision = Pipeline(path, TODAY).decision_of(1)
    assert (decision.file_system, decision.plan.storage.in_bucket) == (None, True)
    decision_path(path).write_text(decision.to_json(), encoding="utf-8")
    assert Pipeline(path, TODAY).decide().plan.lustre is None
    path.write_text(BUCKET.replace("100000", "900000"), encoding="utf-8")
    decided = Pipeline(path, TODAY).decide()
    assert decided.plan.lustre is None
    assert codes(decided.problems) == codes(decided.unsettled) == []
    assert next(b.expected_gib for b in decided.plan.buckets if b.key == "checkpoints") == pytest.approx(4 * 14 * 70.55e9 / 2**30, rel=0.01)
