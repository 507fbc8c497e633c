"""Pools with divided accelerators: resources, device plugin, node labels and servers, on EKS, GKE and own servers."""

import re
from dataclasses import replace

import pytest
import yaml
from rackwright.catalog.read import Catalog
from rackwright.catalog.sharing import Sharing, equal_parts, mig_parts
from rackwright.sizing.offers.sharing import profiles_of
from rackwright.stackplan import PoolPlan, StackPlan
from rackwright.stackplan.labels import ROLE_LABEL
from rackwright.validation.stack import check

from tests import own_plans, plans
from tests.compile.found import manifest
from tests.compile.test_several_workloads import KEY, several

MIG, MPS, SLICED = plans.MIG, equal_parts("mps", 2), equal_parts("time-slicing", 4)


def pool_of(plan: StackPlan) -> PoolPlan:
    (found,) = [pool for pool in plan.pools if pool.role == "accelerator"]
    return found


def server_of(plan: StackPlan, key: str = "serving.deployment") -> dict:
    return manifest(plan, key)["spec"]["template"]["spec"]


def plugin_of(plan: StackPlan) -> dict:
    (found,) = [release.values for release in plan.releases if release.name == "nvidia-device-plugin"]
    return found


def gke(sharing: Sharing) -> StackPlan:
    spec, sized, fit = plans.fleet_case()
    given = spec.model_copy(update={"blueprint": spec.blueprint.model_copy(update={"sharing": sharing.strategy})})
    return plans.compiled((given, sized, replace(fit, candidate=replace(fit.candidate, sharing=sharing, nodes=1))))


def own(sharing: Sharing, **more) -> StackPlan:
    spec, sized, fit = own_plans.own_fleet_case(where=own_plans.place(**more))
    given = spec.model_copy(update={"blueprint": spec.blueprint.model_copy(update={"sharing": sharing.strategy})})
    return plans.compiled((given, sized, replace(fit, candidate=replace(fit.candidate, sharing=sharing))))


def on_one_pool(spec, sized, fit):
    """The two workloads of `several` on quarters of the same machines."""
    together = replace(equal_parts("mps", 4), workloads=("chat", "embed"), max_nodes=3)
    parts = [
        replace(each, candidate=replace(fit.candidate, machine="g6e.4xlarge", nodes=2, sharing=together, replicas=n, max_replicas=most))
        for each, n, most in ((fit, 3, 8), (fit.further[0], 2, 4))
    ]
    chosen = replace(parts[0], further=(parts[1],))
    return spec, replace(sized, fits=(chosen,)), chosen


@pytest.mark.parametrize(
    ("sharing", "resource", "config", "memory"),
    [
        (MIG, "nvidia.com/mig-1g.10gb", "mig", "0.9"),
        (MPS, "nvidia.com/gpu.shared", "mps-2", "0.45"),
        (SLICED, "nvidia.com/gpu.shared", "time-slicing-4", "0.225"),
    ],
)
def test_eks_pods_request_one_part_and_nodes_select_the_plugin_configuration(sharing, resource, config, memory):
    plan = plans.compiled(plans.shared_fleet_case(sharing))
    pool, (server,) = pool_of(plan), server_of(plan)["containers"]
    assert server["resources"]["limits"][resource] == "1"
    assert "nvidia.com/gpu" not in server["resources"]["limits"]
    assert (pool.pod_resource, pool.pod_devices) == (resource, sharing.parts)
    assert dict(pool.labels)["nvidia.com/device-plugin.config"] == config
    assert f"--gpu-memory-utilization={memory}" in server["args"]
    assert (pool.provisioner, pool.autoscaled) == ("managed", True)  # Karpenter counts a part as a whole GPU
    assert [each.name for each in plan.releases if "karpenter" in each.name] == []
    assert not check(plan)
    assert StackPlan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize(("sharing", "limit"), [(MIG, []), (MPS, ["0.45"]), (SLICED, ["0.225"])])
def test_sglang_has_the_memory_limit_of_its_part(sharing, limit):
    plan = plans.compiled(plans.shared_fleet_case(sharing, workload={"engine": "sglang"}))
    found = [arg.partition("=")[2] for arg in server_of(plan)["containers"][0]["args"] if arg.startswith("--mem-fraction-static")]
    assert found == limit


