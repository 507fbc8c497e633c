"""A pin that no candidate satisfies: every command shows the failed constraint with its distance, at the pin."""

from datetime import date

import pytest
from rackwright.diagnostics.errors import UserError
from rackwright.workflow.pipeline import Pipeline

TODAY = ("--today", "2026-11-21")
SPEC = """
api_version: rackwright/v1
name: sft
workloads:
  - name: sft
    kind: finetune
    model: {{base: {model}}}
    adapter: {{type: none}}
    data: {{samples: 25000, tokens_per_sample: 1800, size: 3 GB}}
    sequence_length: 4096
    global_batch_size: 128
    precision: {precision}
infra:
  any_of:
    - cloud: aws
      regions: [us-east-1]
      pin: {pin}
"""
CASES = {
    "fp8 on an A100": (
        {"precision": "fp8"},
        "2 x p4d.24xlarge us-east-1 on-demand is rejected. Number format: NVIDIA A100 40GB SXM4 does not compute in fp8; "
        "its nearest format is bf16",
        "precision: bf16, or a newer accelerator",
    ),
    "memory": (
        {"model": "llama-3.1-70b", "pin": "{instance: p4d.24xlarge, nodes: 1}"},
        "1 x p4d.24xlarge us-east-1 on-demand is rejected. Accelerator memory: needs 175.3 GiB per accelerator, has 36.8 GiB per "
        "accelerator (pessimistic estimate, for every parallel layout); off by 138.5 GiB per accelerator, 4.8 times the limit",
        "adapter: {type: lora} or qlora, or more machines",
    ),
    "bf16 on a T4": (
        {"pin": "{instance: g4dn.xlarge}"},
        "1 x g4dn.xlarge us-east-1 on-demand is rejected. Number format: NVIDIA T4 does not compute in bf16; its nearest format is fp16",
        "precision: fp16, or a newer accelerator",
    ),
    "nodes": (
        {"pin": "{instance: g5.xlarge, nodes: 2}"},
        "2 x g5.xlarge us-east-1 on-demand is rejected. Fabric: no RDMA fabric between machines",
        "an instance type with EFA, TCPX, RoCE or ICI",
    ),
}


def write(folder, model: str = "llama-3.1-8b", precision: str = "bf16", pin: str = "{instance: p4d.24xlarge, nodes: 2}") -> str:
    (folder / "sft.yaml").write_text(SPEC.format(model=model, precision=precision, pin=pin))
    return "sft.yaml"


@pytest.mark.parametrize("name", CASES)
def test_the_failed_constraint_is_shown_at_the_pin(name, rackwright, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    values, reason, fix = CASES[name]
    path = write(tmp_path, **values)
    shown = rackwright("plan", path, "--json", *TODAY)
    (found,) = [p for p in shown.json["problems"] if p["code"] == "D-pin"][:1]
    assert (found["reason"], found["fix"]) == (f"The pinned {reason}", fix)
    assert (found["path"], found["line"], found["column"]) == ("infra.any_of[0].pin.instance", 17, 23)
    assert shown.status == 1
    assert shown.json["nearest_misses"][0]["machines"] == reason.split(" us-east-1")[0]


@pytest.mark.parametrize("command", ["validate", "plan", "choose"])
def test_every_command_shows_it_with_a_caret(command, rackwright, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = rackwright(command, write(tmp_path, precision="fp8"), *(() if command == "validate" else TODAY))
    assert "sft.yaml:17:23: warning D-pin: infra.any_of[0].pin.instance" in result.err
    assert "does not compute in fp8" in " ".join(result.err.split())
    assert "\n      |                       ^\n" in result.err
    assert result.status == (0 if command == "validate" else 1)


def test_validate_lists_it_in_json(rackwright, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = rackwright("validate", write(tmp_path, precision="fp8"), "--json").json
    assert [p["code"] for p in found["problems"]] == ["D-pin"]


def test_a_pin_that_fits_has_no_warning(rackwright, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = rackwright("plan", write(tmp_path), "--json", *TODAY)
    assert found.status == 0
    assert "D-pin" not in found.out


def test_without_a_fit_the_reason_is_that_of_the_pinned_machine(rackwright, stacks):
    (stacks / "pinned.yaml").write_text(
        "api_version: rackwright/v1\nname: pinned\nworkloads:\n"
        "  - {name: chat, kind: serve, model: {base: llama-3.1-70b}, requests_per_second: 1, input_tokens: {mean: 800}, "
        "output_tokens: {mean: 200}}\n"
        "infra: {any_of: [{cloud: aws, account: '123456789012', regions: [us-east-1], pin: {instance: g6.xlarge}}]}\n"
    )
    shown = " ".join(rackwright("plan", "pinned.yaml", "--today", "2026-11-21").out.split())
    assert "why The pinned 1 x g6.xlarge (1 x NVIDIA L4) fails: accelerator memory: " in shown
    assert "Without the pin the cheapest candidate that meets the goals is " in shown
    assert "candidates: 1 on accelerator memory (nearest " in shown
    with pytest.raises(UserError) as refused:
        Pipeline(stacks / "pinned.yaml", date(2026, 11, 21)).choose()
    problem = refused.value.problems[0]
    assert "The pinned machine fails: 1 x g6.xlarge us-east-1 on-demand: accelerator memory: " in problem.reason
    assert "p4d" not in problem.reason
