"""TrainingCluster on GKE: networks of the machines' interfaces, NCCL's plugin, quotas, and what each fabric leaves out."""

from dataclasses import replace
from ipaddress import ip_network
from itertools import combinations

import pytest
import yaml
from rackwright.diagnostics.errors import UserError
from rackwright.stackplan.labels import RDMA_DEVICE_CLASS, RDMA_RESOURCE
from rackwright.stackplan.namespaces import SYSTEM_NAMESPACE
from rackwright.validation.stack import check

from tests import gke_plans, plans

NETWORKS = {"gke-tcpx": 4, "gke-tcpxo": 8, "gke-lustre": 8, "gke-alerts": 8, "gke-roce": 0}
"""cluster-toolkit examples/gke-a3-highgpu and gke-a3-megagpu; GKE makes those of A3 Ultra."""
PLANS = {name: gke_plans.GKE[name]() for name in NETWORKS}


def bodies(plan, kind):
    return [manifest.body for manifest in plan.manifests if manifest.body["kind"] == kind]


def queue_resources(plan) -> dict:
    (group,) = bodies(plan, "ClusterQueue")[0]["spec"]["resourceGroups"]
    return {row["name"]: row["nominalQuota"] for row in group["flavors"][0]["resources"]}


@pytest.mark.parametrize("name", PLANS)
def test_machines_have_the_networks_of_their_fabric(name):
    plan = PLANS[name]
    networks = plan.network.accelerator_networks
    assert len(networks) == NETWORKS[name]
    assert [network.name for network in networks] == [f"vpc{number}" for number in range(1, len(networks) + 1)]
    assert {network.mtu for network in networks} <= {8244}


@pytest.mark.parametrize("name", PLANS)
def test_no_two_ranges_overlap(name):
    network = PLANS[name].network
    subnets = [subnet.cidr for subnet in network.subnets] + [cidr for subnet in network.subnets for _, cidr in subnet.secondary]
    ranges = [ip_network(cidr) for cidr in (*subnets, *(each.cidr for each in network.accelerator_networks))]
    assert not any(one.overlaps(other) for one, other in combinations(ranges, 2))


@pytest.mark.parametrize("name", PLANS)
def test_pods_find_each_network_by_its_objects(name):
    plan = PLANS[name]
    modes = {body["metadata"]["name"]: body["spec"] for body in bodies(plan, "GKENetworkParamSet")}
    for network in plan.network.accelerator_networks:
        assert modes[network.name]["deviceMode"] == "NetDevice"
        assert modes[network.name]["vpc"] == {"$ref": f"network.accelerator.{network.name}.vpc"}
    parameters = {body["metadata"]["name"]: body["spec"]["parametersRef"]["name"] for body in bodies(plan, "Network")}
    assert parameters == {name: name for name in modes}


def test_google_makes_the_networks_of_rdma_machines():
    plan = PLANS["gke-roce"]
    pool, (claim,) = plan.pool("gpu"), bodies(plan, "ResourceClaimTemplate")
    assert pool.devices == "dra"
    assert dict(pool.labels)["cloud.google.com/gke-networking-dra-driver"] == "true"
    (request,) = claim["spec"]["spec"]["devices"]["requests"]
    assert request["exactly"] == {"deviceClassName": RDMA_DEVICE_CLASS, "allocationMode": "ExactCount", "count": 8}
    assert queue_resources(plan)[RDMA_RESOURCE] == 8 * 4
    kueue = next(release for release in plan.releases if release.name == "kueue")
    config = yaml.safe_load(kueue.values["managerConfig"]["controllerManagerConfigYaml"])
    assert config["resources"]["deviceClassMappings"] == [{"name": RDMA_RESOURCE, "deviceClassNames": [RDMA_DEVICE_CLASS]}]


@pytest.mark.parametrize(("name", "installers"), [("gke-tcpx", 2), ("gke-tcpxo", 2), ("gke-roce", 1)])
def test_the_plugin_runs_on_the_accelerator_nodes_only(name, installers):
    daemons = bodies(PLANS[name], "DaemonSet")
    assert len(daemons) == installers
    for daemon in daemons:
        pod = daemon["spec"]["template"]["spec"]
        assert pod["nodeSelector"] == {"rackwright/role": "accelerator"}
        assert daemon["metadata"]["namespace"] == SYSTEM_NAMESPACE
        for container in (*pod.get("initContainers", ()), *pod["containers"]):
            assert not any(word in str(container.get("command")) for word in ("apt-get", "apk add", "pip install", "curl"))


@pytest.mark.parametrize("name", PLANS)
def test_namespaces_of_jobs_allow_what_the_fabric_mounts(name):
    assert dict(PLANS[name].namespaces)["team-nlp"] == "privileged"


@pytest.mark.parametrize("nodes", [2, 1024])
def test_the_number_of_objects_does_not_depend_on_the_number_of_machines(nodes):
    assert len(plans.compiled(gke_plans.gke_training_case(nodes=nodes)).manifests) == len(PLANS["gke-tcpxo"].manifests)


def test_a_job_on_one_machine_needs_no_further_networks():
    plan = plans.compiled(gke_plans.gke_training_case(nodes=1))
    assert plan.network.accelerator_networks == ()
    assert not bodies(plan, "Network")
    assert check(plan) == []


def test_more_machines_than_addresses_are_refused():
    plan = plans.compiled(gke_plans.gke_training_case())
    pools = tuple(replace(pool, nodes_max=4093, nodes_min=4093, nodes_start=4093) if pool.name == "gpu" else pool for pool in plan.pools)
    assert [p.code for p in check(replace(plan, pools=pools))].count("V-62") == 8


def test_machines_whose_nvlink_spans_machines_are_refused():
    with pytest.raises(UserError, match=r"C-machine.*NVLink joins 72 GPUs of a4x-highgpu-4g"):
        plans.compiled(gke_plans.gke_training_case("a4x-highgpu-4g", capacity="reservation"))


@pytest.mark.parametrize("nodes", [1, 4])
def test_every_cluster_has_multi_networking_which_cannot_be_turned_on_later(nodes):
    assert plans.compiled(gke_plans.gke_training_case(nodes=nodes)).cluster.multi_network
