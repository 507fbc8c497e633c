"""`rackwright economics`: text, JSON, and a spec without serving."""

import re

import pytest

TODAY = ("--today", "2026-11-21")
IMAGES = """api_version: rackwright/v1
name: image-serve
workloads:
  - name: images
    kind: serve
    model: {base: sdxl}
    requests_per_second: 0.5
    mean_requests_per_second: 0.15
    idle: 33 %
    loras: {count: 8, rank: 32}
    input_tokens: {mean: 77}
    output_tokens: {mean: 1}
    ttft: {target: 40 s}
    min_replicas: 0
    scale_to_zero: true
    revenue_per_request: 20 USD / 1k images
    investment: 5000 USD
infra:
  any_of:
    - {cloud: aws, account: "123456789012", regions: [us-east-1], capacity: {ordered: [on-demand]}}
"""


@pytest.fixture
def images(stacks):
    (stacks / "images.yaml").write_text(IMAGES)
    return "images.yaml"


def test_a_chat_service(rackwright, stacks):
    result = rackwright("economics", "chat-serve.yaml", *TODAY)
    assert result.status == 0, result.err
    assert len(result.widest) <= 100, result.widest
    for words in ("USD per million output tokens", "(mean", "(p95", " x TPU v6e", "1 x H100 80GB SXM5", "billion active parameters"):
        assert words in result.out


def test_an_sdxl_service_with_adapters(rackwright, images):
    result = rackwright("economics", images, *TODAY)
    text = " ".join(result.out.split())
    assert result.status == 0, result.err
    assert len(result.widest) <= 100, result.widest
    shown = ("USD per 1,000 images", "1 x T4", "1 x L4", "1 x TPU v5e", "CPU, ", "scales to zero: ", "paid back after", "break-even at")
    for words in shown:
        assert words in text
    assert "one TPU equals 8 x T4, 3 x L4" in text
    assert re.search(r"in images/s, prior only: [\d.]+ x T4, [\d.]+ x L4 ", text), "whatever the latency goal"
    assert "not dated" in text
    assert "prior only" in text


def test_json_is_one_document_with_null_for_unknown(rackwright, images):
    result = rackwright("economics", images, "--json", *TODAY)
    assert result.status == 0
    assert not result.err
    assert result.json["unit"] == "image"
    assert result.json["revenue"]["pay_back_s"] > 0
    assert result.json["report"]["ratios"] == [["NVIDIA T4", 8.0], ["NVIDIA L4", 3.0]]
    assert all(point["usd_per_million_tokens"] is None for point in result.json["curve"])


def test_no_payback_without_revenue(rackwright, stacks):
    path = stacks / "chat-serve.yaml"
    path.write_text("".join(line for line in path.read_text().splitlines(keepends=True) if "revenue" not in line))
    result = rackwright("economics", path.name, "--json", *TODAY)
    assert result.json["revenue"] is None
    assert "No revenue is set, so break-even and pay-back time are not computed" in result.json["warnings"]


def test_training_spec_is_refused_with_its_path(rackwright, stacks):
    result = rackwright("economics", "mistral-7b-qlora.yaml", "--json", *TODAY)
    assert result.status == 2
    assert result.json["problems"][0]["code"] == "E-kind"
    assert result.json["problems"][0]["path"] == "workloads[0].kind"


def test_no_fit_shows_the_plan(rackwright, stacks):
    path = stacks / "chat-serve.yaml"
    path.write_text(path.read_text().replace("target: 1 s", "target: 1 ms"))
    result = rackwright("economics", path.name, *TODAY)
    assert result.status == 1
    assert "No candidate meets every goal" in result.out
