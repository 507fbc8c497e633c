"""Stacks on own servers: Kubernetes objects alone, no SDK of a cloud, the context of the inventory."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from rackwright_pulumi.program.build import declare
from rackwright_pulumi.testing import record
from rackwright_pulumi.unsupported import Unsupported

from tests.own_plans import OWN, own_training_plan

ROOT = Path(__file__).parents[2]
IMPORTS = """
import sys
from rackwright_pulumi.program.build import declare
from rackwright_pulumi.testing import record
from tests.own_plans import OWN
for build in OWN.values():
    record(lambda plan=build(): declare(plan) and None)
print(sorted({name.partition(".")[0] for name in sys.modules if name.startswith("pulumi_")}))
"""


def graph(name):
    plan = OWN[name]()
    return record(lambda: declare(plan) and None)


def test_no_provider_of_a_cloud_is_imported():
    """pulumi_kubernetes alone: a site without AWS and Google Cloud installs the extra `kubernetes`."""
    paths = os.pathsep.join(str(ROOT / part) for part in ("blueprints", "components", ""))
    found = subprocess.run(
        [sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": paths}
    )
    assert found.stdout.strip() == "['pulumi_kubernetes']"


@pytest.mark.parametrize("name", OWN)
def test_every_resource_is_a_kubernetes_object_or_a_component(name):
    custom = {node.type.partition(":")[0] for node in graph(name).nodes.values() if node.custom}
    assert custom == {"kubernetes", "pulumi"}
    assert [node.type for node in graph(name).nodes.values() if node.type.startswith("pulumi:")] == ["pulumi:providers:kubernetes"]


def test_the_provider_uses_the_context_of_the_inventory():
    inputs = graph("own-training").one("pulumi:providers:kubernetes").inputs
    assert inputs["context"] == "lab-admin"
    assert "kubeconfig" not in inputs


def test_networks_wait_for_the_drivers_of_the_nics():
    found = graph("own-training")
    network = found.one("kubernetes:mellanox.com/v1alpha1:HostDeviceNetwork", "llama-own-layer-fabric.network.rail-0")
    waits = {urn.rpartition("::")[2] for urn in found.direct_dependencies(network)}
    assert "llama-own-layer-fabric.pool.rail-0" in waits
    policy = found.one("kubernetes:mellanox.com/v1alpha1:NicClusterPolicy")
    assert policy.inputs["metadata"]["annotations"] == {"pulumi.com/waitFor": "jsonpath={.status.state}=ready"}


def test_outputs_tell_jobs_how_to_use_the_fabric():
    outputs = graph("own-training").one("rackwright:index:TrainingCluster").outputs
    assert outputs["clusterName"] == "lab"
    assert outputs["rdma"]["environment"]["NCCL_NET"] == "IB"
    assert outputs["namespace"] == "llama-own-team-nlp"


def test_a_fleet_is_reached_at_its_service():
    assert graph("own-fleet").one("rackwright:index:InferenceFleet").outputs["serviceEndpoint"] == "http://chat.chat-own-team-chat:8000"


def test_arguments_of_aws_are_refused():
    from rackwright_pulumi import TrainingCluster

    plan = own_training_plan()
    with pytest.raises(Unsupported, match="vpc_id"):
        record(lambda: TrainingCluster("x", {"plan": plan, "vpc_id": "vpc-0"}) and None)


def test_kueue_manages_the_namespace_of_the_team_alone():
    spaces = [node.inputs["metadata"] for node in graph("own-training").nodes.values() if node.type.endswith("core/v1:Namespace")]
    labelled = [space["name"] for space in spaces if space["labels"].get("rackwright/queues") == "true"]
    assert labelled == ["llama-own-team-nlp"]
