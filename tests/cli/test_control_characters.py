"""Control and bidirectional characters of any input are escaped, whichever command prints them."""

import json
from pathlib import PurePosixPath

import pytest
import yaml
from rackwright.cli.terminal import emit
from rackwright.diagnostics.problem import escaped

from tests.cli.conftest import STACKS

ATTACK = "a\x1b]0;x\x07\x9b2J\u202egpj.\u2066\u200f\u2028z"
SPEC = "mistral-7b-qlora.yaml"
OWN, TRAINING = str(STACKS / "chat-onprem.yaml"), str(STACKS / "llama-70b-onprem.yaml")


def raw(text: str) -> set[str]:
    return {character for character in text if not character.isprintable() and character not in "\n"}


@pytest.mark.parametrize("as_json", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["plan", f"{ATTACK}.yaml"],
        ["validate", f"{ATTACK}.yaml"],
        ["compile", SPEC, f"--{ATTACK}"],
        [ATTACK],
        ["explain", SPEC, ATTACK],
        ["catalog", ATTACK],
        ["catalog", "machines", ATTACK],
        ["report", SPEC, "-o", f"{ATTACK}/x.md"],
        ["report", SPEC, "-o", f"{ATTACK}.md"],
        ["estimate", f"{ATTACK}.jsonl"],
        ["calibrate", f"{ATTACK}.csv"],
        ["diff", f"{ATTACK}.json", SPEC],
        ["new", f"{ATTACK}"],
        ["images", OWN, "--mirror", f"mirror.example/{ATTACK}"],
        ["images", OWN, "--mirror", f"mirror.example/{ATTACK}", "--format", "skopeo"],
        ["manifests", OWN, "-o", f"{ATTACK}", "--layout", "argocd", "--git-url", f"https://git.example/{ATTACK}", "--git-path", ATTACK],
        ["manifests", OWN, "-o", "out", "--outputs", f"{ATTACK}.json"],
        ["job", TRAINING, "--name", ATTACK],
        ["job", TRAINING, "-o", ATTACK],
        ["preflight", TRAINING, "--image", f"registry.example/{ATTACK}"],
        ["compare", SPEC, ATTACK, "1"],
        ["buy", f"{ATTACK}.yaml"],
        ["inventory", "--kubeconfig", ATTACK],
        ["doctor", SPEC, f"{ATTACK}.json"],
    ],
    ids=lambda arguments: arguments[0] if arguments[0] != ATTACK else "command",
)
def test_an_argument_is_escaped(arguments, as_json, rackwright, stacks):
    result = rackwright(*arguments, *as_json)
    assert not raw(result.out + result.err)
    if as_json and result.out:
        result.json  # noqa: B018  raises for text that is no JSON


def _contents(stacks):
    """File and command for each format of an input, with the attack in a text of it."""
    spec = yaml.safe_load((stacks / SPEC).read_text(encoding="utf-8"))
    bidi = "a\u202egpj\u2066\u200fz"
    node = {"type": f"a:b:{ATTACK}", "name": ATTACK, "urn": ATTACK, "inputs": {ATTACK: ATTACK}, "protect": False}
    row = {"kind": "training", "model": ATTACK, "hardware": {"accelerator": ATTACK}, "engine": {"name": ATTACK}, "sequence": 1, ATTACK: 1}
    return {
        "tags": ("x.yaml", yaml.safe_dump(spec | {"tags": {"note": bidi}}, allow_unicode=True)),
        "key": ("x.yaml", yaml.safe_dump(spec | {bidi: bidi}, allow_unicode=True)),
        "escaped": ("x.yaml", f"name: {json.dumps(ATTACK)}\n"),
        "graph": ("x.json", json.dumps({"resources": [node]})),
        "configuration": ("x.jsonl", json.dumps(row)),
        "runs": ("x.csv", f"row_id,accelerator,{ATTACK}\n{ATTACK},{ATTACK},1\n"),
    }


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        *(("tags", command) for command in (["plan"], ["validate"], ["compile"], ["graph"], ["explain"], ["choose"])),
        *((kind, ["validate"]) for kind in ("key", "escaped")),
        *(("tags", ["report", "-o", target]) for target in ("-", "out.md", "out.html")),
        ("graph", ["diff", SPEC]),
        ("configuration", ["estimate"]),
        ("runs", ["calibrate"]),
    ],
)
def test_a_text_of_a_file_is_escaped(kind, arguments, rackwright, stacks):
    name, text = _contents(stacks)[kind]
    (stacks / name).write_text(text, encoding="utf-8")
    for as_json in ([], ["--json"]):
        result = rackwright(arguments[0], *([arguments[1], name] if arguments[0] == "diff" else [name, *arguments[1:]]), *as_json)
        assert result.status in (0, 1, 2)
        assert not raw(result.out + result.err)
    for report in (*stacks.glob("out.*"),):
        assert not raw(report.read_text(encoding="utf-8")) - {"\t"}


@pytest.mark.parametrize("text", ["plain", "\x1b[2J", "a\x7fb\u202e", "half \ud800 of a character", "two\nlines\t"])
def test_json_of_any_text_is_one_document_with_escaped_controls(text, capsys):
    value = {"text": [text, {text: None}], "numbers": [1e16, 0.1, 10**25], "path": PurePosixPath("a/b"), "empty": [{}, []]}
    emit(value)
    shown = capsys.readouterr().out
    assert json.loads(shown) == value | {"path": "a/b"}
    assert shown.replace("\n", "").isprintable()
    assert shown == escaped(json.dumps(value, indent=2, default=str, ensure_ascii=False), keep="\n") + "\n"
