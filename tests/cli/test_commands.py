"""Every command on the four example stacks: as text within 100 columns, as JSON that holds the whole answer."""

import json
from datetime import date
from pathlib import Path

import pytest
from rackwright.diagnostics.problem import Problem

ROOT = Path(__file__).parents[2]
STACKS = ("chat-eks", "chat-serve", "gemma-pretrain", "llama-70b-sft", "mistral-7b-qlora")
TODAY = ("--today", "2026-11-21")
SPEC_COMMANDS = ("validate", "plan", "explain", "compile")


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("command", SPEC_COMMANDS)
def test_text_fits_100_columns_and_has_no_colour(command, stack, rackwright, stacks):
    said = rackwright(command, f"{stack}.yaml", *(TODAY if command != "validate" else ()))
    assert said.status == 0, said.err
    assert said.out.strip()
    assert len(said.widest) <= 100, said.widest
    assert "\033" not in said.out


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("command", SPEC_COMMANDS)
def test_json_is_alone_on_standard_output(command, stack, rackwright, stacks):
    said = rackwright(command, f"{stack}.yaml", "--json", *(TODAY if command != "validate" else ()))
    assert said.status == 0
    assert said.json
    assert not said.err


@pytest.mark.parametrize("stack", STACKS)
def test_plan_shows_the_whole_bill_with_price_dates(stack, rackwright, stacks):
    bill = rackwright("plan", f"{stack}.yaml", "--json", *TODAY).json["bill"]
    shown = rackwright("plan", f"{stack}.yaml", *TODAY).out
    assert f"{bill['total_usd']:,.2f}" in shown
    assert bill["total_usd"] > sum(line["total_usd"] or 0 for line in bill["lines"][:1])
    for line in bill["lines"]:
        assert line["total_usd"] is None or line["price_date"] in shown
    for name in bill["not_published"]:
        assert name in " ".join(shown.split())


def test_the_plan_that_is_printed_can_be_read_back(rackwright, stacks):
    from rackwright import load, size
    from rackwright.sizing.plan import SizingPlan
    from rackwright.wording.plan_text import with_text

    printed = rackwright("plan", "mistral-7b-qlora.yaml", "--json", *TODAY).out
    assert SizingPlan.from_json(printed) == with_text(size(load("mistral-7b-qlora.yaml"), today=date(2026, 11, 21)))


def test_ranks_on_the_screen_are_the_ranks_that_choose_takes(rackwright, stacks):
    """Regions at one price share a line, so the ranks of lines are not consecutive; the number before a region must still be its rank."""
    plan = rackwright("plan", "llama-70b-sft.yaml", "--json", *TODAY).json
    shown = rackwright("plan", "llama-70b-sft.yaml", *TODAY).out
    second = plan["fits"][1]["candidate"]
    assert f"#2 {second['region']}" in shown
    made = rackwright("choose", "llama-70b-sft.yaml", "2", "--json", *TODAY).json
    assert made["plan"]["fits"][0]["candidate"] == second


def test_a_plan_that_finds_nothing_shows_three_near_misses_each_with_its_remedy(rackwright, stacks):
    path = stacks / "llama-70b-sft.yaml"
    path.write_text(path.read_text().replace("max_duration: 12h", "max_duration: 30min"))
    said = rackwright("plan", path.name, *TODAY)
    found = rackwright("plan", path.name, "--json", *TODAY).json
    assert said.status == 1
    assert "No candidate meets every goal" in said.out
    assert not found["feasible"]
    assert len(found["nearest_misses"]) == 3
    assert len({miss["machines"] for miss in found["nearest_misses"]}) == 3
    for miss in found["nearest_misses"]:
        assert miss["machines"] in said.out
        assert miss["remedy"]


def test_the_remedy_of_a_near_miss_makes_it_fit(rackwright, stacks):
    path = stacks / "llama-70b-sft.yaml"
    path.write_text(path.read_text().replace("max_duration: 12h", "max_duration: 4h").replace("9000 USD", "90000 USD"))
    misses = rackwright("plan", path.name, "--json", *TODAY).json["nearest_misses"]
    miss = next(m for m in misses if m["remedy"].startswith("max_duration: ") and len(m["why"]) == 1)
    path.write_text(path.read_text().replace("max_duration: 4h", miss["remedy"]))
    plan = rackwright("plan", path.name, "--json", *TODAY).json
    assert miss["candidate"] in [
        f"{c['nodes']} x {c['machine']} {c['region']} {c['capacity']}" for c in (f["candidate"] for f in plan["fits"])
    ]