def test_the_plugin_has_a_configuration_per_division_and_one_for_whole_gpus():
    config = plugin_of(plans.compiled(plans.shared_fleet_case(SLICED)))["config"]
    assert config["default"] == "default"
    read = {name: yaml.safe_load(text) for name, text in config["map"].items()}
    assert read["default"] == {"version": "v1", "flags": {"migStrategy": "none"}}
    resources = [{"name": "nvidia.com/gpu", "replicas": 4}]
    sliced = {"renameByDefault": True, "failRequestsGreaterThanOne": True, "resources": resources}
    assert read["time-slicing-4"]["sharing"] == {"timeSlicing": sliced}
    mig = yaml.safe_load(plugin_of(plans.compiled(plans.shared_fleet_case()))["config"]["map"]["mig"])
    assert mig["flags"]["migStrategy"] == "mixed"


def test_a_stack_with_whole_gpus_has_no_configurations():
    assert "config" not in plugin_of(plans.compiled(plans.eks_fleet_case()))
    assert "sharing" not in plans.compiled(plans.eks_fleet_case()).to_json()


def test_clients_of_mps_have_the_memory_of_its_daemon():
    """The device plugin mounts /dev/shm of the daemon; a mount of the pod would hide it."""
    pod = server_of(plans.compiled(plans.shared_fleet_case(MPS)))
    assert "shm" not in {volume["name"] for volume in pod["volumes"]}
    assert "/dev/shm" not in {mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}
    assert "shm" in {volume["name"] for volume in server_of(plans.compiled(plans.shared_fleet_case(SLICED)))["volumes"]}


def test_nodes_are_those_of_the_parts():
    """Eight replicas at most, seven parts per machine."""
    pool = pool_of(plans.compiled(plans.shared_fleet_case()))
    assert (pool.nodes_min, pool.nodes_max) == (1, 2)


def test_workloads_that_share_have_one_pool():
    spec, sized, fit = several(team="chat", embed=KEY)
    plan = plans.compiled(on_one_pool(spec, sized, fit))
    pool = pool_of(plan)
    assert (pool.serves, pool.nodes_min, pool.nodes_max) == (("chat", "embed"), 1, 3)
    roles = {server_of(plan, key)["nodeSelector"][ROLE_LABEL] for key in ("serving.deployment", "serving-embed.deployment")}
    assert roles == {dict(pool.labels)[ROLE_LABEL]}
    assert not [problem for problem in check(plan) if problem.code.startswith("V-20")]


def test_gke_divides_gpus_in_the_node_pool():
    """cloud.google.com/kubernetes-engine/docs/how-to/gpus-multi: pods request nvidia.com/gpu, whatever the division."""
    plan = gke(equal_parts("mps", 4))
    server = server_of(plan)
    assert server["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "1"
    assert server["hostIPC"] is True
    assert dict(plan.namespaces)["team-chat"] == "privileged"
    assert "hostIPC" not in server_of(gke(SLICED))
    assert not [problem for problem in check(plan) if problem.code.startswith("V-20")]


def test_own_servers_are_divided_by_the_gpu_operator():
    plan = own(MIG)
    values = next(release.values for release in plan.releases if release.name == "gpu-operator")
    assert values["mig"] == {"strategy": "mixed"}
    assert values["devicePlugin"]["config"]["data"].keys() == {"default", "mig"}
    labels = {key: value for rule in manifest(plan, "nodes.labels")["spec"]["rules"] for key, value in rule["labels"].items()}
    assert labels["nvidia.com/mig.config"] == "all-1g.10gb"
    assert labels["nvidia.com/device-plugin.config"] == "mig"
    assert server_of(plan)["containers"][0]["resources"]["limits"]["nvidia.com/mig-1g.10gb"] == "1"


def test_a_cluster_with_an_operator_offers_parts_by_the_name_of_gpus():
    """Its strategy is `single`: `rackwright inventory` reads the profile from the product label, which no other strategy sets."""
    installed = [{"name": "gpu-operator", "version": "v26.3.3", "namespace": "gpu-operator"}]
    plan = own(MIG, installed=installed)
    assert server_of(plan)["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "1"


def test_names_of_resources_are_valid():
    """https://kubernetes.io/docs/concepts/overview/working-with-objects/names/, and the label value of a configuration."""
    catalog = Catalog.default()
    for row in catalog.mig_profiles:
        plan = plans.compiled(plans.shared_fleet_case(mig_parts(profiles_of(row.accelerator, catalog)[0])))
        assert re.fullmatch(r"nvidia\.com/[a-z0-9.-]{1,63}", pool_of(plan).pod_resource)
        break
