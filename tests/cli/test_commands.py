"""Commands on the example stacks: text within 100 columns, complete JSON."""

import json
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from rackwright.compile.compile import PATHS
from rackwright.diagnostics.problem import Problem
from rackwright.stackplan import BlueprintKind

ROOT = Path(__file__).parents[2]
STACKS = ("chat-eks", "chat-serve", "gemma-pretrain", "llama-70b-sft", "mistral-7b-qlora")
SEVERAL = "assistant-eks"
"""The example with several workloads."""
TODAY = ("--today", "2026-11-21")
SPEC_COMMANDS = ("validate", "plan", "explain", "compile")


@pytest.mark.parametrize("stack", [*STACKS, SEVERAL])
@pytest.mark.parametrize("command", SPEC_COMMANDS)
def test_text_fits_100_columns_and_has_no_colour(command, stack, rackwright, stacks):
    result = rackwright(command, f"{stack}.yaml", *(TODAY if command != "validate" else ()))
    assert result.status == 0, result.err
    assert result.out.strip()
    assert len(result.widest) <= 100, result.widest
    assert "\033" not in result.out


@pytest.mark.parametrize("stack", [*STACKS, SEVERAL])
@pytest.mark.parametrize("command", SPEC_COMMANDS)
def test_json_output_is_one_document(command, stack, rackwright, stacks):
    result = rackwright(command, f"{stack}.yaml", "--json", *(TODAY if command != "validate" else ()))
    assert result.status == 0
    assert result.json
    assert not result.err


@pytest.mark.parametrize("stack", [*STACKS, SEVERAL])
def test_plan_shows_the_whole_bill_with_price_dates(stack, rackwright, stacks):
    bill = rackwright("plan", f"{stack}.yaml", "--json", *TODAY).json["bill"]
    shown = rackwright("plan", f"{stack}.yaml", "--full", *TODAY).out
    assert f"{bill['total_usd']:,.2f}" in shown
    assert bill["total_usd"] > sum(line["total_usd"] or 0 for line in bill["lines"][:1])
    for line in bill["lines"]:
        assert line["total_usd"] is None or line["price_date"] in shown
    for name in bill["not_published"]:
        assert name in " ".join(shown.split())


def test_printed_plan_can_be_read_back(rackwright, stacks):
    from rackwright import load, size
    from rackwright.sizing.plan import SizingPlan
    from rackwright.wording.plan_text import with_text

    printed = rackwright("plan", "mistral-7b-qlora.yaml", "--json", *TODAY).out
    read, made = SizingPlan.from_json(printed), with_text(size(load("mistral-7b-qlora.yaml"), today=date(2026, 11, 21)))
    shown, searched = ([replace(fit, binding="", why="") for fit in plan.fits] for plan in (read, made))
    assert shown == searched, "the printed limit is that of the whole bill"
    assert replace(read, fits=()) == replace(made, fits=())


def test_printed_ranks_are_the_ranks_of_choose(rackwright, stacks):
    """Regions with equal price share a line, so ranks of lines are not consecutive. The number before a region is its rank."""
    plan = rackwright("plan", "llama-70b-sft.yaml", "--json", *TODAY).json
    shown = rackwright("plan", "llama-70b-sft.yaml", *TODAY).out
    second = plan["fits"][1]["candidate"]
    assert f"#2 {second['region']}" in shown
    made = rackwright("choose", "llama-70b-sft.yaml", "2", "--json", *TODAY).json
    assert made["plan"]["fits"][0]["candidate"] == second


def test_plan_without_a_fit_shows_three_misses_with_remedies(rackwright, stacks):
    path = stacks / "llama-70b-sft.yaml"
    path.write_text(path.read_text().replace("max_duration: 12h", "max_duration: 30min"))
    result = rackwright("plan", path.name, *TODAY)
    found = rackwright("plan", path.name, "--json", *TODAY).json
    assert result.status == 1
    assert "No candidate meets every goal" in result.out
    assert not found["feasible"]
    assert len(found["nearest_misses"]) == 3
    assert len({miss["machines"] for miss in found["nearest_misses"]}) == 3
    for miss in found["nearest_misses"]:
        assert miss["machines"] in result.out
        assert miss["remedy"]


def test_remedy_of_a_miss_makes_it_fit(rackwright, stacks):
    path = stacks / "llama-70b-sft.yaml"
    path.write_text(path.read_text().replace("max_duration: 12h", "max_duration: 4h").replace("9000 USD", "90000 USD"))
    misses = rackwright("plan", path.name, "--json", *TODAY).json["nearest_misses"]
    miss = next(m for m in misses if m["remedy"].startswith("max_duration: ") and len(m["why"]) == 1)
    path.write_text(path.read_text().replace("max_duration: 4h", miss["remedy"]))
    plan = rackwright("plan", path.name, "--json", *TODAY).json
    assert miss["candidate"] in [
        f"{c['nodes']} x {c['machine']} {c['region']} {c['capacity']}" for c in (f["candidate"] for f in plan["fits"])
    ]


