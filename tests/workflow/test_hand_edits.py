"""A decision file that was edited by hand: every change is found, priced from the catalog, shown, and refused by an update."""

import json
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from rackwright.catalog import Catalog
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Level, Stage
from rackwright.sizing.selection import revalidation
from rackwright.sizing.size import size
from rackwright.spec.reading.quotas_file import without_quotas
from rackwright.workflow import decision
from rackwright.workflow.decision import decision_path, leaves, read_decision
from rackwright.workflow.load import load
from rackwright.workflow.pipeline import Pipeline
from rackwright.workflow.recorded.recorded_choice import recorded_rank, running_stack
from rackwright.workflow.spec_digest import spec_digests
from rackwright.workflow.stack.teardown import decide_for_teardown

ROOT = Path(__file__).parents[2]
TODAY = date(2026, 11, 21)
EARLIER = [*(ROOT / "tests" / "states").glob("*/stacks/*.decision.json"), *(ROOT / "tests" / "cases" / "decisions").glob("*/*.json")]
CANDIDATE = "plan.fits.0.candidate"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("box") / "box.yaml"
    path.write_text((ROOT / "stacks" / "mistral-7b-qlora.yaml").read_text())
    decision_path(path).write_text(Pipeline(path, TODAY).choose(1).decision.to_json())
    return path


@pytest.fixture
def box(recorded, tmp_path) -> Path:
    """A spec with its decision, which a test may edit."""
    for file in (recorded, decision_path(recorded)):
        (tmp_path / file.name).write_text(file.read_text())
    return tmp_path / recorded.name


def with_leaf(content: dict, at: str, value) -> dict:
    """The data with another value at a path; the key is removed where the value is `Ellipsis`. Only what contains it is copied."""
    found = copy(content)
    *parents, last = (int(step) if step.isdigit() else step for step in at.split("."))
    part = found
    for step in parents:
        part[step] = copy(part[step])
        part = part[step]
    if value is ...:
        del part[last]
    else:
        part[last] = value
    return found


