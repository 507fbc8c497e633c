"""Files that a spec or an argument names: a device, a pipe or an endless line is refused at once."""

import json
import os
import time

import pytest
import yaml

MAX_S = 5.0
SPEC = "mistral-7b-qlora.yaml"


def _spec_with(stacks, change):
    path = stacks / SPEC
    spec = yaml.safe_load(path.read_text(encoding="utf-8"))
    change(spec)
    path.write_text(yaml.safe_dump(spec), encoding="utf-8")
    return path


def _quotas(stacks, file):
    return "validate", _spec_with(stacks, lambda spec: spec["infra"]["any_of"][0].update(quotas=file.name))


def _model_config(stacks, file):
    return "validate", _spec_with(stacks, lambda spec: spec["workloads"][0].update(model={"config": file.name}))


def _prices(stacks, file):
    return "plan", _spec_with(stacks, lambda spec: spec.update(pricing={"file": file.name}))


def _decision(stacks, file):
    file.rename(stacks / "mistral-7b-qlora.decision.json")
    return "compile", stacks / SPEC


def _calibration(stacks, file):
    (stacks / "runs.jsonl").write_text("{}\n", encoding="utf-8")
    return "estimate", stacks / "runs.jsonl", "--calibration", file


def _inventory(stacks, file):
    path = stacks / "chat-onprem.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("inventories/l40s.yaml", file.name), encoding="utf-8")
    return "plan", path


def _simulated_cloud(stacks, file):
    (stacks / "state.json").write_text("{}", encoding="utf-8")
    return "doctor", stacks / SPEC, stacks / "state.json", "--simulated", file


COMMANDS = {
    "spec": lambda stacks, file: ("plan", file),
    "quotas": _quotas,
    "model config": _model_config,
    "prices": _prices,
    "decision": _decision,
    "graph": lambda stacks, file: ("diff", file.rename(file.with_suffix(".json")), stacks / SPEC),
    "calibration": _calibration,
    "runs": lambda stacks, file: ("calibrate", file),
    "configurations": lambda stacks, file: ("estimate", file),
    "inventory": _inventory,
    "outputs": lambda stacks, file: ("job", stacks / "llama-70b-gke.yaml", "--outputs", file),
    "outputs of a fleet": lambda stacks, file: ("manifests", stacks / "chat-eks.yaml", "-o", stacks / "out", "--outputs", file),
    "kubeconfig": lambda stacks, file: ("inventory", "--kubeconfig", file),
    "state": lambda stacks, file: ("doctor", stacks / SPEC, file.rename(file.with_suffix(".json"))),
    "simulated cloud": _simulated_cloud,
}
FILES = {
    "link to /dev/zero": lambda path: path.symlink_to("/dev/zero"),
    "pipe": lambda path: os.mkfifo(path),
    "63 MB in one line": lambda path: path.write_bytes(b"9" * 63_000_000),
    "65 MB": lambda path: path.write_bytes(b"#" * 65_000_000),
    "200,000 lists in each other": lambda path: path.write_bytes(b"[" * 200_000),
}


@pytest.mark.parametrize("kind", COMMANDS)
@pytest.mark.parametrize("file", FILES)
def test_a_file_without_end_is_refused_at_once(kind, file, rackwright, stacks):
    path = stacks / "named"
    FILES[file](path)
    arguments = COMMANDS[kind](stacks, path)
    start = time.monotonic()
    result = rackwright(*arguments)
    assert result.status == 2, result.out + result.err
    assert "Traceback" not in result.err
    assert len(result.err) < 5_000
    assert time.monotonic() - start < MAX_S


def test_a_link_to_a_file_is_read(rackwright, stacks):
    (stacks / "link.yaml").symlink_to(SPEC)
    assert rackwright("validate", "link.yaml").status == 0


def _of_place(spec):
    return spec["infra"]["any_of"][0]