def test_warnings_of_a_spec_do_not_fail_the_plan(rackwright, stacks):
    path = stacks / "mistral-7b-qlora.yaml"
    text = path.read_text()
    path.write_text(text.replace("regions: [us-east-1, us-west-2]", "regions: [us-east-1]\n      pin: {instance: p4d.24xlarge}"))
    result = rackwright("plan", path.name, *TODAY)
    assert result.status == 0
    assert "warning" in result.err + result.out
    assert [p for p in rackwright("validate", path.name, "--json").json["problems"] if p["level"] == "warning"] or "warning" in result.out


def test_violated_rule_is_in_the_plan_and_stops_choose_compile_and_graph(rackwright, stacks, monkeypatch):
    broken = Problem("V-999", "a cloud would refuse it", fix="do not")
    monkeypatch.setattr("rackwright.workflow.stack.checked_stack.stack_problems", lambda *_: [broken])
    shown = rackwright("plan", "mistral-7b-qlora.yaml", *TODAY)
    assert shown.status == 2
    assert "V-999: a cloud would refuse it; do not" in shown.out
    assert "rackwright choose" not in shown.out
    for command in ("choose", "compile", "graph"):
        result = rackwright(command, "mistral-7b-qlora.yaml", *TODAY)
        assert (result.status, result.out) == (2, "")
        assert "V-999" in result.err
    assert not list(stacks.glob("*.json"))


def test_explain_lists_memory_terms(rackwright, stacks):
    out = rackwright("explain", "mistral-7b-qlora.yaml", *TODAY).out
    for term in ("weights", "gradients", "optimizer state", "activations", "logits and loss", "allocator reserve and safety margin"):
        assert f"\n{term} " in out
    assert "arXiv" in out, "assumptions carry their source"


@pytest.mark.parametrize("stack", STACKS)
def test_compare_fits_100_columns_and_is_one_document_in_json(stack, rackwright, stacks):
    result = rackwright("compare", f"{stack}.yaml", "1", "2", *TODAY)
    assert result.status == 0, result.err
    assert len(result.widest) <= 100, result.widest
    assert "decided   #1 ranks before #2: " in result.out
    printed = rackwright("compare", f"{stack}.yaml", "1", "2", "--json", *TODAY)
    assert not printed.err
    assert [side["rank"] for side in printed.json["candidates"]] == [1, 2]
    assert " ".join(printed.json["decided"].split()) in " ".join(result.out.split())


def test_compare_without_a_fit_has_status_1(rackwright, stacks):
    path = stacks / "chat-serve.yaml"
    path.write_text(path.read_text().replace("target: 1 s", "target: 1 ms"))
    result = rackwright("compare", path.name, "L4", "H100", *TODAY)
    assert result.status == 1
    assert "fails: time to first token: " in result.out


def test_explain_shows_why_a_machine_is_rejected(rackwright, stacks):
    result = rackwright("explain", "llama-70b-sft.yaml", "g5.48xlarge", *TODAY)
    assert result.status == 0
    assert "g5.48xlarge" in result.out
    assert "Rejected" in result.out


def test_choose_writes_a_readable_decision_atomically(rackwright, stacks):
    result = rackwright("choose", "mistral-7b-qlora.yaml", *TODAY)
    path = stacks / "mistral-7b-qlora.decision.json"
    assert result.status == 0
    assert path.name in result.out
    assert json.loads(path.read_text())["rank"] == 1
    assert path.stat().st_mode & 0o044, "readable as any other file of the repository"
    assert [p.name for p in stacks.iterdir() if p.name.startswith(".")] == []


def test_unwritable_decision_is_an_error(rackwright, stacks):
    path = stacks / "mistral-7b-qlora.decision.json"
    path.mkdir()
    result = rackwright("choose", "mistral-7b-qlora.yaml", *TODAY)
    assert result.status == 2
    assert "F-write" in result.err
    assert list(path.iterdir()) == []


def test_unreadable_decision_stops_compile_and_choose_renews_it(rackwright, stacks):
    path = stacks / "mistral-7b-qlora.decision.json"
    path.write_text("{")
    assert "D-unreadable" in rackwright("compile", "mistral-7b-qlora.yaml", *TODAY).err
    assert rackwright("choose", "mistral-7b-qlora.yaml", *TODAY).status == 0
    assert rackwright("compile", "mistral-7b-qlora.yaml", *TODAY).status == 0


def test_compile_uses_the_recorded_machines(rackwright, stacks):
    first = rackwright("compile", "mistral-7b-qlora.yaml", "--json", *TODAY).json["box"]["machine"]
    plan = rackwright("plan", "mistral-7b-qlora.yaml", "--json", *TODAY).json
    rank = next(rank for rank, fit in enumerate(plan["fits"], 1) if fit["candidate"]["machine"] != first)
    assert rackwright("choose", "mistral-7b-qlora.yaml", str(rank), *TODAY).status == 0
    assert rackwright("compile", "mistral-7b-qlora.yaml", "--json", *TODAY).json["box"]["machine"] != first


