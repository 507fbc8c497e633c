"""No secret of a spec is printed in messages, quoted lines, paths, JSON or exceptions, also if the file has other errors."""

import json

import pytest
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.redaction import Redaction
from rackwright.diagnostics.render import render
from rackwright.diagnostics.secrets import is_secret_name
from rackwright.spec import examine

CANARY = "wandb-5f1c-0123456789"
SPEC = """\
api_version: rackwright/v1
name: demo
workloads:
  - name: sft
    kind: finetune
    model: {base: llama-3.1-8b}
    data: {samples: 1000, tokens_per_sample: 500}
    run:
RUN
    team: nlp
infra: {any_of: [{cloud: aws, regions: [us-east-1]}]}
TAIL
"""
RUNS = {
    "value in place of a reference": "secrets: {WANDB_API_KEY: CANARY}",
    "block style": "secrets:\n  WANDB_API_KEY: CANARY",
    "comment": "secrets:\n  WANDB_API_KEY: # CANARY\n  OTHER: {secret: x}",
    "value on the next line": "secrets:\n  WANDB_API_KEY:\n    CANARY",
    "double quotes": 'secrets: {WANDB_API_KEY: "CANARY"}',
    "escaped": 'secrets: {WANDB_API_KEY: "\\x77andb-5f1c-0123456789"}',
    "literal block": "secrets:\n  WANDB_API_KEY: |\n    CANARY\n    CANARY",
    "folded block": "env:\n  WANDB_API_KEY: >-\n    CANARY\n    more",
    "several lines": 'secrets:\n  WANDB_API_KEY: "first\n    CANARY\n    last"',
    "several lines in single quotes": "env:\n  WANDB_API_KEY: 'first\n    CANARY\n    last'",
    "plain on several lines": "secrets:\n  WANDB_API_KEY: first\n    CANARY\n    last",
    "list": "secrets: [CANARY]",
    "text": "secrets: CANARY",
    "set": "secrets: {CANARY}",
    "set in an entry": "secrets: {WANDB_API_KEY: {CANARY}}",
    "key of an entry": "secrets: {WANDB_API_KEY: {CANARY: }}",
    "list in an entry": "secrets: {WANDB_API_KEY: {secret: [CANARY]}}",
    "reference that is the value": "secrets: {WANDB_API_KEY: {secret: CANARY}}",
    "misspelt member": "secrets: {WANDB_API_KEY: {value: CANARY}}",
    "misspelt secrets": "secerts: {wandb: CANARY}",
    "secret of the wrong place": "secret: {wandb: CANARY}",
    "variable beside env": "WANDB_API_KEY: CANARY",
    "env": "env: {WANDB_API_KEY: CANARY}",
    "env in lower case": "env: {wandb_key: CANARY}",
    "env as a list of pairs": "env: [{name: WANDB_API_KEY, value: CANARY}]",
    "env as assignments": "env: [WANDB_API_KEY=CANARY]",
    "env as text": "env: WANDB_API_KEY=CANARY",
    "twice": "env: {WANDB_API_KEY: x, WANDB_API_KEY: CANARY}",
    "in env and in secrets": "env: {WANDB_API_KEY: CANARY}\nsecrets: {WANDB_API_KEY: {secret: x}}",
    "option": "args: [--wandb-key, CANARY]",
    "command": "command: [sh, -c, export WANDB_API_KEY=CANARY; run]",
    "tag": "secrets: {WANDB_API_KEY: !CANARY x}",
    "unknown alias": "secrets: {WANDB_API_KEY: *CANARY}",
    "anchor in front": "image: &a CANARY\nenv: {WANDB_API_KEY: *a}",
    "anchor in the secret": "secrets: {WANDB_API_KEY: &a CANARY}\nimage: *a",
    "anchor of a mapping": "args: &a [CANARY, {}]\nsecrets: {WANDB_API_KEY: *a}",
    "merge key": "env: {<<: {WANDB_API_KEY: CANARY}}",
    "complex key": "secrets: {? {WANDB_API_KEY: CANARY} : x}",
    "deep": "secrets: {A: {B: {C: {D: CANARY}}}}",
    "other names": "env: {DB_PASSWORD: CANARY, AWS_CREDENTIALS: CANARY, SESSION_TOKEN: CANARY, CLIENT_SECRET: CANARY}",
}
DISTURBANCES = ["", "bad: [", 'bad: "', "\t- x", "comand: x", "key: *nothing", "}"]


