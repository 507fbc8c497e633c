"""The bill of each blueprint: every part with a cost has a line, and an unknown price is named and never zero."""

from dataclasses import replace

import pytest
from rackwright.catalog.read import Catalog
from rackwright.cost import bill
from rackwright.report.plan_json import bill_json
from rackwright.report.terminal.bill import each, examples
from rackwright.spec.spec import Acknowledgement
from rackwright.validation.stack import StackContext, stack_problems

from tests import plans

CASES = {"box": plans.box_case(), "training": plans.training_case(), "fleet": plans.fleet_case(), "tpu": plans.tpu_case()}
CATALOG = Catalog.default()


def billed(case):
    spec, _, fit = case
    return bill(plans.compiled(case), fit, spec, CATALOG)


@pytest.mark.parametrize("name", CASES)
def test_sums_are_those_of_the_known_lines(name):
    found = billed(CASES[name])
    assert found.hourly_usd == pytest.approx(sum(line.hourly_usd or 0 for line in found.lines))
    assert found.total_usd > found.lines[0].total_usd
    assert all((line.total_usd is None) == (line.quantity is None or line.unit_price_usd is None) for line in found.lines)


@pytest.mark.parametrize("name", CASES)
def test_every_known_price_has_a_date_and_a_source(name):
    for line in billed(CASES[name]).lines:
        assert line.unit_price_usd is None or (line.price_date and line.source), line.what


def test_a_training_bill_lists_every_part():
    whats = [line.what for line in billed(CASES["training"]).lines]
    for part in ("p5.48xlarge", "system nodes", "control plane", "NAT gateway", "Lustre", "disks of gpu", "encryption key"):
        assert any(part in what for what in whats), part


def test_run_pays_for_its_hours_and_serving_for_a_month():
    training, fleet = billed(CASES["training"]), billed(CASES["fleet"])
    assert (training.hours, training.covers) == (20, "a run of 20.0 h")
    assert (fleet.hours, fleet.covers) == (730, "a month of 730 h")


def test_machines_cost_the_same_as_in_sizing():
    fit = CASES["training"][2]
    assert billed(CASES["training"]).lines[0].total_usd == fit.cost_usd.p50


def test_unknown_price_is_named_and_not_counted():
    spec, _, fit = CASES["training"]
    unpriced = replace(fit, candidate=replace(fit.candidate, price_usd_per_hour=None))
    found = bill(plans.compiled(CASES["training"]), unpriced, spec, CATALOG)
    line = found.lines[0]
    assert (line.hourly_usd, line.total_usd, line.price_words) == (None, None, "not published")
    assert "p5.48xlarge, on-demand" in found.unknown


def test_lustre_line_is_capacity_times_price():
    stack = plans.training_plan()
    line = next(line for line in billed(CASES["training"]).lines if "Lustre" in line.what)
    assert line.quantity == stack.lustre.capacity_gib
    assert line.hourly_usd == pytest.approx(stack.lustre.capacity_gib * 0.415 / 730)


def test_existing_buckets_are_not_billed_twice():
    assert not any("bucket" in line.what for line in billed(CASES["training"]).lines)
    assert "bucket checkpoints" in billed(CASES["box"]).by_use


def test_the_price_of_another_region_is_marked():
    spec, sizing, fit = plans.training_case()
    there = replace(fit, candidate=replace(fit.candidate, region="us-west-2", zones=()))
    found = bill(plans.compiled((spec, sizing, there)), there, spec, CATALOG)
    assert next(line for line in found.lines if line.what == "NAT gateway").price_words == "0.045 USD / hour (us-east-1)"


def check_budget(costs, stack, fit, spec):
    """Problems of V-111."""
    acknowledged = [entry.rule for entry in spec.acknowledge]
    return [p for p in stack_problems(StackContext(stack, CATALOG, costs, fit, spec), acknowledged) if p.code == "V-111"]


def test_whole_bill_over_the_goal_is_a_warning():
    spec, _, fit = CASES["training"]
    tight = spec.model_copy(update={"goals": spec.goals.model_copy(update={"max_cost": 200.0})})
    found = check_budget(billed(CASES["training"]), plans.training_plan(), fit, tight)
    assert [(p.code, str(p.level)) for p in found] == [("V-111", "warning")]
    assert "goals.max_cost is 200 USD" in found[0].reason
    assert check_budget(billed(CASES["training"]), plans.training_plan(), fit, spec) == []
    accepted = tight.model_copy(update={"acknowledge": (Acknowledgement(rule="V-111", reason="agreed with finance"),)})
    assert check_budget(billed(CASES["training"]), plans.training_plan(), fit, accepted) == []