def other(value):
    """Another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value * 2 + 1
    return f"{value}x" if isinstance(value, str) else "x"


def answer(call: Callable[[], Any]) -> tuple[Any, set[str]]:
    """The result of a call, and the codes of the problems it raised."""
    try:
        return call(), set()
    except UserError as error:
        return None, {p.code for p in error.problems}


def write(path: Path, content: dict) -> None:
    decision_path(path).write_text(json.dumps(content))


@pytest.mark.parametrize("path", EARLIER, ids=lambda path: f"{path.parent.parent.name}/{path.parent.name}/{path.name}")
def test_files_of_earlier_releases_are_as_written(path):
    decision = read_decision(path)
    assert decision
    assert not decision.by_hand


def test_a_new_file_is_as_written_in_any_layout(box):
    content = json.loads(decision_path(box).read_text())
    for text in (json.dumps(content), json.dumps(content, sort_keys=True, indent=4)):
        decision_path(box).write_text(text)
        decision = read_decision(decision_path(box))
        assert decision
        assert not decision.by_hand


@pytest.mark.parametrize("change", [other, lambda _: ..., lambda _: -3, lambda _: None, lambda _: ""])
def test_a_change_of_any_leaf_is_found(box, change):
    content = json.loads(decision_path(box).read_text())
    for at, value in leaves(content):
        if change(value) == value:
            continue
        write(box, with_leaf(content, at, change(value)))
        decision, codes = answer(lambda: read_decision(decision_path(box)))
        assert codes == {"D-unreadable"} or (decision and decision.by_hand), at


def test_a_teardown_with_a_machine_of_another_release_names_it(box):
    """It ended as an invalid catalog."""
    record = read_decision(decision_path(box))
    fit = replace(record.fit, candidate=replace(record.fit.candidate, machine="g9.large"))
    decision_path(box).write_text(replace(record, plan=replace(record.plan, fits=(fit,))).to_json())
    with pytest.raises(UserError, match=r"names g9\.large, which the catalog of this release lacks"):
        decide_for_teardown(Pipeline(box, TODAY))


BUILT = [
    (f"{CANDIDATE}.price_usd_per_hour", 0.01),
    (f"{CANDIDATE}.price_usd_per_hour", None),
    (f"{CANDIDATE}.price_usd_per_hour", 1e300),
    ("plan.fits.0.usd_per_hour", 0.01),
    (f"{CANDIDATE}.nodes", 2),
    (f"{CANDIDATE}.machine", "p5.48xlarge"),
    (f"{CANDIDATE}.capacity", "spot"),
    (f"{CANDIDATE}.place", 7),
    (f"{CANDIDATE}.zones", ["us-east-1f"]),
    (f"{CANDIDATE}.parallelism.tensor", 0),
    ("plan.storage.capacity_bytes", 1e30),
    ("plan.facts.checkpoint_bytes", 1e30),
    ("pins.images.0.1", "an image of somebody else"),
    ("place.account", "210987654321"),
    ("place.zone", "us-east-1f"),
    ("expires_on", "2036-01-01"),
    ("spec_digest", "0" * 16),
    ("plan_digest", ""),
    ("digest", ""),
    ("digest", ...),
]


@pytest.mark.parametrize(("at", "value"), BUILT, ids=[f"{at}={value}" for at, value in BUILT])
def test_an_edited_file_is_refused_or_has_the_bill_of_the_catalog(box, recorded, at, value):
    whole = Pipeline(recorded, TODAY).decide()
    content = json.loads(decision_path(box).read_text())
    write(box, with_leaf(content, at, value))
    decided, codes = answer(Pipeline(box, TODAY).decide)
    assert codes <= {"D-stale", "D-unreadable"}
    if decided is None:
        return
    assert [p.code for p in decided.unsettled if p.code == "D-by-hand"] == ["D-by-hand"], "an update is refused"
    same = decided.decision.fit.candidate.label == whole.decision.fit.candidate.label
    assert not same or decided.bill.hourly_usd == whole.bill.hourly_usd
    assert not same or (decided.plan.pins, decided.plan.place) == (whole.plan.pins, whole.plan.place)
    shown = [p.reason for p in decided.edits if p.code == "D-difference"]
    assert not same or any(at in reason for reason in shown) == (at not in ("digest", "plan_digest"))


@pytest.fixture
def pipeline_of(box, recorded, monkeypatch) -> Callable[[dict], Pipeline]:
    """A pipeline with an edited decision. The spec is read, and its machines are sized, once: neither depends on the decision."""
    whole, sized = Pipeline(recorded, TODAY), cache(lambda: size(without_quotas(whole.spec), Catalog.default(), today=TODAY))
    monkeypatch.setattr(revalidation, "size", lambda *_, **__: sized())

    def pipeline(content: dict) -> Pipeline:
        write(box, content)
        made = Pipeline(box, TODAY)
        vars(made).update({stage: getattr(whole, stage) for stage in ("content", "reading", "spec", "plan")})
        return made

    return pipeline


def test_every_change_of_a_leaf_is_refused_or_has_the_bill_of_the_catalog(pipeline_of, recorded):
    whole, content = Pipeline(recorded, TODAY).decide(), json.loads(decision_path(recorded).read_text())
    for at, value in leaves(content):
        decided, codes = answer(pipeline_of(with_leaf(content, at, other(value))).decide)
        assert codes <= {"D-stale", "D-unreadable", "D-other"}, at
        assert decided is None or decided.bill.hourly_usd == whole.bill.hourly_usd, at
        assert decided is None or "D-by-hand" in [p.code for p in decided.unsettled], at


def test_a_new_choice_uses_no_leaf_of_an_edited_file(box, recorded):
    """Place, rank and versions are all that a new choice reads of a decision. Where a stack could have another value, the leaf has it."""
    content, whole = json.loads(decision_path(recorded).read_text()), Pipeline(recorded, TODAY)
    valid = {"us-east-1": "us-west-2", "use1-az4": "use1-az6", "on-demand": "spot"}
    for at, value in leaves(content):
        write(box, with_leaf(content, at, valid.get(value, other(value)) if isinstance(value, str) else other(value)))
        record, codes = answer(lambda: read_decision(decision_path(box)))
        assert (running_stack(record, whole.spec).place, recorded_rank(record, whole.plan, whole.spec)) == (None, None), at
        assert codes or (record and not record.has_versions_for(whole.spec, whole.plan.fits[0])), at


def test_an_edited_file_is_not_reported_as_an_edited_spec(box):
    content = json.loads(decision_path(box).read_text())
    write(box, with_leaf(content, f"{CANDIDATE}.price_usd_per_hour", 0.01))
    edited = Pipeline(box, TODAY).decide()
    assert "D-edited" not in [p.code for p in edited.edits]
    told = next(p for p in edited.edits if p.code == "D-difference")
    assert told.level is Level.WARNING
    assert "price_usd_per_hour is 0.01 in box.decision.json; a new choice records 1.8" in told.reason


@pytest.mark.parametrize(
    ("text", "said"),
    [("NaN", "is not a decision"), ("Infinity", "is not a decision"), ("1e999", "is not a decision"), ("-1.5", "negative")],
)
def test_an_invalid_price_is_refused(box, text, said):
    path = decision_path(box)
    price = json.loads(path.read_text())["plan"]["fits"][0]["candidate"]["price_usd_per_hour"]
    path.write_text(path.read_text().replace(f'"price_usd_per_hour": {price}', f'"price_usd_per_hour": {text}'))
    with pytest.raises(UserError, match=said):
        read_decision(path)


@pytest.mark.parametrize(
    ("at", "value", "said"),
    [
        ("nodes", 0, "nodes is 0"),
        ("accelerators_per_node", 0, "accelerators_per_node is 0"),
        ("parallelism.tensor", 0, "tensor is 0"),
        ("parallelism.gradient_accumulation", 0, "gradient_accumulation is 0"),
        ("replicas", 2**31, "replicas is 2147483648, not 0 to 2,147,483,647"),
        ("parallelism.data", 10**6, "needs 1,000,000 accelerators, the machines have 1"),
        ("capacity", "0 %", "capacity is '0 %', not one of on-demand"),
    ],
)
def test_machines_that_cannot_run_a_job_are_refused_with_a_correct_digest_too(box, at, value, said):
    content = with_leaf(json.loads(decision_path(box).read_text()), f"{CANDIDATE}.{at}", value)
    content["plan_digest"] = decision._digest(content["plan"])
    write(box, content | {"digest": decision._digest({key: item for key, item in content.items() if key != "digest"})})
    with pytest.raises(UserError, match=said):
        read_decision(decision_path(box))


def test_choosing_again_settles_it(box):
    content = json.loads(decision_path(box).read_text())
    write(box, with_leaf(content, f"{CANDIDATE}.price_usd_per_hour", 0.01))
    decision_path(box).write_text(Pipeline(box, TODAY).choose().decision.to_json())
    assert "D-by-hand" not in [p.code for p in Pipeline(box, TODAY).decide().unsettled]


@pytest.mark.parametrize("path", sorted((ROOT / "tests" / "states").glob("*/stacks/*.decision.json")), ids=lambda path: path.stem)
def test_decisions_of_earlier_releases_are_neither_edited_nor_stale(path):
    """An upgrade alone does not size again: digests of the file and of the spec are those of the release."""
    decision = read_decision(path)
    assert decision
    assert not decision.by_hand
    assert decision.spec_digest in spec_digests(load(path.with_name(path.name.replace(".decision.json", ".yaml"))))


@pytest.mark.parametrize(
    ("at", "value"), [("place.zone", "use1-az6"), ("place.region", "us-west-2"), ("place.account", "210987654321"), ("digest", "")]
)
def test_an_edited_file_places_nothing_at_the_next_choice(box, recorded, at, value):
    content = json.loads(decision_path(box).read_text())
    assert content["place"]["zone"] not in ("", "use1-az6")
    write(box, with_leaf(content, at, value))
    chosen = Pipeline(box, TODAY).choose()
    assert chosen.plan.place == Pipeline(recorded, TODAY).decide().plan.place
    (told,) = chosen.edits
    assert "box.decision.json was edited by hand: its place, machines (" in told.reason
    assert told.fix == "`rackwright choose box.yaml 1` chooses these machines"


def test_a_plan_says_that_an_edited_file_is_not_built(box):
    write(box, with_leaf(json.loads(decision_path(box).read_text()), f"{CANDIDATE}.machine", "g6.xlarge"))
    (found,) = [problem for problem in Pipeline(box, TODAY).preview().problems if problem.code == "D-by-hand"]
    assert found.stage is Stage.BUILD
    assert found.fix.endswith("box.yaml`, or restore the file")


@pytest.mark.parametrize("change", [{"ssd_tier": 3000}, {"volume": "fsx-lustre-persistent9"}, {"efa": False, "ssd_tier": 1}])
def test_a_file_system_that_the_catalog_does_not_have_is_refused_without_a_traceback(tmp_path, change):
    path = tmp_path / "llama-70b-sft.yaml"
    path.write_text((ROOT / "stacks" / path.name).read_text())
    content = json.loads(Pipeline(path, TODAY).choose().decision.to_json())
    content["file_system"] |= change
    write(path, content)
    assert "D-by-hand" in {problem.code for problem in Pipeline(path, TODAY).preview().problems}
    assert Pipeline(path, TODAY).choose().plan.lustre
