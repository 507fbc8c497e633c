"""A cloud is a profile, rows of the catalog and a compile path: an invented one is planned and compiled."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from rackwright import Catalog, check, compile_plan, load, size
from rackwright.catalog.query import offerings
from rackwright.catalog.rows import Availability, CapacityMode, Price, StoragePrice
from rackwright.cli import run
from rackwright.clouds import AWS, CloudProfile, names, register, unregister
from rackwright.compile.blueprints.box import box_plan
from rackwright.compile.compile import PATHS
from rackwright.cost.bill import bill
from rackwright.diagnostics.errors import UserError
from rackwright.stackplan import BlueprintKind

TODAY = date(2026, 11, 21)
TOY = CloudProfile(
    name="toy",
    owner_field="account",
    blueprints=frozenset({"box"}),
    zone_separator=".",
    residency={"eu": ("toyland",), "us": ("elsewhere",), "apac": ("elsewhere",)},
    capacity_modes=("on-demand",),
    max_tags=20,
    uri_scheme="toy",
    reserved_addresses=2,
    disk_volumes={"balanced": "toy-disk"},
    object_volume="toy-objects",
    links={"tags": "https://toy.example/tags"},
)
SPEC = """\
api_version: rackwright/v1
name: toy-box
workloads:
  - name: qlora
    kind: finetune
    model: {{base: mistral-7b}}
    adapter: {{type: qlora, rank: 16, targets: all-linear}}
    data: {{samples: 20000, tokens_per_sample: 512, epochs: 3, packed: true, size: 60 MB}}
    sequence_length: 2048
    global_batch_size: 32
infra: {{any_of: [{{cloud: toy, account: "123456789012", regions: [toyland], {more}}}]}}
blueprint: {{ttl: 7d}}
pricing: {{discounts: {{toy: 10 %}}}}
limits: {{residency: eu}}
tags: {{owner: test}}
"""


def toy_catalog() -> Catalog:
    """The catalog with one machine of the toy cloud: an L4 for one dollar an hour."""
    ours = Catalog.default()
    machine = replace(ours.machine_by_name["g6.xlarge"], name="toy.1", cloud="toy", capacity_modes=(CapacityMode.ON_DEMAND,))
    price = Price("toy.1", "toy", "toyland", CapacityMode.ON_DEMAND, 1.0, "node", "", "test", "2026-11-01")
    sold = Availability("toy.1", "toy", "toyland", (), "", "test", "2026-11-01")
    disk = replace(ours.volume_by_name["ebs-gp3"], name="toy-disk", cloud="toy")
    objects = replace(ours.volume_by_name["s3-standard"], name="toy-objects", cloud="toy")
    return replace(
        ours,
        machines=(*ours.machines, machine),
        prices=(*ours.prices, price),
        availability=(*ours.availability, sold),
        volumes=(*ours.volumes, disk, objects),
        storage_prices=(*ours.storage_prices, StoragePrice("toy-disk", "toy", "toyland", 1e-10, "", "test", "2026-11-01")),
    )


@pytest.fixture
def toy(monkeypatch) -> Iterator[Catalog]:
    catalog = toy_catalog()
    register(TOY)
    monkeypatch.setitem(PATHS, (BlueprintKind.BOX, TOY.name), box_plan)
    yield catalog
    unregister(TOY.name)


@pytest.fixture
def spec_file(tmp_path) -> Path:
    path = tmp_path / "toy-box.yaml"
    path.write_text(SPEC.format(more="zones: [toyland.b]"))
    return path


def test_a_registered_cloud_is_sized_compiled_checked_and_priced(toy, spec_file):
    spec = load(spec_file, catalog=toy)
    sizing = size(spec, toy, today=TODAY)
    fit = sizing.fits[0]
    assert (fit.candidate.cloud, fit.candidate.machine, fit.candidate.price_usd_per_hour) == ("toy", "toy.1", pytest.approx(0.9))
    plan = compile_plan(spec, sizing, fit, today=TODAY, catalog=toy)
    assert (plan.place.cloud, plan.place.region, plan.place.zone, plan.place.control_zones) == ("toy", "toyland", "toyland.b", ())
    assert plan.place.account == "123456789012"
    assert plan.guard is None
    assert [problem.code for problem in check(plan, catalog=toy) if problem.level == "error"] == []
    lines = {line.what: line for line in bill(plan, fit, spec, toy).lines}
    assert lines["root disk"].unit_price_usd is not None
    assert not [name for name in lines if "NAT" in name or "IOPS" in name]


@pytest.mark.parametrize("command", ["plan", "compile"])
def test_the_commands_know_a_registered_cloud(toy, spec_file, capsys, monkeypatch, command):
    """Commands accept no catalog, so they read the embedded one."""
    monkeypatch.setattr(Catalog, "default", lambda: toy)
    assert run([command, str(spec_file), "--json", "--today", TODAY.isoformat()]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert "toyland" in json.dumps(answer)


def test_default_zone_is_the_first_of_the_region(toy, tmp_path):
    path = tmp_path / "toy-box.yaml"
    path.write_text(SPEC.format(more="capacity: {ordered: [on-demand]}"))
    spec = load(path, catalog=toy)
    sizing = size(spec, toy, today=TODAY)
    assert compile_plan(spec, sizing, sizing.fits[0], today=TODAY, catalog=toy).place.zone == "toyland.a"


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ("capacity: {ordered: [spot]}", "S-43"),
        ("zones: [elsewhere.a]", "S-45"),
        ("project: my-project", "S-40"),
        ("network: {cidr: 10.20.0.0/16}", "N-19"),
    ],
)
def test_rules_follow_the_profile(toy, tmp_path, more, code):
    path = tmp_path / "toy-box.yaml"
    path.write_text(SPEC.format(more=more))
    with pytest.raises(UserError) as caught:
        load(path, catalog=toy)
    assert code in {problem.code for problem in caught.value.problems}


def test_an_unregistered_cloud_is_rejected(spec_file):
    assert TOY.name not in names()
    with pytest.raises(UserError) as caught:
        load(spec_file)
    assert {problem.code for problem in caught.value.problems} == {"S-choice"}


def test_machines_of_a_second_owned_cloud_have_neither_region_nor_price():
    register(CloudProfile(name="site", owner_field="inventory", is_owned=True))
    try:
        ours = Catalog.default()
        node = replace(ours.machine_by_name["g6.xlarge"], name="site.1", cloud="site", capacity_modes=(CapacityMode.ON_DEMAND,))
        (offering,) = offerings(replace(ours, machines=(node,)), "site")
        assert (offering.region, offering.price_usd_per_hour, offering.price_words) == ("", None, "owned: no hourly price")
    finally:
        unregister("site")


def test_a_name_is_registered_once():
    with pytest.raises(Exception, match="cloud aws is registered twice"):
        register(AWS)
