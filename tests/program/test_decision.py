"""The decision beside a spec: its content, edits that it remains valid for, and edits that stop an update."""

import json
import re
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
import yaml
from rackwright.catalog import Catalog
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Level
from rackwright.sizing.evaluation.evaluate import p80
from rackwright.spec import load
from rackwright.workflow.decision import compiled, decision_path, read_decision
from rackwright.workflow.pipeline import Pipeline
from rackwright.workflow.recorded.revalidation import revalidate

ROOT = Path(__file__).parents[2]
TODAY = date(2026, 11, 21)


@pytest.fixture
def box(tmp_path):
    """The QLoRA example with its decision in a temporary folder."""
    path = tmp_path / "box.yaml"
    path.write_text((ROOT / "stacks" / "mistral-7b-qlora.yaml").read_text())
    decision = Pipeline(path, TODAY).decision_of(1)
    decision_path(path).write_text(decision.to_json())
    return path


def edited(path: Path, **changes):
    """The spec with changed values by dotted key: `goals__max_cost="5 USD"`."""
    body = yaml.safe_load(path.read_text())
    for dotted, value in changes.items():
        *parents, last = dotted.split("__")
        place = body
        for key in parents:
            place = place[int(key)] if isinstance(place, list) else place[key]
        place[last] = value
    path.write_text(yaml.safe_dump(body))
    return load(path)


def settled(path: Path, spec, catalog: Catalog | None = None):
    decision = read_decision(decision_path(path))
    assert decision
    return revalidate(decision, spec, catalog or Catalog.default(), decision_path(path), TODAY)


def problems(path: Path, spec, catalog: Catalog | None = None) -> list[str]:
    """Errors only, also of a file that cannot be read."""
    try:
        found = settled(path, spec, catalog)[1]
    except UserError as refused:
        found = refused.problems
    return [str(p) for p in found if p.level is Level.ERROR]


def test_a_decision_file_round_trips(box):
    decision = read_decision(decision_path(box))
    assert decision
    assert decision.to_json() == decision_path(box).read_text()
    assert decision.expires_on == "2026-11-28", "ttl: 7d, as a date"
    assert decision.fit.candidate.price_as_of, "the price used has its date"


def test_a_new_price_list_changes_nothing(box):
    """U4: an upgrade of rackwright must not replace running machines."""
    dear = replace(Catalog.default(), prices=tuple(replace(p, usd_per_hour=p.usd_per_hour * 50) for p in Catalog.default().prices))
    assert problems(box, load(box), dear) == []
    assert problems(box, edited(box, goals__max_duration="23h"), dear) == [], "sized again, at the recorded price"


def test_an_expired_stack_is_reported_after_every_edit(box):
    decision = read_decision(decision_path(box))
    assert decision
    for spec in (load(box), edited(box, goals__max_duration="23h")):
        early, late = (revalidate(decision, spec, Catalog.default(), decision_path(box), date(2026, 11, day))[1] for day in (27, 28))
        assert "D-ended" not in [problem.code for problem in early]
        told = next(problem for problem in late if problem.code == "D-ended")
        assert (str(told.level), "2026-11-28" in told.reason, "rackwright:teardown" in told.fix) == ("warning", True, True)


def test_tags_team_and_image_do_not_invalidate_it(box):
    image = "registry.example/x@sha256:" + "0" * 64
    spec = edited(box, tags={"owner": "somebody-else"}, workloads__0__team="other", workloads__0__run={"image": image})
    assert problems(box, spec) == []


def test_the_decision_remains_valid_for_an_edit_that_its_machines_satisfy(box):
    assert problems(box, edited(box, goals__max_duration="20h")) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"goals__max_duration": "2h"}, "deadline"),
        ({"infra__any_of__0__regions": ["eu-west-1"]}, "no longer selects"),
        ({"infra__any_of__0__capacity": {"ordered": ["spot"]}}, "no longer selects"),
        ({"workloads__0__adapter": {"type": "none"}, "workloads__0__model": {"base": "llama-3.1-70b"}}, "accelerator memory"),
    ],
)
def test_an_edit_that_the_machines_do_not_satisfy_is_refused_with_the_command(box, changes, said):
    found = problems(box, edited(box, **changes))
    assert any(said in text for text in found), found
    assert all("rackwright choose" in text and "box.yaml" in text for text in found)