def test_plan_and_report_warn_if_other_machines_are_recorded(rackwright, stacks):
    spec = "mistral-7b-qlora.yaml"
    rackwright("choose", spec, "1", *TODAY)
    assert "records" not in rackwright("plan", spec, *TODAY).out.partition("next ")[0]
    rackwright("choose", spec, "3", *TODAY)
    third = rackwright("plan", spec, "--json", *TODAY).json["fits"][2]["candidate"]["machine"]
    assert f"warning   mistral-7b-qlora.decision.json records 1 x {third}" in rackwright("plan", spec, *TODAY).out
    rackwright("report", spec, "-o", "report.md", *TODAY)
    assert f"decision.json records 1 x {third}" in Path("report.md").read_text()


def test_plan_does_not_suggest_choose_if_nothing_can_be_built(rackwright, stacks, monkeypatch):
    monkeypatch.delitem(PATHS, (BlueprintKind.BOX, "gcp"))
    spec = Path("mistral-7b-qlora.yaml")
    text = spec.read_text()
    place = text[text.index("    - cloud:") : text.index("blueprint:")]
    elsewhere = text.replace(place, "    - {cloud: gcp, project: my-project, regions: [us-central1]}\n")
    spec.write_text(elsewhere.replace("{kind: auto", "{kind: box"))
    result = rackwright("plan", spec, *TODAY).out
    assert "C-no-path" in result
    assert "rackwright choose" not in result


def test_choose_keeps_recorded_machines_that_still_fit(rackwright, stacks):
    path = stacks / "mistral-7b-qlora.yaml"
    chosen = rackwright("choose", path.name, "3", "--json", *TODAY).json["plan"]["fits"][0]["candidate"]
    path.write_text(path.read_text().replace("max_cost: 60 USD", "max_cost: 55 USD"))
    again = rackwright("choose", path.name, "--json", *TODAY).json
    assert again["plan"]["fits"][0]["candidate"] == chosen
    path.write_text(path.read_text().replace(chosen["region"], "us-east-2"))
    moved = rackwright("choose", path.name, "--json", *TODAY).json
    assert moved["rank"] == 1
    assert moved["plan"]["fits"][0]["candidate"]["region"] != chosen["region"]


def test_stale_decision_stops_compile_and_names_choose(rackwright, stacks):
    path = stacks / "mistral-7b-qlora.yaml"
    rackwright("choose", path.name, *TODAY)
    path.write_text(path.read_text().replace("[on-demand, spot]", "[spot]"))
    result = rackwright("compile", path.name, *TODAY)
    assert result.status == 2
    assert "D-stale" in result.err
    assert "rackwright choose" in " ".join(result.err.split())


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


def test_diff_of_a_renamed_copy_is_empty(rackwright, stacks):
    (stacks / "next.yaml").write_text((stacks / "mistral-7b-qlora.yaml").read_text())
    assert rackwright("diff", "mistral-7b-qlora.yaml", "next.yaml", *TODAY).out == "no changes\n"


def test_schema_equals_the_committed_file(rackwright):
    assert rackwright("schema").out == (ROOT / "docs" / "schema" / "spec.json").read_text(encoding="utf-8")
    assert rackwright("schema", "--json").out == rackwright("schema").out


@pytest.mark.parametrize("what", ["machines", "accelerators", "slices", "models", "prices", "volumes"])
def test_catalog_rows_have_source_and_date(what, rackwright):
    text = rackwright("catalog", what)
    rows = rackwright("catalog", what, "--json").json
    assert text.status == 0
    assert len(text.widest) <= 100
    assert len(text.out.splitlines()) > len(rows)
    assert all(row["source"] and row["as_of"] for row in rows)


def test_catalog_searches_by_part_of_a_name(rackwright):
    rows = rackwright("catalog", "machines", "H100", "--json").json
    assert {row["name"] for row in rows} >= {"p5.48xlarge", "a3-megagpu-8g"}
    assert all("H100" in row["accelerator"] for row in rows)


def test_unknown_catalog_kind_suggests_the_nearest(rackwright):
    assert "did you mean `models`?" in rackwright("catalog", "model").err


def test_version(rackwright):
    assert rackwright("--version").out.startswith("rackwright ")


def test_prior_only_estimates_show_no_interval(rackwright):
    result = " ".join(rackwright("plan", "stacks/chat-serve.yaml", *TODAY).out.split())
    assert "without a comparable published run; allow a factor 2 either way" in " ".join(result.split())
    assert "ranges are p10 to p90" not in result
    assert "ranges are p10 to p90" in " ".join(rackwright("plan", "stacks/llama-70b-sft.yaml", *TODAY).out.split())
