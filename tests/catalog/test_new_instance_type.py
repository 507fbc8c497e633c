"""A new instance type with a new accelerator is rows of the catalog: it is planned, compiled, checked, priced and declared."""

import csv
import shutil
from collections.abc import Iterable
from datetime import date
from pathlib import Path

import pytest
from rackwright import bill, check, compile_plan, estimate, read, size
from rackwright.catalog import Catalog
from rackwright.catalog.read import DATA
from rackwright.diagnostics.errors import UserError
from rackwright.estimator.config.accelerators import UnknownAccelerator, find, links
from rackwright.sizing.rejection import Reason
from rackwright.validation.stack import check_quota, quota_needs
from rackwright_pulumi.program.build import declare
from rackwright_pulumi.resource_graph import Graph
from rackwright_pulumi.testing import record

TODAY = date(2026, 11, 21)
NEW = {"p6-b200": "p9", "NVIDIA B200 SXM": "NVIDIA R900 SXM", "b200": "r900", "blackwell": "r9"}
"""Names in the rows of p6-b200.48xlarge and its accelerator -> names in the invented rows."""
PEAK, MEASURED, HOST_GB_S, SCALE_OUT_GB_S = 2250, 2137.5, 100, 80
"""TFLOP/s of the data sheet and of the measurement (95 % of it), and the links of the invented generation."""
CELLS = {
    "prices_aws.csv": {"usd_per_hour": "100"},
    "accelerators.csv": {"bf16_tflops": str(PEAK), "measured_bf16_tflops": str(MEASURED)},
    "accelerator_generations.csv": {"host_gb_s": str(HOST_GB_S), "scale_out_gb_s": str(SCALE_OUT_GB_S)},
}
KEYS = {
    "accelerators.csv": "name",
    "accelerator_generations.csv": "generation",
    "aws_machines.csv": "name",
    "fabrics.csv": "machine",
    "prices_aws.csv": "sku",
    "availability_aws.csv": "sku",
    "aws_families.csv": "family",
}
SPEC = """
api_version: rackwright/v1
name: new-machine
workloads:
  - name: sft
    kind: finetune
    model: {base: llama-3.1-70b}
    data: {samples: 250000, tokens_per_sample: 1800, size: 3 GB}
    sequence_length: 4096
    global_batch_size: 128
    adapter: {type: none}
goals: {max_cost: 900000 USD}
infra:
  any_of:
    - {cloud: aws, account: "123456789012", regions: [us-east-1], zones: [us-east-1a], pin: {instance: p9.48xlarge, nodes: 2}}
blueprint: {kind: training-cluster, notify: [team@example.com], api_access: {cidrs: [203.0.113.0/24]}, storage: {lustre: {efa: true}}}
tags: {owner: test, cost-centre: "4711"}
"""


def renamed(cell: str) -> str:
    for old, new in NEW.items():
        cell = cell.replace(old, new)
    return cell


def catalog_with(folder: Path, files: Iterable[str] = KEYS) -> Catalog:
    """The embedded catalog, and p9.48xlarge: eight R900 as the B200 in p6-b200.48xlarge, sold in us-east-1 for 100 USD an hour."""
    shutil.copytree(DATA, folder)
    for file in files:
        key = KEYS[file]
        with (folder / file).open(encoding="utf-8", newline="") as lines:
            reader = csv.DictReader(lines)
            rows, columns = list(reader), reader.fieldnames
        new = [{name: renamed(cell) for name, cell in row.items()} for row in rows if row[key].startswith(tuple(NEW))]
        assert new, file
        rows += [row | CELLS.get(file, {}) for row in new]
        with (folder / file).open("w", encoding="utf-8", newline="") as lines:
            writer = csv.DictWriter(lines, columns)
            writer.writeheader()
            writer.writerows(rows)
    return Catalog.load(folder)


@pytest.fixture(scope="module")
def catalog(tmp_path_factory) -> Catalog:
    return catalog_with(tmp_path_factory.mktemp("catalog") / "data")


