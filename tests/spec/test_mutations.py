"""Thousands of mutated specs: each is read, or refused with problems that have a code and a place.

RACKWRIGHT_EXAMPLES sets how many per test (default 200; 20000 takes ten minutes).
"""

import json
import os
from pathlib import Path
from unittest.mock import patch

import jsonschema
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import BREAK, WIDTH, Level
from rackwright.diagnostics.render import render
from rackwright.spec import examine, read
from rackwright.spec.reading.schema_errors import CODES
from rackwright.spec.reading.tree import parse
from rackwright.spec.schema import spec_schema
from rackwright.validation.spec import RULES as SPEC_RULES
from rackwright.workflow import load
from rich.cells import cell_len

ROOT = Path(__file__).parents[2]
FILES = [
    *sorted((ROOT / "stacks").glob("*.yaml")),
    ROOT / "tests/cases/spec/fine-design/spec.yaml",
    ROOT / "tests/cases/spec/not-yet-jobs/spec.yaml",
]
TEXTS = [file.read_text(encoding="utf-8") for file in FILES if not file.name.startswith("Pulumi.")]
TREES = [parse(text, "")[0].plain() for text in TEXTS]
EXAMPLES = int(os.environ.get("RACKWRIGHT_EXAMPLES", "200"))
DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
SCHEMA = jsonschema.Draft202012Validator(spec_schema())
spoiling = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def hold(text: str) -> None:
    """Property: a spec that the schema also accepts, or problems that can be printed."""
    reading = examine(text, "spec.yaml")
    errors = [problem for problem in reading.problems if problem.level is Level.ERROR]
    assert (reading.spec is None) == bool(errors)
    lines = len(BREAK.split(text))
    for problem in reading.problems:
        assert problem.code in CODES or problem.code in SPEC_RULES.rules
        assert problem.mark or problem.code == "S-empty"
        assert problem.mark is None or 1 <= problem.mark.line <= lines
        assert problem.reason
    printed = render(reading.problems, text, "spec.yaml")
    assert all(cell_len(line) <= WIDTH for line in printed.splitlines() if not line.startswith(("spec.yaml:", "    see:")))
    json.dumps([problem.as_json() for problem in reading.problems])
    if reading.spec is not None:
        SCHEMA.validate(parse(text, "")[0].plain())
    else:
        with patch.object(load, "examine", return_value=reading), pytest.raises(UserError):
            read(text)


WORDS = [
    "",
    " ",
    "none",
    "auto",
    "spot",
    "p5.48xlarge",
    "us-east-1a",
    "48h",
    "-3 GB",
    "12 %",
    "1e400",
    "0x",
    "\x7f",
    "ü" * 50,
    "a" * 5000,
    "{",
    "../..",
    "hf_" + "a" * 20,
]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(),
    st.sampled_from(WORDS),
    st.text(max_size=12),
    st.dates().map(str),
)
GARBAGE = st.recursive(
    SCALARS, lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=8), inside, max_size=3), max_leaves=8
)
KEYS = sorted({key for tree in TREES for key in json.dumps(tree).split('"')[1::2] if key.isidentifier()})


def places(tree: object) -> list[tuple[object, object]]:
    """Every (container, key or index) in a tree."""
    inside = list(tree.items()) if isinstance(tree, dict) else list(enumerate(tree)) if isinstance(tree, list) else []
    return [(tree, key) for key, _ in inside] + [place for _, value in inside for place in places(value)]


@st.composite
def spoiled(draw: st.DrawFn, garbage: st.SearchStrategy = GARBAGE) -> str:
    """An example with up to four entries deleted, renamed, replaced, repeated or swapped."""
    tree = json.loads(json.dumps(draw(st.sampled_from(TREES))))
    for _ in range(draw(st.integers(1, 4))):
        found = places(tree)
        if not found:
            break
        holder, key = draw(st.sampled_from(found))
        match draw(st.sampled_from(("delete", "rename", "replace", "replace", "repeat", "swap"))):
            case "delete":
                del holder[key]
            case "rename" if isinstance(holder, dict):
                holder[draw(st.sampled_from([*KEYS, "[key]", "<plain>", "serve"]) | st.text(max_size=6))] = holder.pop(key)
            case "repeat" if isinstance(holder, list):
                holder.extend(json.loads(json.dumps(holder)))
            case "swap":
                other, at = draw(st.sampled_from(found))
                holder[key] = json.loads(json.dumps(other[at])) if at in (other if isinstance(other, dict) else range(len(other))) else None
            case _:
                holder[key] = draw(garbage)
    return yaml.dump(tree, Dumper=DUMPER, allow_unicode=True, sort_keys=False)


@spoiling
@given(spoiled())
def test_spoiled_trees_are_read_or_refused(text):
    hold(text)


QUANTITIES = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "-", "0", "1e", "3", "12.5", "9" * 40]),
    st.integers(0, 999),
    st.text("hdwsm %GBiUSD/tok1kM", max_size=12),
)


@spoiling
@given(spoiled(QUANTITIES))
def test_spoiled_quantities_are_read_or_refused(text):
    hold(text)


@spoiling
@given(spoiled(st.integers(-5, 10**9) | st.floats(allow_nan=False)))
def test_spoiled_numbers_are_read_or_refused(text):
    hold(text)


@spoiling
@given(
    st.sampled_from(TEXTS),
    st.lists(
        st.tuples(st.integers(0, 4000), st.integers(0, 30), st.text("{}[]:,-#&*!|>'\"%@`\t\n ~?ab0\r\ufeff\u2028", max_size=5)), max_size=4
    ),
)
def test_spoiled_text_is_read_or_refused(text, cuts):
    for start, length, put in cuts:
        text = text[:start] + put + text[start + length :]
    hold(text)


@spoiling
@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text):
    hold(text)