def test_warnings_of_the_spec_are_seen_and_do_not_fail(rackwright, stacks):
    path = stacks / "mistral-7b-qlora.yaml"
    text = path.read_text()
    path.write_text(text.replace("regions: [us-east-1, us-west-2]", "regions: [us-east-1]\n      pin: {instance: p4d.24xlarge}"))
    said = rackwright("plan", path.name, *TODAY)
    assert said.status == 0
    assert "warning" in said.err + said.out
    assert [p for p in rackwright("validate", path.name, "--json").json["problems"] if p["level"] == "warning"] or "warning" in said.out


def test_a_broken_rule_is_shown_by_plan_and_stops_whoever_would_build(rackwright, stacks, monkeypatch):
    broken = Problem("V-999", "a cloud would refuse it", fix="do not")
    monkeypatch.setattr("rackwright.validation.stack.check", lambda *_: [broken])
    shown = rackwright("plan", "mistral-7b-qlora.yaml", *TODAY)
    assert shown.status == 2
    assert "V-999: a cloud would refuse it; do not" in shown.out
    assert "rackwright choose" not in shown.out
    for command in ("choose", "compile", "graph"):
        said = rackwright(command, "mistral-7b-qlora.yaml", *TODAY)
        assert (said.status, said.out) == (2, "")
        assert "V-999" in said.err
    assert not list(stacks.glob("*.json"))


def test_explain_names_every_term_of_memory(rackwright, stacks):
    out = rackwright("explain", "mistral-7b-qlora.yaml", *TODAY).out
    for term in ("weights", "gradients", "optimizer state", "activations", "logits and loss", "allocator reserve and safety margin"):
        assert f"\n{term} " in out
    assert "arXiv" in out, "assumptions carry their source"


def test_explain_says_why_not_that_machine(rackwright, stacks):
    said = rackwright("explain", "llama-70b-sft.yaml", "g5.48xlarge", *TODAY)
    assert said.status == 0
    assert "g5.48xlarge" in said.out
    assert "Rejected" in said.out


def test_choose_writes_the_decision_in_one_step(rackwright, stacks):
    said = rackwright("choose", "mistral-7b-qlora.yaml", *TODAY)
    path = stacks / "mistral-7b-qlora.decision.json"
    assert said.status == 0
    assert path.name in said.out
    assert json.loads(path.read_text())["rank"] == 1
    assert path.stat().st_mode & 0o044, "readable as any other file of the repository"
    assert [p.name for p in stacks.iterdir() if p.name.startswith(".")] == []


def test_a_decision_that_cannot_be_replaced_stays_as_it_is(rackwright, stacks):
    path = stacks / "mistral-7b-qlora.decision.json"
    path.mkdir()
    said = rackwright("choose", "mistral-7b-qlora.yaml", *TODAY)
    assert said.status == 2
    assert "F-write" in said.err
    assert list(path.iterdir()) == []


def test_a_decision_that_cannot_be_read_stops_compile_and_choose_renews_it(rackwright, stacks):
    path = stacks / "mistral-7b-qlora.decision.json"
    path.write_text("{")
    assert "D-unreadable" in rackwright("compile", "mistral-7b-qlora.yaml", *TODAY).err
    assert rackwright("choose", "mistral-7b-qlora.yaml", *TODAY).status == 0
    assert rackwright("compile", "mistral-7b-qlora.yaml", *TODAY).status == 0


def test_compile_builds_what_is_recorded_whatever_ranks_first_now(rackwright, stacks):
    first = rackwright("compile", "mistral-7b-qlora.yaml", "--json", *TODAY).json["box"]["machine"]
    plan = rackwright("plan", "mistral-7b-qlora.yaml", "--json", *TODAY).json
    rank = next(rank for rank, fit in enumerate(plan["fits"], 1) if fit["candidate"]["machine"] != first)
    assert rackwright("choose", "mistral-7b-qlora.yaml", str(rank), *TODAY).status == 0
    assert rackwright("compile", "mistral-7b-qlora.yaml", "--json", *TODAY).json["box"]["machine"] != first


def test_plan_and_report_say_when_other_machines_are_recorded(rackwright, stacks):
    spec = "mistral-7b-qlora.yaml"
    rackwright("choose", spec, "1", *TODAY)
    assert "records" not in rackwright("plan", spec, *TODAY).out.partition("next ")[0]
    rackwright("choose", spec, "3", *TODAY)
    third = rackwright("plan", spec, "--json", *TODAY).json["fits"][2]["candidate"]["machine"]
    assert f"warning   mistral-7b-qlora.decision.json records 1 x {third}" in rackwright("plan", spec, *TODAY).out
    rackwright("report", spec, "-o", "report.md", *TODAY)
    assert f"decision.json records 1 x {third}" in Path("report.md").read_text()