def test_an_edit_that_no_machines_satisfy_is_refused_with_the_value_that_they_need(box):
    found = problems(box, edited(box, goals__max_cost="2 USD"))
    assert len(found) == 1
    assert "no longer satisfies the spec, and no other machines do: budget: needs " in found[0]
    assert re.search(r"max_cost: [6-9] USD", found[0])


def test_the_whole_bill_of_recorded_machines_is_compared_with_an_edited_budget(box):
    decision = read_decision(decision_path(box))
    assert decision
    machines = p80(decision.fit.cost_usd)
    (found,) = problems(box, edited(box, goals__max_cost=f"{machines + 0.01:.2f} USD"))
    assert "the whole bill of the run" in found


def decided(tmp_path: Path, stack: str) -> Path:
    path = tmp_path / f"{stack}.yaml"
    path.write_text((ROOT / "stacks" / path.name).read_text())
    decision_path(path).write_text(Pipeline(path, TODAY).decision_of(1).to_json())
    return path


def test_an_edited_workload_is_deployed_on_the_recorded_machines(tmp_path):
    """Machines are recorded without the values of the workload: an edited model must be served."""
    path = decided(tmp_path, "chat-serve")
    old = read_decision(decision_path(path))
    spec = edited(path, workloads__0__model={"base": "qwen2.5-7b"}, workloads__0__max_replicas=12)
    now, found = settled(path, spec)
    assert old
    assert [p.code for p in found] == ["D-edited"]
    assert (now.fit.candidate.machine, now.fit.candidate.region) == (old.fit.candidate.machine, old.fit.candidate.region)
    assert now.plan.facts.model == "qwen2.5-7b"
    assert compiled(now, spec, TODAY, catalog=Catalog.default()).pool("gpu").nodes_max * now.fit.candidate.accelerators_per_node == 12


def test_more_traffic_keeps_a_fleet_that_can_grow(tmp_path):
    path = decided(tmp_path, "chat-serve")
    assert problems(path, edited(path, workloads__0__requests_per_second=14)) == []


def test_shared_storage_never_shrinks(tmp_path):
    path = decided(tmp_path, "llama-70b-sft")
    old = read_decision(decision_path(path))
    now, _ = settled(path, edited(path, workloads__0__data__size="1 GB", workloads__0__checkpoint={"interval": "6h"}))
    assert old
    assert now.plan.storage.capacity_bytes >= old.plan.storage.capacity_bytes
    assert now.plan.storage.throughput_bytes_per_s >= old.plan.storage.throughput_bytes_per_s


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"account": "210987654321"}, "account 123456789012"),
        ({"zones": ["us-east-1b"]}, "Moving from zone use1-az1"),
    ],
)
def test_another_account_or_zone_stops_an_update(box, change, said):
    spec = edited(box, **{f"infra__any_of__0__{key}": value for key, value in change.items()})
    assert [said in text for text in problems(box, spec)] == [True]


def test_choosing_again_keeps_the_recorded_zones(box):
    """Recorded zone names can be any zone; other zones replace the network and the data disk."""
    old = read_decision(decision_path(box))
    letters = replace(old.place, zone="us-east-1c", zone_assumed=True)
    decision_path(box).write_text(replace(old, place=letters).to_json(), encoding="utf-8")
    again = Pipeline(box, TODAY).choose()
    assert (again.decision.place, again.plan.box.zone) == (letters, "us-east-1c")
    assert Pipeline(box, TODAY).decide().plan.place == letters


def test_a_new_place_before_the_recorded_one_changes_nothing(box):
    body = yaml.safe_load(box.read_text())
    other = {"cloud": "aws", "account": "210987654321", "regions": ["eu-west-1"], "capacity": {"ordered": ["on-demand"]}}
    body["infra"]["any_of"].insert(0, other)
    box.write_text(yaml.safe_dump(body))
    spec = load(box)
    now, found = settled(box, spec)
    assert [p.code for p in found] == ["D-edited"]
    assert compiled(now, spec, TODAY, catalog=Catalog.default()).place.account == "123456789012"


def test_a_decision_of_another_stack_is_refused(box):
    """A copied file or a renamed stack would create every resource a second time."""
    assert ["was recorded for mistral-7b-qlora, not other" in text for text in problems(box, edited(box, name="other"))] == [True]


