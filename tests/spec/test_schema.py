"""The committed JSON Schema and reference equal the models, and an editor with them agrees with the reader."""

import json
import re
from pathlib import Path

import jsonschema
import pytest
from rackwright.report.reference.spec_page import rewritten
from rackwright.spec import examine, schema
from rackwright.spec.reading.tree import parse
from rackwright.spec.schema import models, sentences, spec_schema
from rackwright.validation.spec.unsupported import TABLE

ROOT = Path(__file__).parents[2]
SCHEMA = jsonschema.Draft202012Validator(spec_schema())
EXAMPLES = [file for file in sorted((ROOT / "stacks").glob("*.yaml")) if not file.name.startswith("Pulumi.")]
CASES = sorted(folder for folder in (ROOT / "tests/cases/spec").iterdir() if folder.is_dir())
SHAPE = {"S-null", "S-version", "S-unknown-key", "S-missing", "S-type", "S-unit", "S-choice", "S-pattern", "S-date"}
"""What a schema sees. Bounds of quantities (S-range) and whatever crosses fields it does not."""


def codes(folder: Path) -> set[str]:
    return set(re.findall(r"(?:error|warning) ([SVN]-[a-z0-9-]+)", (folder / "expected.txt").read_text(encoding="utf-8")))


def plain(file: Path) -> object:
    return parse(file.read_text(encoding="utf-8"), str(file))[0].plain()


def test_the_committed_schema_is_that_of_the_models():
    assert (ROOT / "docs/schema/spec.json").read_text(encoding="utf-8") == schema.text()


def test_the_reference_is_that_of_the_models():
    document = (ROOT / "docs/spec.md").read_text(encoding="utf-8")
    assert rewritten(document) == document


def test_the_reference_names_the_rule_at_every_unsupported_option():
    """The tables of the keys, not the table of the rules."""
    keys = (ROOT / "docs/spec.md").read_text(encoding="utf-8").partition("## Keys")[2].partition("## Checks")[0]
    assert len(keys) > 10_000
    assert [row.id for row in TABLE if row.id not in keys] == []


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(spec_schema())


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_stack_has_no_problem_for_reader_or_schema(file):
    reading = examine(file.read_text(encoding="utf-8"), str(file))
    assert reading.problems == ()
    assert [error.message for error in SCHEMA.iter_errors(plain(file))] == []


def test_the_job_of_the_documentation_is_a_run():
    """`run` of docs/jobs.md; its other keys are left out."""
    text = re.search(r"```yaml\n(.*?)```", (ROOT / "docs/jobs.md").read_text(encoding="utf-8"), re.DOTALL)[1]
    problems = examine(f"api_version: rackwright/v1\nname: demo\n{text}", "jobs.md").problems
    assert problems
    assert [str(problem) for problem in problems if "run" in str(problem.at)] == []


def test_the_example_of_the_documentation_is_a_spec():
    text = re.search(r"```yaml\n(.*?)```", (ROOT / "docs/spec.md").read_text(encoding="utf-8"), re.DOTALL)[1]
    reading = examine(text)
    assert reading.problems == ()
    assert SCHEMA.is_valid(parse(text, "")[0].plain())


@pytest.mark.parametrize("folder", [folder for folder in CASES if not codes(folder)], ids=lambda folder: folder.name)
def test_the_schema_accepts_every_spec_that_the_reader_accepts(folder):
    assert [error.message for error in SCHEMA.iter_errors(plain(folder / "spec.yaml"))] == []


@pytest.mark.parametrize("folder", [folder for folder in CASES if codes(folder) & SHAPE], ids=lambda folder: folder.name)
def test_the_schema_refuses_every_shape_that_the_reader_refuses(folder):
    assert not SCHEMA.is_valid(plain(folder / "spec.yaml"))


def test_every_key_is_explained():
    silent = [
        f"{model.__name__}.{key}" for model in models() for key in model.model_fields if key != "kind" and not sentences(model).get(key)
    ]
    assert silent == []


def test_every_model_is_explained():
    assert [model.__name__ for model in models() if not (model.__doc__ or "").strip()] == []


def test_a_wrong_quantity_is_reported_with_the_format():
    duration = spec_schema()["$defs"]["Goals"]["properties"]["max_duration"]
    assert re.fullmatch(duration["pattern"], "48h")
    assert not re.fullmatch(duration["pattern"], "48")
    assert json.dumps(spec_schema()).count('"null"') == 0
