"""Cost of accelerators per team: prices of parts, series per workload, and the pods that count."""

import math
import re
from dataclasses import replace

import pytest
from rackwright.catalog.read import Catalog
from rackwright.catalog.sharing import equal_parts
from rackwright.compile.observability.team_cost import COST, PRICE
from rackwright.cost.bill import bill
from rackwright.stackplan import StackPlan

from tests import plans
from tests.compile.test_observability import rules_of
from tests.compile.test_several_workloads import KEY, several
from tests.compile.test_sharing import MIG, MPS, SLICED, on_one_pool


def gke_case(sharing):
    spec, sized, fit = plans.fleet_case()
    given = spec.model_copy(update={"blueprint": spec.blueprint.model_copy(update={"sharing": sharing.strategy})})
    return given, sized, replace(fit, candidate=replace(fit.candidate, sharing=sharing, nodes=1))


def costs_of(plan: StackPlan, record: str = COST) -> dict[str, dict]:
    """Workload -> its rule."""
    return {rule["labels"]["workload"]: rule for rule in rules_of(plan) if rule.get("record") == record}


def price_of(rule: dict) -> float:
    return float(rule["expr"].removeprefix("vector(").removesuffix(")"))


CASES = {
    "mig": plans.shared_fleet_case(MIG),
    "mps": plans.shared_fleet_case(equal_parts("mps", 3)),
    "time-slicing": plans.shared_fleet_case(SLICED),
    "gke": gke_case(equal_parts("mps", 4)),
    "whole": plans.eks_fleet_case(),
    "one-pool": on_one_pool(*several(team="chat", embed=KEY)),
    "own-pools": several(),
}


@pytest.mark.parametrize("name", CASES)
def test_replicas_cost_at_most_the_machines_of_the_bill(name):
    spec, sized, fit = CASES[name]
    plan = plans.compiled((spec, sized, fit))
    lines = {line.what: line.hourly_usd for line in bill(plan, fit, spec, Catalog.default()).lines}
    machines = sum(usd for what, usd in lines.items() if usd and any(pool.machine in what for pool in plan.pools if pool.does_the_work))
    rules = costs_of(plan, PRICE)
    assert len(rules) == len(fit.each_workload)
    replicas = {each.workload or spec.workload.name: each.candidate for each in fit.each_workload}
    used = sum(price_of(rules[name]) * c.replicas * c.parallelism.accelerators for name, c in replicas.items())
    assert 0 < used <= machines * 1.00001
    assert all(math.isclose(price_of(rules[name]), c.price_usd_per_hour / c.devices_per_node, rel_tol=1e-5) for name, c in replicas.items())


@pytest.mark.parametrize(("sharing", "resource"), [(MIG, "nvidia_com_mig_1g_10gb"), (MPS, "nvidia_com_gpu_shared")])
def test_pods_on_shared_accelerators_request_parts(sharing, resource):
    (rule,) = costs_of(plans.compiled(plans.shared_fleet_case(sharing))).values()
    assert f'resource="{resource}"' in rule["expr"]


def test_workloads_of_one_team_have_a_series_each_from_their_own_pool():
    plan = plans.compiled(several(team="chat", embed=KEY))
    rules = costs_of(plan)
    assert {name: rule["labels"]["team"] for name, rule in rules.items()} == {"chat": "chat", "embed": "chat"}
    assert [rules[name]["expr"].rpartition(" ")[2] for name in ("chat", "embed")] == ["1.861", "0.526"]


def pods_of(case) -> re.Pattern[str]:
    (rule,) = costs_of(plans.compiled(case)).values()
    return re.compile(re.search(r'pod=~"([^"]*)"', rule["expr"])[1])


def test_only_pods_of_the_workload_count():
    """Names of pods: of a Deployment, and of a LeaderWorkerSet, whose workers have an index from 1."""
    ours, groups = pods_of(plans.eks_fleet_case()), pods_of(plans.wide_fleet_case())
    assert ours.fullmatch("chat-7d9f5c6b8d-x2x4z")
    assert groups.fullmatch("chat-0")
    assert groups.fullmatch("chat-1-3")
    for pattern in (ours, groups):
        for other in ("chat-small-7d9f5c6b8d-x2x4z", "chat-small-0", "chat-small-0-1", "chat-1-0", "chat-1-0-1"):
            assert not pattern.fullmatch(other), other