@pytest.mark.parametrize(
    "change", [{"machine": "p5.48xlarge", "nodes": 400}, {"machine": "no-such-machine"}, {"region": "mars-1"}, {"capacity": "luck"}]
)
def test_machines_written_in_by_hand_are_sized_before_they_are_built(box, change):
    body = json.loads(decision_path(box).read_text())
    body["plan"]["fits"][0]["candidate"] |= change
    decision_path(box).write_text(json.dumps(body))
    assert problems(box, load(box))


def test_recorded_versions_beat_those_of_this_release(box):
    decision = read_decision(decision_path(box))
    assert decision
    old = replace(decision, pins=replace(decision.pins, images=(("box", "Deep Learning AMI of last year"),)))
    assert compiled(old, load(box), TODAY, catalog=Catalog.default()).box.image == "Deep Learning AMI of last year"


def test_the_plan_has_the_recorded_chart_and_kubernetes_versions():
    pipeline = Pipeline(ROOT / "stacks" / "llama-70b-sft.yaml", TODAY)
    spec, decision = pipeline.spec, pipeline.decision_of(1)
    pins = replace(decision.pins, kubernetes="1.34", charts=(("kueue", "0.18.0"),), addons=(("dns", "v1.0.0-eksbuild.1"),))
    plan = compiled(replace(decision, pins=pins), spec, TODAY, catalog=Catalog.default())
    assert plan.cluster.version == "1.34"
    assert {r.name: r.version for r in plan.releases}["kueue"] == "0.18.0"
    assert {a.name: a.version for a in plan.addons}["dns"] == "v1.0.0-eksbuild.1"
    assert {r.name: r.version for r in plan.releases}["jobset"].startswith("0.12.0@sha256:"), (
        "what the decision does not name keeps its own"
    )


def test_an_add_on_that_was_recorded_without_a_version_keeps_the_one_that_eks_selected():
    pipeline = Pipeline(ROOT / "stacks" / "llama-70b-sft.yaml", TODAY)
    decision = pipeline.decision_of(1)
    recorded = tuple(pin for pin in decision.pins.addons if pin[0] != "lustre")
    plan = compiled(replace(decision, pins=replace(decision.pins, addons=recorded)), pipeline.spec, TODAY, catalog=pipeline.catalog)
    assert {addon.name: addon.version for addon in plan.addons}["lustre"] == ""
    assert "lustre" not in dict(plan.pins.addons)
    assert {addon.name: addon.version for addon in compiled(decision, pipeline.spec, TODAY, catalog=pipeline.catalog).addons}["lustre"]


def test_the_expiry_date_is_recorded(box):
    decision = read_decision(decision_path(box))
    assert decision
    assert compiled(decision, load(box), date(2027, 3, 1), catalog=Catalog.default()).expires_on == "2026-11-28"


@pytest.mark.parametrize("rank", [0, -1, 100_000])
def test_an_unknown_rank_is_refused(box, rank):
    with pytest.raises(UserError, match="does not exist"):
        Pipeline(box, TODAY).choose(rank)


@pytest.mark.parametrize("text", ["", "{}", "[]", "not json", '{"version": "decision/1"}', "\x00"])
def test_a_broken_decision_is_reported_with_file_and_fix(tmp_path, text):
    path = tmp_path / "x.decision.json"
    path.write_text(text)
    with pytest.raises(UserError, match="rackwright choose") as said:
        read_decision(path)
    assert said.value.source == str(path)
    assert "validation error" not in str(said.value), "what is wrong, not how many things"


def test_a_decision_of_a_newer_release_is_refused(box):
    path = decision_path(box)
    body = json.loads(path.read_text()) | {"version": "decision/9"}
    path.write_text(json.dumps(body))
    with pytest.raises(UserError, match="decision/9"):
        read_decision(path)


def test_a_cluster_of_an_earlier_release_keeps_the_access_entry_of_its_creator(tmp_path):
    """EKS refuses an explicit entry beside the one that it made, so choosing again must not add one."""
    path = decided(tmp_path, "chat-eks")
    file = decision_path(path)
    new = Pipeline(path, TODAY).decide().plan.cluster
    assert new
    assert new.creator_access == "entry"
    earlier = json.loads(file.read_text())
    del earlier["creator_is_admin"]
    file.write_text(json.dumps(earlier))
    decision = read_decision(file)
    assert decision
    assert decision.creator_is_admin
    for stack in (compiled(decision, load(path), TODAY, catalog=Catalog.default()), Pipeline(path, TODAY).choose().plan):
        assert stack.cluster
        assert stack.cluster.creator_access == "eks"
    assert Pipeline(path, TODAY).choose().decision.creator_is_admin