NAMED = {
    "capacity without entries and a pin": (
        "mistral-7b-qlora.yaml",
        lambda spec: _of_place(spec).update(capacity={}, pin={"instance": "p5.48xlarge", "nodes": 2}),
        {"S-02"},
    ),
    "answers of half a token": (
        "chat-eks.yaml",
        lambda spec: spec["workloads"][0].update(output_tokens={"mean": 0.5}),
        {"S-range"},
    ),
    "a hidden width of 10^14": (
        "llama-70b-sft.yaml",
        lambda spec: spec["workloads"][0].update(
            model={"architecture": {"layers": 12, "hidden": 10**14, "heads": 12, "head_dim": 64, "ffn": 3072, "vocab": 50257}}
        ),
        {"S-24"},
    ),
    "experts of 10^14": (
        "chat-eks.yaml",
        lambda spec: spec["workloads"][0].update(
            model={
                "architecture": {"layers": 12, "hidden": 768, "heads": 12, "ffn": 3072, "vocab": 50257}
                | {"experts": 10**14, "experts_per_token": 2, "expert_ffn": 10}
            }
        ),
        {"S-24"},
    ),
    "a block in the year 9999": (
        "llama-70b-sft.yaml",
        lambda spec: _of_place(spec).update(
            capacity={
                "ordered": [
                    {
                        "capacity_block": {"id": "cr-0123456789abcdef0", "instance": "p5.48xlarge", "count": 2, "zone": "us-east-1a"}
                        | {"start": "9999-12-31T11:30:00Z", "end": "9999-12-30T11:30:00Z"}
                    }
                ]
            }
        ),
        {"S-date"},
    ),
}


@pytest.mark.parametrize("command", ["plan", "economics", "report", "compile"])
@pytest.mark.parametrize("name", NAMED)
def test_a_value_that_ended_in_a_traceback_is_refused(name, command, rackwright, stacks):
    file, change, codes = NAMED[name]
    spec = yaml.safe_load((stacks / file).read_text(encoding="utf-8"))
    change(spec)
    (stacks / "changed.yaml").write_text(yaml.safe_dump(spec), encoding="utf-8")
    result = rackwright(command, "changed.yaml", "--json")
    assert result.status == 2
    assert codes <= {problem["code"] for problem in result.json["problems"]}


@pytest.mark.parametrize("today", ["9999-12-31", "0001-01-01"])
def test_a_day_outside_of_the_supported_years_is_refused(today, rackwright, stacks):
    result = rackwright("compile", SPEC, "--today", today)
    assert result.status == 2
    assert "the year must be from 2000 to 2200" in " ".join(result.err.split())


@pytest.mark.parametrize(
    "quotas",
    [
        {"regions": {"us-east-1": "x"}},
        {"regions": {"us-east-1": {"L-1": {"value": float("nan")}}}},
        {"regions": []},
        {"Quotas": [{"QuotaArn": "arn", "QuotaCode": "L-1", "Value": 4}]},
        {"Quotas": [{"QuotaArn": ["arn"], "QuotaCode": "L-1", "Value": 4}]},
        {"Quotas": {"QuotaArn": "arn"}},
        [[]],
        "x",
    ],
)
def test_a_malformed_quota_file_is_refused_with_the_place(quotas, rackwright, stacks):
    (stacks / "named").write_text(json.dumps(quotas), encoding="utf-8")
    result = rackwright(*_quotas(stacks, stacks / "named"), "--json")
    assert result.status == 2
    (problem,) = [problem for problem in result.json["problems"] if problem["code"] == "S-90"]
    assert "it is not a quota file" in problem["reason"]


@pytest.mark.parametrize(
    "node",
    [{"type": 1}, {"inputs": "x"}, {"inputs": None}, {"urn": {}}, {"options": "x"}, {"options": {"aliases": [{}]}}, {"protect": "no"}],
)
def test_an_ill_typed_graph_is_refused_with_the_place(node, rackwright, stacks):
    fine = {"type": "a:b:C", "name": "n", "urn": "urn:pulumi:s::p::a:b:C::n", "inputs": {}, "protect": False}
    (stacks / "old.json").write_text(json.dumps({"resources": [fine | node]}), encoding="utf-8")
    result = rackwright("diff", "old.json", SPEC)
    assert result.status == 2
    assert f"not a graph: resources.0.{next(iter(node))}" in " ".join(result.err.split())
