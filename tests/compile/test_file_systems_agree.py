"""The file system that `plan` shows is the one in the StackPlan and on the bill: tier, capacity and throughput, for every example, sizing
case and described file system."""

from datetime import date
from pathlib import Path

import pytest
import yaml
from rackwright import UserError, compile_plan, load, size
from rackwright.catalog.read import Catalog
from rackwright.clouds import profile
from rackwright.cost.bill import bill
from rackwright.spec.spec import Spec
from rackwright.units import GIB
from rackwright.workflow.load import read

ROOT = Path(__file__).parents[2]
TODAY = date(2026, 11, 21)
SPECS = [
    *(path for path in sorted((ROOT / "stacks").glob("*.yaml")) if not path.name.startswith("Pulumi.")),
    *sorted((ROOT / "tests" / "cases" / "sizing").glob("*/spec.yaml")),
]
DESCRIBED = (
    {"capacity": "9600 GiB", "throughput": 250},
    {"capacity": "38400 GiB", "efa": True},
    {"throughput": 1000},
    {"efa": False},
    {"tiering": "intelligent"},
)


PLACE = "{cloud: %s, regions: [%s], capacity: {ordered: [on-demand]}%s}"
RUNS = {
    "405b": ("{name: job, kind: pretrain, model: {base: llama-3.1-405b}, data: {tokens: 1e11}, sequence_length: 8192, "
             "global_batch_size: 512}", ", pin: {instance: p5en.48xlarge, nodes: 64}"),
    "70b": ("{name: job, kind: finetune, model: {base: llama-3.1-70b}, data: {samples: 1e5, tokens_per_sample: 2000}}", ""),
    "8b-one-machine": ("{name: job, kind: finetune, model: {base: llama-3.1-8b}, data: {samples: 1e5, tokens_per_sample: 2000}}",
                       ", pin: {instance: p5.48xlarge, nodes: 1}"),
    "lora-four-machines": ("{name: job, kind: finetune, model: {base: llama-3.1-70b}, adapter: {type: lora}, "
                           "data: {samples: 1e5, tokens_per_sample: 2000}}", ", pin: {instance: p5.48xlarge, nodes: 4}"),
    "p-tuning": ("{name: job, kind: finetune, model: {base: llama-3.1-8b}, adapter: {type: p-tuning, virtual_tokens: 100}, "
                 "data: {samples: 2000, tokens_per_sample: 500, epochs: 3}}", ""),
    "vision": ("{name: job, kind: pretrain, model: {base: vit-b-16}, global_batch_size: 1024, "
               "data: {samples: 1.28e6, epochs: 30, size: 138 GB}}", ", pin: {instance: p5.48xlarge, nodes: 2}"),
}  # fmt: skip


def spec_of(workload: str, place: str, more: str = "") -> Spec:
    return read(f"api_version: rackwright/v1\nname: test\nworkloads: [{workload}]\ninfra: {{any_of: [{place}]}}\n{more}")


def compare(spec):
    plan = size(spec, today=TODAY)
    if plan.chosen is None or plan.machine is None:
        return None
    try:
        stack = compile_plan(spec, plan, plan.chosen, today=TODAY)
    except UserError:
        return None
    shown, lines = plan.machine.file_system, {line.what: line for line in bill(stack, plan.chosen, spec, Catalog.default()).lines}
    if lustre := stack.lustre:
        assert shown is not None
        assert shown.bytes == lustre.capacity_gib * GIB
        if lustre.kind == "ssd":
            tier = lustre.throughput_mb_s_per_tib
            of_aws = stack.place.cloud == "aws"
            assert shown.tier == (f"fsx-lustre-persistent2-{tier}{'-efa' * lustre.rdma}" if of_aws else f"managed-lustre-{tier}")
            assert shown.bytes_per_s == pytest.approx(tier * 1e6 * lustre.capacity_gib / 1024)
            line = lines[f"Lustre file system, {tier} MB/s per TiB"]
            assert line.quantity == lustre.capacity_gib
            assert shown.usd_per_month == (line.unit_price_usd and pytest.approx(line.unit_price_usd * line.quantity))
        else:
            assert (shown.tier, shown.bytes_per_s) == ("fsx-lustre-intelligent-tiering", lustre.throughput_mb_s * 1e6)
            assert lines["Lustre file system in tiers: throughput"].quantity == lustre.throughput_mb_s
    elif stack.box and spec.is_training:
        rated = stack.box.data.throughput_mib_s
        assert (shown.tier, shown.bytes) == (profile(stack.place.cloud).disk_volumes[stack.box.data.kind], stack.box.data.size_gib * GIB)
        assert shown.bytes_per_s == (rated and rated * 2**20)
        assert lines["data disk"].quantity == stack.box.data.size_gib
        billed = sum(line.unit_price_usd * line.quantity for what, line in lines.items() if what.startswith("data disk"))
        assert shown.usd_per_month == pytest.approx(billed)
    elif spec.is_training and spec.blueprint.storage == "auto" and not profile(stack.place.cloud).is_owned:
        line, checkpoints = lines["bucket checkpoints"], next(bucket for bucket in stack.buckets if bucket.key == "checkpoints")
        assert shown.tier == {"aws": "s3-standard", "gcp": "gcs-standard"}[stack.place.cloud]
        assert shown.bytes == pytest.approx(line.quantity * GIB) == pytest.approx(checkpoints.expected_gib * GIB)
        assert shown.usd_per_month == pytest.approx(line.unit_price_usd * line.quantity, rel=1e-3)
        assert checkpoints.versioned == (plan.storage.trainer == "hf"), "only megabytes of adapters afford versions"
    else:
        assert shown is None
    return stack


@pytest.mark.parametrize("path", SPECS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_plan_shows_the_storage_that_is_built(path):
    compare(load(path))


@pytest.mark.parametrize("name", RUNS)
def test_the_plan_shows_the_storage_of_every_kind_of_run(name):
    workload, pin = RUNS[name]
    assert compare(spec_of(workload, PLACE % ("aws", "us-east-1", pin)))


@pytest.mark.parametrize("options", DESCRIBED, ids=str)
def test_the_plan_shows_a_described_file_system(options):
    data = yaml.safe_load((ROOT / "stacks" / "llama-70b-sft.yaml").read_text())
    data["blueprint"] = data.get("blueprint", {}) | {"kind": "training-cluster", "storage": {"lustre": options}}
    stack = compare(read(yaml.safe_dump(data)))
    assert stack is not None
    assert stack.lustre is not None


@pytest.mark.parametrize("options", [{}, {"throughput": 125}, {"capacity": "18000 GiB", "throughput": 500}], ids=str)
def test_the_plan_shows_a_described_file_system_on_google_cloud(options):
    data = yaml.safe_load((ROOT / "stacks" / "llama-70b-gke.yaml").read_text())
    stack = compare(read(yaml.safe_dump(data | {"blueprint": data["blueprint"] | {"storage": {"lustre": options}}})))
    assert stack is not None
    assert stack.lustre is not None


def test_no_storage_in_the_spec_is_no_file_system_in_the_plan():
    data = yaml.safe_load((ROOT / "stacks" / "llama-70b-sft.yaml").read_text())
    data["blueprint"] = data.get("blueprint", {}) | {"kind": "training-cluster", "storage": "none"}
    assert compare(read(yaml.safe_dump(data))).lustre is None