@pytest.fixture(scope="module")
def built(catalog):
    spec = read(SPEC, catalog=catalog)
    plan = size(spec, catalog, today=TODAY)
    assert plan.fits, [str(miss.rejections) for miss in plan.rejected]
    return spec, plan, compile_plan(spec, plan, plan.fits[0], today=TODAY, catalog=catalog)


def test_the_embedded_catalog_does_not_have_it():
    assert "p9.48xlarge" not in Catalog.default().machine_by_name
    assert "r900" not in Catalog.default().accelerator_by_name


def test_the_estimator_reads_the_rates_of_its_rows(catalog):
    found = find("R900", catalog)
    assert found.sustained_share == pytest.approx(MEASURED / PEAK)
    assert found.host_bytes_per_s == HOST_GB_S * 1e9
    assert links(found).scale_out_bytes_per_s == SCALE_OUT_GB_S * 1e9
    with pytest.raises(UnknownAccelerator):
        find("R900")


def test_it_is_estimated_with_its_catalog(catalog):
    config = {
        "kind": "serving",
        "model": "llama-3.1-8b",
        "hardware": {"accelerator": "r900"},
        "engine": {"name": "vllm"},
        "input_tokens": 512,
        "output_tokens": 128,
        "concurrency": 8,
    }
    found = estimate(config, catalog=catalog)
    assert found.capacity_bytes == catalog.accelerator_by_name["r900"].memory_bytes
    with pytest.raises(UserError, match="'r900' is not an accelerator"):
        estimate(config)


def test_a_generation_without_links_is_refused(tmp_path):
    rows = catalog_with(tmp_path / "data", [file for file in KEYS if file != "accelerator_generations.csv"])
    plan = size(read(SPEC, catalog=rows), rows, today=TODAY)
    assert plan.fits == ()
    reasons = {(why.reason, why.detail) for miss in plan.rejected if miss.candidate.machine == "p9.48xlarge" for why in miss.rejections}
    assert (Reason.UNPUBLISHED, "links of generation r9") in reasons


def test_it_is_sized_with_its_price(built, catalog):
    _, plan, _ = built
    assert (plan.fits[0].candidate.machine, plan.fits[0].candidate.price_usd_per_hour) == ("p9.48xlarge", 100)
    assert plan.catalog_digest == catalog.digest != Catalog.default().digest


def test_it_is_compiled_with_its_interfaces_images_and_queues(built):
    pool = built[2].pool("gpu")
    assert (pool.machine, pool.fabric_interfaces, pool.lustre_interfaces, pool.image) == ("p9.48xlarge", 8, 8, "al2023-nvidia")
    (topology,) = [m.body for m in built[2].manifests if m.body["kind"] == "Topology"]
    assert len(topology["spec"]["levels"]) == 5, "the four network layers of the copied row, and the host"


def test_rules_quotas_and_the_bill_read_the_same_rows(built, catalog):
    spec, plan, stack = built
    assert [problem for problem in check(stack, catalog=catalog) if problem.level == "error"] == []
    need = {need.code: need.amount for need in quota_needs(stack, catalog)}
    assert need["L-417A185B"] >= 2 * 192
    assert [problem.code for problem in check_quota(stack, {"L-417A185B": 192}, catalog)] == ["V-115"]
    costs = bill(stack, plan.fits[0], spec, catalog)
    assert any(line.hourly_usd == 200 for line in costs.lines)


def test_rules_refuse_values_outside_its_rows(built, catalog):
    """The embedded catalog has neither the machine nor an image with its drivers."""
    assert "V-39" in {problem.code for problem in check(built[2])}


def test_its_graph_is_recorded(built):
    graph: Graph = record(lambda: declare(built[2]) and None)
    template = next(n for n in graph.by_type("aws:ec2/launchTemplate:LaunchTemplate") if "-pool-gpu-" in n.name)
    assert template.inputs["instanceType"] == "p9.48xlarge"
    assert sum(nic["interfaceType"] == "efa-only" for nic in template.inputs["networkInterfaces"]) == 8
