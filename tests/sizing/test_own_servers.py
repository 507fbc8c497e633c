"""Sizing on own servers: exactly the servers of the inventory, and what an hour of one costs."""

from datetime import date
from typing import Any

import pytest
from rackwright.catalog import Catalog
from rackwright.catalog.rows import Fabric
from rackwright.report.terminal.bill import bill_text
from rackwright.sizing.economics.own_node import node_usd_per_hour
from rackwright.sizing.note import NoteKind
from rackwright.sizing.offers.own_servers import own_servers, with_own_servers
from rackwright.spec.spec import Spec
from rackwright.wording.notes import note_text
from rackwright.wording.plan_text import with_text
from rackwright.workflow.pipeline import Pipeline

from tests.own_plans import SERVE, TRAIN, XE9680, inventory, place

TODAY = date(2026, 11, 21)
LORA = TRAIN | {"adapter": {"type": "lora"}, "sequence_length": 4096, "global_batch_size": 64}
FULL = TRAIN | {"adapter": {"type": "none"}, "sequence_length": 4096, "global_batch_size": 128}


def spec(workload: dict[str, Any], where: dict[str, Any] | None = None, **goals: Any) -> Spec:
    return Spec.model_validate(
        {
            "api_version": "rackwright/v1",
            "name": "own",
            "workloads": [workload],
            "infra": {"any_of": [where or place()]},
            "goals": {"optimize_for": "time"} | goals,
        }
    )


def plan(workload: dict[str, Any], where: dict[str, Any] | None = None, **goals: Any):
    return Pipeline.of_spec(spec(workload, where, **goals), TODAY).plan


def notes(found) -> set[NoteKind]:
    return {note.kind for note in found.chosen.notes}


def test_candidates_use_at_most_the_servers_that_exist():
    found = plan(FULL)
    assert (found.chosen.candidate.machine, found.chosen.candidate.nodes) == ("xe9680-h100", 4)
    assert {row.candidate.nodes for row in (*found.fits, *found.rejected)} <= {1, 2, 4}


def test_three_servers_are_three_and_not_a_power_of_two():
    found = plan(LORA, place(servers={"nodes": ["a", "b", "c"]}))
    assert {row.candidate.nodes for row in (*found.fits, *found.rejected)} == {1, 2, 3}


def test_a_fleet_that_needs_more_servers_than_exist_is_rejected_with_its_distance():
    found = plan(SERVE | {"requests_per_second": 4000, "max_replicas": 4000}, place(servers={"nodes": ["a"]}))
    assert not found.fits
    assert any(r.limit == "capacity" and r.have == 1 for row in found.rejected for r in row.rejections)


def test_the_servers_have_the_hardware_of_the_inventory():
    catalog = with_own_servers(Catalog.default(), spec(FULL))
    machine = catalog.machine("xe9680-h100")
    assert (machine.vcpus, machine.memory_bytes, machine.accelerator_count) == (224, 2048 * 2**30, 8)
    assert (machine.fabric, machine.fabric_interfaces, machine.fabric_bytes_per_s) == (Fabric.INFINIBAND, 8, 8 * 400e9 / 8)
    assert machine.local_nvme_bytes == 8 * 3.84e12


def test_slower_infiniband_takes_longer():
    slow = {"nics": [{"kind": "infiniband", "speed": "EDR", "count": 1}]}
    assert plan(FULL, place(servers=slow)).chosen.duration_s.p50 > plan(FULL).chosen.duration_s.p50


def test_servers_without_rdma_do_not_share_a_job():
    found = plan(FULL, place(servers={"nics": [{"kind": "ethernet", "speed": "100 Gbit/s", "count": 2}]}))
    assert not found.fits
    assert any(r.limit == "fabric" for row in found.rejected for r in row.rejections)


def test_groups_with_one_model_have_different_names():
    where = place()
    where["inventory"]["servers"].append(XE9680 | {"name": "late", "nodes": ["z-1"]})
    assert [servers.machine for servers in own_servers(spec(FULL, where))] == ["xe9680-h100.lab.h100", "xe9680-h100.lab.late"]


