"""Mistakes of GPU clusters on GKE: each is refused before any call, with a rule, a value that works, and a page."""

from dataclasses import replace

import pytest
from rackwright.stackplan import CapacityPlan, StackPlan
from rackwright.validation.stack import check

from tests import gke_plans


def with_pool(plan: StackPlan, **changes) -> StackPlan:
    return replace(plan, pools=tuple(replace(pool, **changes) if pool.name == "gpu" else pool for pool in plan.pools))


def mega() -> StackPlan:
    return gke_plans.GKE["gke-tcpxo"]()


def seven_networks() -> StackPlan:
    plan = mega()
    return replace(plan, network=replace(plan.network, accelerator_networks=plan.network.accelerator_networks[:7]))


def small_pod_range() -> StackPlan:
    plan = mega()
    (nodes,) = plan.network.subnets
    subnet = replace(nodes, secondary=(("pods", "10.4.0.0/23"), ("services", "10.0.32.0/20")))
    return replace(plan, network=replace(plan.network, subnets=(subnet,)))


def overlapping_networks() -> StackPlan:
    plan = mega()
    first, *others = plan.network.accelerator_networks
    return replace(plan, network=replace(plan.network, accelerator_networks=(replace(first, cidr=plan.network.subnets[0].cidr), *others)))


def ethernet_mtu() -> StackPlan:
    plan = mega()
    first, *others = plan.network.accelerator_networks
    return replace(plan, network=replace(plan.network, accelerator_networks=(replace(first, mtu=1460), *others)))


def reserved(**more) -> CapacityPlan:
    return CapacityPlan("reservation", reservation_id="team", zone="us-central1-b", **more)


CASES = {
    "seven networks of A3 Mega": (seven_networks, "V-59", "plan 8 networks"),
    "a reservation of other hardware": (lambda: with_pool(mega(), capacity=reserved(machine="a3-highgpu-8g")), "R-11", "use a3-highgpu-8g"),
    "a reservation with other local SSDs": (lambda: with_pool(mega(), capacity=reserved(local_ssds=4)), "V-68", "with 16 local SSDs"),
    "a zone without the type": (lambda: with_pool(mega(), zones=("us-central1-f",)), "V-30", "us-central1-"),
    "pods that do not fit": (small_pod_range, "V-270", "use a /22 or larger"),
    "networks that overlap": (overlapping_networks, "V-62", "192.168."),
    "an MTU of Ethernet": (ethernet_mtu, "V-63", "set it to 8244"),
    "a label with capital letters": (lambda: replace(mega(), tags=(("Team", "NLP"),)), "V-12", "rename it"),
    "flex-start with a reservation": (
        lambda: with_pool(mega(), capacity=CapacityPlan("flex-start", reservation_id="team", max_run_s=3600), nodes_min=0, nodes_start=0),
        "V-32",
        "remove it",
    ),
    "spot with a reservation": (lambda: with_pool(mega(), capacity=CapacityPlan("spot", reservation_id="team")), "V-32", "remove it"),
    "fixed nodes of flex-start": (lambda: with_pool(mega(), capacity=CapacityPlan("flex-start", max_run_s=3600)), "V-69", "set both to 0"),
    "eight days of flex-start": (
        lambda: with_pool(mega(), capacity=CapacityPlan("flex-start", max_run_s=691_200), nodes_min=0, nodes_start=0),
        "V-69",
        "604800",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_is_refused_with_a_value_that_works(name):
    build, code, fix = CASES[name]
    found = [problem for problem in check(build()) if problem.code == code]
    assert found, name
    assert any(fix in problem.fix for problem in found), [problem.fix for problem in found]
    assert all(problem.link for problem in found)
