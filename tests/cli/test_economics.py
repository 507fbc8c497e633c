"""`rackwright economics`: text within 100 columns, JSON alone, and a spec that does not serve."""

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
    said = rackwright("economics", "chat-serve.yaml", *TODAY)
    assert said.status == 0, said.err
    assert len(said.widest) <= 100, said.widest
    for words in ("USD per million output tokens", "(mean", "(p95", "1 x TPU v6e", "1 x H100 80GB SXM5", "billion active parameters"):
        assert words in said.out


def test_an_sdxl_service_with_adapters(rackwright, images):
    said = rackwright("economics", images, *TODAY)
    text = " ".join(said.out.split())
    assert said.status == 0, said.err
    assert len(said.widest) <= 100, said.widest
    for words in ("USD per image", "1 x T4", "1 x L4", "1 x TPU v5e", "CPU, ", "scales to zero: ", "paid back after", "break-even at"):
        assert words in text
    assert "one TPU equals 8 x T4, 3 x L4" in text
    assert "not dated" in text
    assert "prior only" in text


def test_json_is_alone_and_unknown_is_null(rackwright, images):
    said = rackwright("economics", images, "--json", *TODAY)
    assert said.status == 0
    assert not said.err
    assert said.json["unit"] == "image"
    assert said.json["revenue"]["pay_back_s"] > 0
    assert said.json["report"]["ratios"] == [["NVIDIA T4", 8.0], ["NVIDIA L4", 3.0]]
    assert all(point["usd_per_million_tokens"] is None for point in said.json["curve"])


def test_without_a_revenue_there_is_no_pay_back(rackwright, stacks):
    path = stacks / "chat-serve.yaml"
    path.write_text("".join(line for line in path.read_text().splitlines(keepends=True) if "revenue" not in line))
    said = rackwright("economics", path.name, "--json", *TODAY)
    assert said.json["revenue"] is None
    assert "No revenue is set, so break-even and pay-back time are not computed" in said.json["warnings"]


def test_a_training_spec_is_refused_with_the_place(rackwright, stacks):
    said = rackwright("economics", "mistral-7b-qlora.yaml", "--json", *TODAY)
    assert said.status == 2
    assert said.json["problems"][0]["code"] == "E-kind"
    assert said.json["problems"][0]["path"] == "workloads[0].kind"


def test_nothing_that_fits_is_shown_as_the_plan_shows_it(rackwright, stacks):
    path = stacks / "chat-serve.yaml"
    path.write_text(path.read_text().replace("target: 1 s", "target: 1 ms"))
    said = rackwright("economics", path.name, *TODAY)
    assert said.status == 1
    assert "No candidate meets every goal" in said.out