def everything_printed(text: str) -> str:
    """Text, JSON and exception of every problem of a spec."""
    problems = examine(text).problems
    return render(problems, text, "spec.yaml") + json.dumps([p.as_json() for p in problems]) + str(UserError(problems))


def spec(run: str, tail: str = "") -> str:
    indented = "\n".join(" " * 6 + line for line in run.replace("CANARY", CANARY).split("\n"))
    return SPEC.replace("RUN", indented).replace("TAIL", tail.replace("CANARY", CANARY))


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS.keys())
@pytest.mark.parametrize("disturbance", DISTURBANCES)
def test_a_secret_is_not_printed_with_another_problem_on_any_line(run, disturbance):
    lines = spec(run).split("\n")
    for number in range(len(lines)) if disturbance else [0]:
        for indent in {0, len(lines[number]) - len(lines[number].lstrip())}:
            text = "\n".join([*lines[:number], " " * indent + disturbance, *lines[number:]])
            assert CANARY not in everything_printed(text), text
        assert CANARY not in everything_printed("\n".join([*lines[:number], lines[number] + " " + disturbance, *lines[number + 1 :]]))


@pytest.mark.parametrize(
    "tail", ["secrets: {wandb: CANARY}", "secrets:\n  wandb:\n    config: [CANARY]", "secrets: CANARY", "secrets: {CANARY}"]
)
def test_a_secret_at_the_top_of_the_file_is_not_printed(tail):
    assert CANARY not in everything_printed(spec("env: {A: 1}", tail))


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS.keys())
def test_a_later_problem_can_quote_the_line_of_a_secret(run):
    text = spec(run)
    redaction = Redaction(text)
    assert not any(CANARY in redaction.line(number) for number in range(1, text.count("\n") + 1))


@pytest.mark.parametrize("value", ["12345678", "0x1F", "1e9", "31", "2026-01-01"])
def test_a_secret_that_is_a_number_is_not_printed(value):
    text = spec(f"env: {{DB_PASSWORD: {value}}}")
    printed = json.dumps([p.as_json() for p in examine(text).problems])
    assert not any(f"`{form}`" in printed or f"got {form}" in printed for form in (value, "31", "1000000000.0", "12345678"))


@pytest.mark.parametrize(
    ("name", "in_env", "hidden"),
    [
        ("WANDB_API_KEY", True, True),
        ("wandb_key", True, True),
        ("CACHE_DIR", True, False),
        ("secrets", False, True),
        ("secerts", False, True),
        ("hf_token", False, True),
        ("key", False, False),
        ("input_tokens", False, False),
        ("num_key_value_heads", False, False),
    ],
)
def test_names_of_secrets(name, in_env, hidden):
    assert is_secret_name(name, in_env) is hidden


def test_names_are_still_printed():
    text = spec("secrets: {HF_TOKEN: {secret: hf-tokn}}", "secrets: {hf-token: {config: hf-token}}")
    printed = everything_printed(text)
    assert "HF_TOKEN" in printed
    assert "did you mean `hf-token`?" in printed
    assert "secret `hf-tokn`" in printed


@pytest.mark.parametrize("value", ["wandb-5f1c", "aBcDeFgHiJkL", "correct horse", "x", "Tr0ub4dor", "supercalifragilisticexpialidocious"])
def test_an_invalid_secret_reference_is_hidden(value):
    assert f"`{value}`" not in everything_printed(spec(f"secrets: {{HF_TOKEN: {{secret: {value}}}}}"))
