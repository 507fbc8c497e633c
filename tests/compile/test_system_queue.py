"""Jobs without accelerators have a queue of their own, and Kueue manages labelled namespaces only."""

import pytest
import yaml
from rackwright.catalog import Catalog

from tests import own_plans, plans
from tests.compile.found import release

NEW = {"training": plans.training_plan, "tpu": plans.tpu_plan, "neuron": plans.NODES["neuron"]}


def bodies(plan) -> dict[str, dict]:
    return {manifest.key: manifest.body for manifest in plan.manifests}


@pytest.mark.parametrize("name", NEW)
def test_jobs_without_accelerators_run_on_system_nodes(name):
    found = bodies(NEW[name]())
    assert found["queue.flavor.system"]["spec"] == {"nodeLabels": {"rackwright/role": "system"}}
    (group,) = found["queue.cluster-queue.system"]["spec"]["resourceGroups"]
    assert group["coveredResources"] == ["cpu", "memory"]
    assert all(int(str(row["nominalQuota"]).removesuffix("Gi")) > 0 for row in group["flavors"][0]["resources"])
    assert found["queue.local-queue.system"]["metadata"]["name"] == "system"


def test_the_quota_of_system_nodes_leaves_one_of_them_to_operators():
    (group,) = bodies(plans.training_plan())["queue.cluster-queue.system"]["spec"]["resourceGroups"]
    quota = {row["name"]: row["nominalQuota"] for row in group["flavors"][0]["resources"]}
    system = next(pool for pool in plans.training_plan().pools if pool.role == "system")
    assert 0 < quota["cpu"] < Catalog.default().machine(system.machine).vcpus


def test_containers_without_requests_count_in_a_queue():
    limits = bodies(plans.training_plan())["limits.team-nlp"]
    assert limits["spec"] == {"limits": [{"type": "Container", "defaultRequest": {"cpu": "500m", "memory": "1Gi"}}]}


CPU_SERVERS = {"name": "cpu", "nodes": ["cpu-0", "cpu-1", "cpu-2"], "cpus": 64, "memory": "256 GiB", "taints": [{"key": "batch"}]}


def test_own_servers_without_gpus_run_jobs_without_accelerators():
    servers = [*own_plans.inventory()["servers"], CPU_SERVERS]
    found = bodies(own_plans.own_training_plan(own_plans.place(servers_of=servers)))
    flavor, (group,) = found["queue.flavor.system"]["spec"], found["queue.cluster-queue.system"]["spec"]["resourceGroups"]
    assert flavor["nodeLabels"] == {"rackwright/system": "true"}
    assert [each["key"] for each in flavor["tolerations"]] == ["batch"]
    quota = {row["name"]: row["nominalQuota"] for row in group["flavors"][0]["resources"]}
    assert 120 <= quota["cpu"] < 128, "two of three servers"
    rules = {rule["name"]: rule for rule in found["nodes.labels"]["spec"]["rules"]}
    named = rules["servers without GPUs"]["matchFeatures"][0]["matchExpressions"]["nodename"]["value"]
    assert named == CPU_SERVERS["nodes"]
    assert "queue.policy" in found, "the queue `default` refuses jobs without accelerators"


def test_own_servers_with_gpus_alone_have_one_queue():
    assert not any(key.endswith(".system") or key.startswith("queue.policy") for key in bodies(own_plans.own_training_plan()))


def test_a_stack_in_an_existing_cluster_has_no_queue_of_system_nodes():
    shape = {"ttl": "14d", "cluster": {"name": "shared"}, "api_access": {"runner": "inside"}}
    keys = bodies(plans.compiled(plans.training_case(blueprint=shape))).keys()
    assert "queue.local-queue" in keys
    assert not any(key.endswith(".system") or key.startswith("queue.policy") for key in keys)


@pytest.mark.parametrize("build", [plans.training_plan, own_plans.own_training_plan])
def test_kueue_manages_labelled_namespaces_and_no_pods_alone(build):
    values = release(build(), "kueue").values
    config = yaml.safe_load(values["managerConfig"]["controllerManagerConfigYaml"])
    assert config["managedJobsNamespaceSelector"] == {"matchLabels": {"rackwright/queues": "true"}}
    assert config["integrations"] == {"frameworks": ["batch/job", "jobset.x-k8s.io/jobset"]}
