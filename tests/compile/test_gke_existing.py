"""Existing things on Google Cloud: networks, Shared VPC, service accounts, keys and clusters; address ranges of a new network."""

from ipaddress import ip_network
from itertools import combinations

import pytest
from rackwright.stackplan import FromStack
from rackwright.stackplan.labels import ACCOUNT_ANNOTATION, ROLE_LABEL
from rackwright.validation.stack import check

from tests import gke_plans, plans

SUBNET = {"id": gke_plans.NODES_SUBNET, "pods": "pods", "services": "services"}
CIDRS = ("10.0.0.0/8", "10.64.0.0/14", "172.16.0.0/16", "192.168.0.0/18")


def in_network(place: dict, **more):
    return plans.compiled(gke_plans.gke_training_case(place=plans.GCP | place, **more))


def test_a_shared_vpc_is_used_as_it_is():
    plan = gke_plans.GKE_OPTIONS["gke-existing"]()
    network, (subnet,) = plan.network, plan.network.subnets
    assert network.existing_id == "projects/net-project/global/networks/shared"
    assert network.existing_subnet_ids == (gke_plans.NODES_SUBNET,)
    assert not network.nat
    assert network.host_project == "net-project"
    assert dict(subnet.range_names) == {"pods": "pods", "services": "services"}
    assert plan.place.role_arn == "builder@my-project.iam.gserviceaccount.com"
    assert plan.cluster.node_role_arn == "gke-nodes@my-project.iam.gserviceaccount.com"


@pytest.mark.parametrize(
    ("vpc", "users", "host"),
    [
        ("projects/net-project/global/networks/shared", "create", "net-project"),
        ("projects/net-project/global/networks/shared", "exist", ""),
        ("projects/my-project/global/networks/ml", "create", ""),
        ("ml", "create", ""),
    ],
)
def test_only_a_network_of_another_project_gets_permissions(vpc, users, host):
    plan = in_network({"network": {"existing": {"vpc": vpc, "subnets": [SUBNET], "subnet_users": users}}}, machine="a2-highgpu-8g")
    assert plan.network.host_project == host


def test_a_network_of_another_stack_is_read_at_deployment():
    other = {"stack": "organization/net/prod", "output": "vpc"}
    plan = in_network({"network": {"existing": {"vpc": other, "subnets": [SUBNET]}}}, machine="a2-highgpu-8g")
    assert plan.network.existing_id == FromStack("organization/net/prod", "vpc")
    assert check(plan) == []


def test_pods_act_as_the_existing_service_account():
    plan = gke_plans.GKE_OPTIONS["gke-existing"]()
    accounts = {m.body["metadata"]["name"]: m.body["metadata"] for m in plan.manifests if m.body["kind"] == "ServiceAccount"}
    assert accounts["trainer"]["annotations"][ACCOUNT_ANNOTATION] == {"$ref": "identity.trainer.account"}
    assert ACCOUNT_ANNOTATION not in accounts["default"].get("annotations", {})


def test_an_existing_key_needs_the_agents_of_the_project():
    plan = in_network({"key": gke_plans.KEY})
    (problem,) = [each for each in check(plan) if each.code == "R-28"]
    assert "service-NUMBER@container-engine-robot.iam.gserviceaccount.com" in problem.reason
    assert problem.link == "https://cloud.google.com/kubernetes-engine/docs/how-to/using-cmek"


@pytest.mark.parametrize("cidr", CIDRS)
def test_one_range_holds_nodes_pods_services_and_networks_of_accelerators(cidr):
    network = in_network({"network": {"cidr": cidr}}).network
    ranges = [ip_network(each) for subnet in network.subnets for each in (subnet.cidr, *dict(subnet.secondary).values())]
    ranges += [ip_network(each.cidr) for each in network.accelerator_networks]
    assert len(ranges) == 3 + 8
    assert all(each.subnet_of(ip_network(cidr)) for each in ranges)
    assert not any(one.overlaps(other) for one, other in combinations(ranges, 2))


def test_a_stack_in_an_existing_cluster_adds_a_pool_with_names_of_its_own():
    plan = plans.compiled(gke_plans.guest_case())
    (pool,) = plan.pools
    assert plan.node_pool_name(pool) == "llama-70b-gke-gpu"
    assert dict(pool.labels)[ROLE_LABEL] == "llama-70b-gke.accelerator"
    assert plan.layers == ("base", "cluster", "workloads")
    assert {each.code for each in check(plan)} == {"R-22"}


def test_networks_of_accelerators_are_not_added_to_an_existing_cluster():
    problems = {each.code for each in check(plans.compiled(gke_plans.guest_case("a3-megagpu-8g")))}
    assert "V-275" in problems


def test_switches_of_safety_apply():
    off = {"safety": {"flow_logs": False, "network_policies": False, "deletion_protection": False}}
    plan = plans.compiled(gke_plans.gke_training_case(blueprint=off))
    assert not plan.network.flow_logs
    assert not plan.protected
    assert not [manifest for manifest in plan.manifests if manifest.body["kind"] == "NetworkPolicy"]
