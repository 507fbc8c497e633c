"""Address layouts on AWS: the default layout is unchanged, other ranges are divided, and a range that does not fit is rejected with one
that does."""

from ipaddress import ip_network

import pytest
from rackwright.compile.network.address_plan import AWS_CIDR
from rackwright.diagnostics.errors import UserError
from rackwright.stackplan import FromStack
from rackwright.stackplan.addresses import smallest_prefix
from rackwright.validation.stack import check

from tests import plans

INSIDE = {"api_access": {"runner": "inside"}, "ttl": "14d"}


def training(nodes: int = 4, network: dict | None = None, **blueprint):
    place = plans.AWS | ({"network": network} if network else {})
    return plans.compiled(plans.training_case(nodes, place=place, blueprint=INSIDE | blueprint))


def ranges(plan) -> dict[str, str]:
    return {subnet.name: subnet.cidr for subnet in plan.network.subnets}


def said(plan, code: str) -> list[str]:
    return [str(problem) for problem in check(plan) if problem.code == code]


def existing(*subnets) -> dict:
    return {"existing": {"vpc": "vpc-1", "subnets": list(subnets)}}


def test_the_default_layout_has_not_changed():
    usual = {"public": "10.0.0.0/24", "control-1": "10.0.16.0/20", "control-2": "10.0.32.0/20", "nodes": "10.0.64.0/18"}
    assert ranges(training()) == ranges(training(900)) == usual
    assert ranges(plans.box_plan()) == {"public": "10.0.0.0/24", "private": "10.0.16.0/20"}


def test_many_nodes_get_the_upper_half_of_the_range():
    big = training(1024)
    assert ranges(big)["nodes"] == "10.0.128.0/17"
    assert {name: cidr for name, cidr in ranges(big).items() if name != "nodes"} == {
        name: cidr for name, cidr in ranges(training()).items() if name != "nodes"
    }
    assert not said(big, "V-62")


@pytest.mark.parametrize("cidr", ["10.20.0.0/16", "172.16.0.0/20", "192.168.4.0/23"])
def test_a_given_range_is_divided_without_overlap(cidr):
    plan = training(network={"cidr": cidr})
    found = [ip_network(each) for each in ranges(plan).values()]
    assert plan.network.cidr == cidr
    assert all(each.subnet_of(ip_network(cidr)) and each.prefixlen <= 28 for each in found)
    assert not any(a.overlaps(b) for i, a in enumerate(found) for b in found[:i])
    assert not said(plan, "V-62")


@pytest.mark.parametrize(
    ("cidr", "words"),
    [
        ("10.0.0.0/8", r"use 10\.0\.0\.0/16"),
        ("10.20.4.0/24", r"need a /23; use 10\.20\.4\.0/23"),
        ("10.20.4.240/28", r"use 10\.20\.4\.0/23"),
    ],
)
def test_an_invalid_range_is_rejected_with_the_nearest(cidr, words):
    with pytest.raises(UserError, match=words):
        training(network={"cidr": cidr})


def test_a_range_too_small_for_the_nodes_names_the_smallest_that_fits():
    (words,) = said(training(64, network={"cidr": "10.20.0.0/22"}), "V-62")
    assert "10.20.2.0/23 has 507 addresses, but 64 nodes with their pods need 1088; use a /21 or larger" in words


def test_a_28_for_64_nodes_is_rejected_and_a_21_is_accepted():
    control = [{"id": f"subnet-{zone}", "zone": f"us-east-1{zone}", "use": "control"} for zone in "ab"]
    nodes = {"id": "subnet-n", "zone": "us-east-1a", "use": "nodes"}
    (words,) = said(training(64, existing(*control, nodes | {"cidr": "10.9.0.0/28"})), "V-62")
    assert "10.9.0.0/28 has 11 addresses, but 64 nodes with their pods need 1088; use a /21 or larger" in words
    assert not said(training(64, existing(*control, nodes | {"cidr": "10.9.0.0/21"})), "V-62")


@pytest.mark.parametrize(("addresses", "prefix"), [(1, 28), (11, 28), (12, 27), (27, 27), (251, 24), (252, 23)])
def test_the_smallest_subnet_includes_reserved_addresses(addresses, prefix):
    assert smallest_prefix(addresses) == prefix


def test_subnets_with_ids_only_are_not_described():
    plan = training(network=existing("subnet-1", {"stack": "organization/net/prod", "output": "gpu"}))
    assert plan.network.subnets == ()
    assert plan.network.existing_subnet_ids == ("subnet-1", FromStack("organization/net/prod", "gpu"))


def test_machines_are_in_the_zone_of_an_existing_subnet():
    plan = training(network=existing({"id": "s-1", "zone": "us-east-1c"}, {"id": "s-2", "zone": "us-east-1d"}))
    assert plan.place.zone == "us-east-1c"
    assert plan.place.control_zones == ("us-east-1c", "us-east-1d")
    assert plan.pool("gpu").zones == ("us-east-1c",)


def test_an_existing_network_without_private_subnet_is_rejected():
    (words,) = said(training(network=existing({"id": "s-1", "zone": "us-east-1a", "use": "public"})), "R-23")
    assert "lists no private subnet for machines; add one" in words


def test_a_missing_subnet_in_the_zone_is_reported_with_the_existing_zones():
    place = plans.AWS | {
        "zones": ["us-east-1a"],
        "network": existing({"id": "s-1", "zone": "us-east-1b"}, {"id": "s-2", "zone": "us-east-1d"}),
    }
    block = {"id": "cr-0123456789abcdef0", "instance": "p5.48xlarge", "count": 4, "zone": "us-east-1a"}
    place |= {"capacity": {"ordered": [{"capacity_block": block | {"start": "2026-12-01T11:30:00Z", "end": "2026-12-08T11:30:00Z"}}]}}
    case = plans.training_case(place=place, blueprint=INSIDE, capacity="capacity-block", capacity_id=block["id"])
    (words,) = said(plans.compiled(case), "R-23")
    assert "the subnets for machines are in us-east-1b, us-east-1d; add a subnet in us-east-1a" in words


def test_a_control_plane_in_one_zone_is_rejected():
    (words,) = said(training(network=existing({"id": "s-1", "zone": "us-east-1a"})), "R-01")
    assert "in one zone, us-east-1a" in words


def test_an_existing_network_rejects_a_cidr():
    with pytest.raises(UserError, match="cidr cannot be set for an existing network"):
        training(network=existing("subnet-1") | {"cidr": AWS_CIDR})


@pytest.mark.parametrize(
    ("switch", "gone"), [("flow_logs", lambda n: not n.flow_logs), ("private_endpoints", lambda n: n.private_endpoints == ())]
)
def test_safety_options_change_the_network(switch, gone):
    assert not gone(training().network)
    assert gone(training(safety={switch: False}).network)


def test_unused_roles_are_rejected():
    place = plans.AWS | {"roles": {"cluster": "arn:aws:iam::123456789012:role/control"}}
    with pytest.raises(UserError, match=r"roles\.cluster is set, but this stack does not use it"):
        plans.compiled(plans.training_case(place=place, blueprint={"cluster": {"name": "shared"}}))


@pytest.mark.parametrize("access", ["private", "public", {"runner": "inside"}, {"cidrs": ["203.0.113.0/24"]}])
def test_api_access_decides_about_reachability(access):
    found = {problem.code: problem.level for problem in check(training(api_access=access))}
    assert (found.get("R-03") == "error") == (access == "private")
    assert (found.get("V-80") == "warning") == (access == "public")