def test_choose_is_not_the_next_step_where_nothing_can_be_built(rackwright, stacks):
    spec = Path("mistral-7b-qlora.yaml")
    text = spec.read_text()
    place = text[text.index("    - cloud:") : text.index("blueprint:")]
    spec.write_text(text.replace(place, "    - {cloud: gcp, project: my-project, regions: [us-central1]}\n"))
    said = rackwright("plan", spec, *TODAY).out
    assert "C-no-path" in said
    assert "rackwright choose" not in said


def test_choosing_again_keeps_the_recorded_machines_where_they_still_do(rackwright, stacks):
    path = stacks / "mistral-7b-qlora.yaml"
    chosen = rackwright("choose", path.name, "3", "--json", *TODAY).json["plan"]["fits"][0]["candidate"]
    path.write_text(path.read_text().replace("max_cost: 60 USD", "max_cost: 55 USD"))
    again = rackwright("choose", path.name, "--json", *TODAY).json
    assert again["plan"]["fits"][0]["candidate"] == chosen
    path.write_text(path.read_text().replace(chosen["region"], "us-east-2"))
    moved = rackwright("choose", path.name, "--json", *TODAY).json
    assert moved["rank"] == 1
    assert moved["plan"]["fits"][0]["candidate"]["region"] != chosen["region"]


def test_a_stale_decision_stops_compile_and_names_the_command_that_renews_it(rackwright, stacks):
    path = stacks / "mistral-7b-qlora.yaml"
    rackwright("choose", path.name, *TODAY)
    path.write_text(path.read_text().replace("max_cost: 60 USD", "max_cost: 1 USD"))
    said = rackwright("compile", path.name, *TODAY)
    assert said.status == 2
    assert "D-stale" in said.err
    assert "rackwright choose" in " ".join(said.err.split())


def test_graph_and_diff_of_the_box(rackwright, stacks):
    graph = rackwright("graph", "mistral-7b-qlora.yaml", "--json", *TODAY)
    assert graph.status == 0
    node = next(n for n in graph.json["resources"] if n["type"] == "aws:ec2/instance:Instance")
    assert node.keys() >= {"type", "name", "urn", "parent", "inputs", "dependsOn", "propertyDependencies", "protect"}
    (stacks / "old.json").write_text(graph.out)
    path = stacks / "mistral-7b-qlora.yaml"
    path.write_text(path.read_text().replace("owner: support", "owner: research"))
    changed = rackwright("diff", "old.json", path.name, "--json", *TODAY).json
    assert changed
    assert {change["operation"] for change in changed} == {"update"}, "a tag replaces nothing"
    text = rackwright("diff", "old.json", path.name, *TODAY)
    assert f"{len(changed)} to update" in text.out
    assert len(text.widest) <= 100
    assert len(rackwright("graph", path.name, *TODAY).widest) <= 100


def test_a_renamed_copy_of_a_spec_is_compared_as_the_same_stack(rackwright, stacks):
    (stacks / "next.yaml").write_text((stacks / "mistral-7b-qlora.yaml").read_text())
    assert rackwright("diff", "mistral-7b-qlora.yaml", "next.yaml", *TODAY).out == "no changes\n"


def test_schema_is_the_committed_one(rackwright):
    assert rackwright("schema").out == (ROOT / "docs" / "schema" / "spec.json").read_text(encoding="utf-8")
    assert rackwright("schema", "--json").out == rackwright("schema").out


@pytest.mark.parametrize("what", ["machines", "accelerators", "slices", "models", "prices", "volumes"])
def test_catalog_lists_with_source_and_date(what, rackwright):
    text = rackwright("catalog", what)
    rows = rackwright("catalog", what, "--json").json
    assert text.status == 0
    assert len(text.widest) <= 100
    assert len(text.out.splitlines()) > len(rows)
    assert all(row["source"] and row["as_of"] for row in rows)


def test_catalog_is_searched_by_part_of_a_name(rackwright):
    rows = rackwright("catalog", "machines", "H100", "--json").json
    assert {row["name"] for row in rows} >= {"p5.48xlarge", "a3-megagpu-8g"}
    assert all("H100" in row["accelerator"] for row in rows)


def test_one_of_a_kind_of_the_catalog_means_the_kind(rackwright):
    assert "did you mean `models`?" in rackwright("catalog", "model").err


def test_version(rackwright):
    assert rackwright("--version").out.startswith("rackwright ")


def test_no_interval_is_promised_where_nothing_was_measured(rackwright):
    said = " ".join(rackwright("plan", "stacks/chat-serve.yaml", *TODAY).out.split())
    assert "without a comparable published run; allow a factor 2 either way" in " ".join(said.split())
    assert "ranges are p10 to p90" not in said
    assert "ranges are p10 to p90" in " ".join(rackwright("plan", "stacks/llama-70b-sft.yaml", *TODAY).out.split())
