"""Recorded resources of pools with divided accelerators."""

import base64

from rackwright.catalog.sharing import equal_parts
from rackwright_pulumi.program.build import declare
from rackwright_pulumi.testing import record

from tests import plans
from tests.compile.test_sharing import MIG, gke

TAG, TEMPLATE, GROUP, POOL = (
    "aws:autoscaling/tag:Tag", "aws:ec2/launchTemplate:LaunchTemplate", "aws:eks/nodeGroup:NodeGroup", "gcp:container/nodePool:NodePool",
)  # fmt: skip


def graph_of(plan):
    return record(lambda: declare(plan) and None)


def test_nodes_create_every_instance_of_the_profile_at_each_boot():
    (data,) = [
        base64.b64decode(node.inputs["userData"]).decode()
        for node in graph_of(plans.compiled(plans.shared_fleet_case())).nodes.values()
        if node.type == TEMPLATE and "gpu" in node.name
    ]
    assert "--create-gpu-instance " + ",".join(["1g.10gb"] * 7) + " --default-compute-instance" in data
    assert "/var/lib/cloud/scripts/per-boot/mig.sh" in data
    assert "--multi-instance-gpu=1" in data


def test_mps_needs_no_script():
    graph = graph_of(plans.compiled(plans.shared_fleet_case(equal_parts("mps", 2))))
    data = [node.inputs.get("userData", "") for node in graph.nodes.values() if node.type == TEMPLATE]
    assert not [text for text in data if "nvidia-smi" in base64.b64decode(text).decode()]


def test_the_autoscaler_knows_the_parts_of_an_empty_group():
    """A node with the GPU label counts as not ready until it offers nvidia.com/gpu, which it never does."""
    graph = graph_of(plans.compiled(plans.shared_fleet_case()))
    tags = {node.inputs["tag"]["key"]: node.inputs["tag"]["value"] for node in graph.nodes.values() if node.type == TAG}
    assert tags["k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/mig-1g.10gb"] == "7"
    assert "k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/gpu" not in tags
    (labels,) = [node.inputs["labels"] for node in graph.nodes.values() if node.type == GROUP and "gpu" in node.name]
    assert labels["nvidia.com/device-plugin.config"] == "mig"
    assert "k8s.amazonaws.com/accelerator" not in labels


def test_gke_pools_have_the_partition_size_or_the_clients():
    def accelerator(sharing):
        (pool,) = [n for n in graph_of(gke(sharing)).nodes.values() if n.type == POOL and n.inputs["nodeConfig"].get("guestAccelerators")]
        return pool.inputs["nodeConfig"]["guestAccelerators"][0]

    assert accelerator(MIG)["gpuPartitionSize"] == "1g.10gb"
    assert accelerator(equal_parts("mps", 4))["gpuSharingConfig"] == {"gpuSharingStrategy": "MPS", "maxSharedClientsPerGpu": 4}
    assert accelerator(equal_parts("time-slicing", 3))["gpuSharingConfig"]["gpuSharingStrategy"] == "TIME_SHARING"