def test_fleet_at_its_largest_is_held_to_the_goal():
    spec, _, fit = CASES["fleet"]
    tight = spec.model_copy(update={"goals": spec.goals.model_copy(update={"max_cost": 3000.0})})
    found = check_budget(billed(CASES["fleet"]), plans.fleet_plan(), fit, tight)
    assert found[0].reason.startswith("a month with the maximum of 8 machines costs 5,842 USD")


def test_pools_of_a_fallback_are_alternatives_and_not_counted_one_by_one():
    spec, sizing, fit = plans.eks_fleet_case(place=plans.AWS | {"capacity": {"fallback": ["on-demand", "spot"]}})
    tight = spec.model_copy(update={"goals": spec.goals.model_copy(update={"max_cost": 7000.0})})
    stack = plans.compiled((tight, sizing, fit))
    assert [pool.nodes_max for pool in stack.pools if pool.role == "accelerator"] == [8, 8]
    found = check_budget(bill(stack, fit, tight, CATALOG), stack, fit, tight)
    assert [problem.reason for problem in found] == ["a month with the maximum of 8 machines costs 10,868 USD; goals.max_cost is 7,000 USD"]


def test_monitoring_and_the_address_of_the_gateway_are_billed():
    found = {line.what: line for line in billed(CASES["training"]).lines}
    assert found["detailed metrics of machines"].quantity == 7 * (4 + 2)
    assert found["alarms on idle machines"].quantity == 1
    assert found["public IPv4 address of the NAT gateway"].unit_price_usd == 0.005
    assert "alarms on idle machines" not in [line.what for line in billed(plans.eks_fleet_case()).lines]  # Karpenter removes idle ones


def test_machines_of_pools_that_start_empty_and_their_disks_cost_nothing():
    place = plans.AWS | {"capacity": {"fallback": ["on-demand", "spot"]}}
    found = billed(plans.eks_fleet_case(place=place))
    assert not [line.what for line in found.lines if "gpu-spot" in line.what]


def test_a_fleet_on_aws_pays_for_its_load_balancer():
    line = next(line for line in billed(plans.eks_fleet_case()).lines if line.what == "internal load balancer")
    assert (line.quantity, line.unit_price_usd) == (1, 0.0225)
    assert line.total_usd == pytest.approx(16.43, abs=0.01)


def test_additional_pools_are_billed_at_their_initial_size():
    place = plans.AWS | {"capacity": {"fallback": ["on-demand", "spot"]}}
    pools = [
        {"name": "debug", "instance": "g6e.12xlarge", "nodes": 2, "at_least": 1},
        {"name": "cpu", "instance": "m7i.4xlarge", "nodes": 4},
    ]
    found = {line.what: line.quantity for line in billed(plans.training_case(place=place, blueprint={"ttl": "14d", "pools": pools})).lines}
    assert found["p5.48xlarge, on-demand"] == 4
    assert found["pool debug, g6e.12xlarge, on-demand"] == 1
    assert not [what for what in found if "pool cpu" in what or "gpu-spot" in what]
    assert found["disks of gpu"] == 800


def test_prices_whose_source_calls_them_examples_are_marked():
    stack, fit, spec = plans.training_plan(), plans.training_case()[2], plans.training_case()[0]
    costs = bill(stack, fit, spec, Catalog.default())
    marked = [line for line in costs.lines if line.illustrative]
    assert [line.what for line in marked] == ["Lustre file system, 500 MB/s per TiB"]
    assert marked[0].price_words == "0.415 USD / GiB-month (illustrative)"
    assert [row["illustrative"] for row in bill_json(costs)["lines"]] == [line.illustrative for line in costs.lines]
    assert each(marked[0]) == "0.415 / GiB-month (illustrative)"
    assert examples(costs).startswith(f"{marked[0].total_usd:,.2f} USD of the total at illustrative prices")
    assert examples(replace(costs, lines=tuple(line for line in costs.lines if not line.illustrative))) == ""


@pytest.mark.parametrize("name", ["training", "fleet"])
def test_the_disk_of_prometheus_is_billed(name):
    line = next(line for line in billed(CASES[name]).lines if line.what == "disk of kube-prometheus-stack")
    assert (line.quantity, line.unit) == (2 * 40, "GiB")
    assert line.hourly_usd
