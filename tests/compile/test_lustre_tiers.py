"""Names and rates of Lustre tiers come from the catalog: code composes no name and reads one rate."""

from dataclasses import replace

import pytest
from rackwright.catalog import query
from rackwright.catalog.read import Catalog
from rackwright.compile.compile import compile_plan
from rackwright.diagnostics.errors import Bug
from rackwright.sizing.node.file_system import planned_file_system
from rackwright.stackplan import LustrePlan, StackPlan
from rackwright.units import GIB, TIB
from rackwright.validation.stack import check, refuse_broken_invariants
from rackwright.validation.stack.storage.lustre import delivered_throughput

from tests import plans

CATALOG = Catalog.default()
NAME = "fsx-lustre-persistent2-500"
OPTIONS = {"ttl": "14d", "kind": "training-cluster", "storage": {"lustre": {"throughput": 500, "efa": False}}}


def catalog_with(**changes) -> Catalog:
    """The catalog with another row for the 500 tier."""
    rows = tuple(replace(row, **changes) if row.name == NAME else row for row in CATALOG.volumes)
    return replace(CATALOG, volumes=rows)


def built(catalog: Catalog) -> tuple[StackPlan, object]:
    """The stack, and the file system that its plan shows."""
    spec, sizing, fit = plans.training_case(blueprint=OPTIONS)
    machine = catalog.machine(fit.candidate.machine)
    shown = planned_file_system(spec, sizing, fit.candidate, machine, catalog, lambda: None)
    return compile_plan(spec, sizing, fit, today=plans.TODAY, catalog=catalog), shown


def test_a_renamed_tier_is_built_and_checked_under_its_new_name():
    catalog = catalog_with(name="ssd-500")
    stack, shown = built(catalog)
    assert stack.lustre.volume == shown.tier == "ssd-500"
    assert delivered_throughput(stack, catalog)
    assert [p for p in check(stack, catalog=catalog) if p.code == "V-49"] == []


@pytest.mark.parametrize(
    ("plan", "volume"),
    [
        (LustrePlan(4800, 500, "a"), NAME),
        (LustrePlan(9600, 500, "a", rdma=True), f"{NAME}-efa"),
        (LustrePlan(4000, 0, "a", kind="tiered", throughput_mb_s=8000), query.INTELLIGENT_TIERING),
        (LustrePlan(4800, 300, "a"), ""),
    ],
)
def test_a_plan_without_the_name_gets_it_from_the_catalog(plan, volume):
    assert plan.volume == volume


@pytest.mark.parametrize("storage", [OPTIONS["storage"], {"lustre": {"tiering": "intelligent"}}], ids=["ssd", "tiered"])
def test_an_unknown_tier_is_a_broken_invariant(storage):
    spec, sizing, fit = plans.training_case(blueprint=OPTIONS | {"storage": storage})
    stack = compile_plan(spec, sizing, fit, today=plans.TODAY)
    unknown = replace(stack, lustre=replace(stack.lustre, volume="fsx-lustre-of-tomorrow"))
    with pytest.raises(Bug, match=r"V-49 at lustre\.volume: The tier is 'fsx-lustre-of-tomorrow'"):
        refuse_broken_invariants(check(unknown))
    existing = replace(unknown, lustre=replace(unknown.lustre, existing_id="fs-0123456789abcdef0"))
    assert "V-49" not in {problem.code for problem in check(existing)}


def test_the_rate_of_a_tier_is_the_lower_one_of_reads_and_writes():
    tier = CATALOG.volume(NAME)
    assert query.tier_bytes_per_s(tier, 2 * TIB) == 1000e6
    assert query.tier_bytes_per_s(replace(tier, write_bytes_per_s_per_tib=200e6), TIB) == 200e6
    assert query.tier_bytes_per_s(replace(tier, write_bytes_per_s_per_tib=None), TIB) == 500e6
    assert query.tier_bytes_per_s(CATALOG.volume(query.INTELLIGENT_TIERING), TIB) == 0.0


def test_size_plan_and_rule_use_the_same_rate():
    """Reads of 600 MB/s per TiB do not make up for writes of 500, which the checkpoints need."""
    catalog = catalog_with(read_bytes_per_s_per_tib=600e6)
    stack, shown = built(catalog)
    rate = 500e6 * stack.lustre.capacity_gib * GIB / TIB
    assert stack.lustre.capacity_gib == 16800
    assert shown.bytes_per_s == delivered_throughput(stack, catalog).tier_bytes_per_s == rate
