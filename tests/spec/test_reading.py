"""The reader beside its printed text: versions, acknowledgement, secrets, positions."""

import json
from dataclasses import asdict

import pytest
from rackwright.catalog.models import library
from rackwright.catalog.models.hf_config import read_hf_config
from rackwright.cli.terminal import failure
from rackwright.clouds import profiles
from rackwright.clouds.residency import stays_in
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import At, Level, Mark, Problem
from rackwright.diagnostics.render import render
from rackwright.spec import examine, load, read
from rackwright.spec.model import architecture_of
from rackwright.spec.reading.migrate import MigrationStep, migrate, version_problem
from rackwright.spec.reading.model_fields import did_you_mean, homes, nearest
from rackwright.spec.spec import API_VERSION
from rackwright.spec.workload_parts import Model

FINE = """\
api_version: rackwright/v1
name: demo
workloads:
  - {name: sft, kind: finetune, model: {base: llama-3.1-8b}, data: {samples: 1000, tokens_per_sample: 500}}
infra: {any_of: [{cloud: gcp, regions: [us-central1]}]}
"""
STEPS = {
    "rackwright/v0alpha": MigrationStep("rackwright/v0", lambda data: {**data, "name": data["stack"]}, "stack is called name"),
    "rackwright/v0": MigrationStep(API_VERSION, lambda data: {k: v for k, v in data.items() if k != "stack"}, "stack is gone"),
}


def test_an_older_version_is_rewritten_step_by_step_with_notes():
    old = {"api_version": "rackwright/v0alpha", "stack": "demo"}
    data, notes = migrate(old, STEPS)
    assert data == {"api_version": API_VERSION, "name": "demo"}
    assert notes == ("rackwright/v0alpha -> rackwright/v0: stack is called name", f"rackwright/v0 -> {API_VERSION}: stack is gone")
    assert old == {"api_version": "rackwright/v0alpha", "stack": "demo"}


def test_an_unknown_version_lists_the_supported_versions():
    problem = version_problem({"api_version": "v3"}, STEPS)
    assert problem.fix == "use rackwright/v1, rackwright/v0alpha, rackwright/v0"
    assert version_problem({"api_version": "rackwright/v0"}, STEPS) is None


def test_a_newer_version_suggests_an_upgrade():
    assert version_problem({"api_version": "rackwright/v7beta2"}).fix.startswith("upgrade rackwright")


def test_warnings_do_not_refuse_a_spec():
    reading = examine(FINE)
    assert [(p.code, p.level) for p in reading.problems] == [("S-42", Level.WARNING)]
    assert reading.spec == read(FINE)
    assert reading.warnings == reading.problems


def test_a_warning_is_acknowledged_by_its_id_and_an_error_never():
    text = FINE.replace("us-central1", "us-centrl1") + "acknowledge: [{rule: S-42, reason: known}, {rule: S-50, reason: known}]\n"
    assert [problem.code for problem in examine(text).problems] == ["S-50", "S-112"]


def test_a_rule_that_also_warns_is_acknowledged():
    """V-13 refuses an image without a tag, warns about a tag without a digest, and its text offers to acknowledge that."""
    text = FINE + "acknowledge: [{rule: V-13, reason: the digest is not published}]\n"
    assert "S-112" not in [problem.code for problem in examine(text).problems]


def test_problems_are_in_file_order():
    with pytest.raises(UserError) as error:
        read("name: A\ngoals: {max_cost: 5}\napi_version: x\ntags: {a: 1}\nname: b\n")
    marks = [(problem.mark.line, problem.mark.column) for problem in error.value.problems]
    assert marks == sorted(marks)
    assert len(marks) >= 5


def test_a_plaintext_secret_is_printed_nowhere():
    token = "hf_" + "0a1B" * 8
    text = FINE.replace("500}}", f"500}}, run: {{env: {{HF_TOKEN: {token}}}, comand: {token}}}, team: {token}}}")
    problems = examine(text).problems
    assert {"V-114", "S-unknown-key", "S-pattern"} <= {problem.code for problem in problems}
    assert token not in render(problems, text, "spec.yaml") + str([p.as_json() for p in problems]) + str(UserError(problems))