def test_a_pin_selects_a_group():
    where = place() | {"pin": {"instance": "xe9680-h100", "nodes": 2}}
    chosen = plan(LORA, where).chosen.candidate
    assert (chosen.nodes, chosen.pinned) == (2, True)


def test_a_catalog_without_inventories_stays_the_same_object():
    aws = spec(FULL, {"cloud": "aws", "regions": ["us-east-1"]})
    assert with_own_servers(Catalog.default(), aws) is Catalog.default()


def test_the_stated_cost_of_an_hour_is_used():
    found = plan(FULL, place() | {"node_cost": {"per_hour": "18 USD"}})
    assert found.chosen.usd_per_hour == 4 * 18
    assert NoteKind.OWN_COST_STATED in notes(found)


def test_depreciation_power_and_cooling_are_added():
    cost = {"purchase": "350640 USD", "lifetime": "1461 d", "electricity": "0.10 USD", "pue": 1.5}
    found = plan(FULL, place() | {"node_cost": cost})
    watts = 1000 + 8 * 700 * 1.66
    assert found.chosen.usd_per_hour == pytest.approx(4 * (10 + watts / 1000 * 1.5 * 0.10))
    (note,) = (note for note in found.chosen.notes if note.kind is NoteKind.OWN_COST_PARTS)
    assert note_text(note).endswith("6.18 kW x PUE 1.5 x 0.1 USD/kWh".replace("6.18", f"{watts / 1000:.2f}"))
    assert found.machine.power.facility_watts == pytest.approx(1.5 * found.machine.power.it_watts)
    assert "pue" not in {item.name for item in found.assumptions}


def test_without_a_cost_a_plan_has_hours_and_says_so():
    found = plan(FULL)
    assert found.chosen.cost_usd is None
    assert found.chosen.duration_s is not None
    assert NoteKind.OWN_HOURS_ONLY in notes(found)


def test_a_budget_without_a_cost_of_the_servers_is_a_warning():
    """The budget of an unpriced plan passed without a word, with a total of 0.00 USD."""
    found = Pipeline.of_spec(spec(SERVE, max_cost="1000 USD"), TODAY)
    assert "Budget of 1,000 USD not checked: no `node_cost`, so the total is unknown" in with_text(found.plan).chosen.warnings
    assert bill_text(found.preview().bill).startswith("total unknown")
    assert NoteKind.OWN_BUDGET_UNCHECKED not in notes(plan(SERVE))
    assert NoteKind.OWN_BUDGET_UNCHECKED not in notes(plan(SERVE, place() | {"node_cost": {"per_hour": "1 USD"}}, max_cost="9999999 USD"))


def test_the_formula_is_straight_line_depreciation_and_facility_power():
    made = node_usd_per_hour(purchase_usd=87660, lifetime_s=8766 * 3600, watts=10000, usd_per_kwh=0.2, pue=1.5)
    assert (made.depreciation_usd, made.power_usd, made.usd_per_hour) == pytest.approx((10, 3, 13))


@pytest.mark.parametrize(("key", "value"), [("generated_at", "2026-11-30T08:00:00Z"), ("installed", [])])
def test_reading_the_cluster_again_keeps_the_recorded_decision(key, value):
    from rackwright.workflow.spec_digest import spec_digest

    first = place(installed=[{"name": "kueue", "version": "0.19.2", "namespace": "kueue-system"}])
    again = place(**({"installed": first["inventory"]["installed"]} | {key: value}))
    assert spec_digest(spec(FULL, first)) == spec_digest(spec(FULL, again))


def test_other_servers_change_the_recorded_decision():
    from rackwright.workflow.spec_digest import spec_digest

    fewer = {"cloud": "kubernetes", "inventory": inventory({"nodes": ["a"]})}
    assert spec_digest(spec(FULL)) != spec_digest(spec(FULL, fewer))


@pytest.mark.parametrize("workload", [FULL, SERVE])
def test_why_names_own_servers_without_a_price(workload):
    """`why` read "an unpublished price", as of a machine of a cloud."""
    found = with_text(plan(workload))
    assert found.chosen.cost_usd is None
    assert "unpublished price" not in found.scaling
    assert "own servers without a price" in found.scaling or workload is SERVE