def test_json_has_everything_a_tool_needs():
    problem = Problem("S-x", "wrong", At() / "a" / 0, "do it", link="https://example.com", mark=Mark(3, 7))
    assert failure([problem], "f.yaml") == {
        "ok": False,
        "source": "f.yaml",
        "errors": 1,
        "problems": [
            {
                "code": "S-x",
                "level": "error",
                "path": "a[0]",
                "line": 3,
                "column": 7,
                "reason": "wrong",
                "fix": "do it",
                "link": "https://example.com",
                "stage": "plan",
            }
        ],
    }


@pytest.mark.parametrize("key", ["[key]", "<plain>", "finetune", "", "kind"])
def test_a_key_that_looks_like_a_union_tag_is_an_unknown_key(key):
    codes = [(problem.code, str(problem.at)) for problem in examine(FINE + f"'{key}': 1\n").problems if problem.code != "S-42"]
    assert codes == [("S-unknown-key", key or "(whole file)")]
    inside = examine(FINE.replace("500}}", f"500}}, '{key}': 1}}")).problems
    assert [problem.code for problem in inside if problem.code != "S-42"] == ["S-duplicate-key" if key == "kind" else "S-unknown-key"]


def test_color_is_only_added():
    problems = examine(FINE).problems
    plain, colored = (render(problems, FINE, "spec.yaml", color=color) for color in (False, True))
    assert "\033" not in plain
    assert colored.replace("\033[1;33m", "").replace("\033[32m", "").replace("\033[0m", "") == plain


def test_a_position_after_the_text_is_printed_without_a_line():
    assert render([Problem("S-x", "wrong", mark=Mark(99, 1))], "a: 1\n", "f.yaml") == "f.yaml:99:1: error S-x\n    wrong\n1 error\n"


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [("US-EST-1", ["us-west-1", "us-east-1"], "us-west-1"), ("on_demand", ["spot", "on-demand"], "on-demand"), ("xyz", ["spot"], "")],
)
def test_the_nearest_name_is_suggested(word, known, meant):
    assert nearest(word, known) == meant


def test_a_long_list_of_choices_is_not_printed():
    assert did_you_mean("zzz", [f"region-{i}" for i in range(40)]) == ""
    assert did_you_mean("zzz", ["a", "b"]) == "one of a, b"


def test_a_misplaced_key_is_reported_with_its_sections():
    assert homes()["max_cost"] == ("goals",)
    assert homes()["api_version"] == ("",)


@pytest.mark.parametrize(
    ("cloud", "region", "territory", "inside"),
    [
        ("aws", "eu-west-2", "eu", False),
        ("aws", "eu-central-1", "eu", True),
        ("gcp", "europe-west2", "eu", False),
        ("gcp", "europe-west12", "eu", True),
        ("gcp", "europe-west6", "eu", False),
        ("aws", "ca-central-1", "us", False),
        ("gcp", "australia-southeast1", "apac", True),
        ("kubernetes", "", "eu", True),
        ("aws", "eu-west-2", None, True),
    ],
)
def test_residency_follows_the_country_not_the_region_name(cloud, region, territory, inside):
    assert stays_in(cloud, region, territory) is inside


CONFIG = {
    "model_type": "llama",
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "vocab_size": 1000,
    "max_position_embeddings": 2048,
}


def test_a_config_json_beside_the_spec_becomes_part_of_it(tmp_path, monkeypatch):
    (tmp_path / "stacks").mkdir()
    (tmp_path / "stacks" / "config.json").write_text(json.dumps(CONFIG))
    path = tmp_path / "stacks" / "demo.yaml"
    path.write_text(FINE.replace("base: llama-3.1-8b", "config: config.json"))
    spec = load(path)
    assert architecture_of(spec.workload.model) == read_hf_config(CONFIG)
    monkeypatch.chdir(tmp_path)
    assert load("stacks/demo.yaml") == spec


@pytest.mark.parametrize("name", library.names())
def test_an_architecture_can_be_written_out_and_read_back(name):
    architecture = library.find(name).architecture
    fields = {key: value for key, value in asdict(architecture).items() if value is not None}
    assert architecture_of(Model(architecture=fields)) == architecture


def test_every_territory_names_every_cloud():
    assert all(set(cloud.residency) == {"us", "eu", "apac"} for cloud in profiles() if not cloud.is_owned)
