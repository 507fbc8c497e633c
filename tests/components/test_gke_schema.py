"""The analyzer of component packages reads the arguments of every component of a GKE blueprint."""

import pytest
from pulumi.provider.experimental.analyzer import Analyzer
from rackwright_pulumi.blueprints.inference_fleet import InferenceFleet
from rackwright_pulumi.blueprints.tpu_pod import TpuPod
from rackwright_pulumi.gcp.cluster import GcpCluster
from rackwright_pulumi.gcp.identity import GcpNodeIdentity, GcpWorkloadIdentity
from rackwright_pulumi.gcp.network import GcpNetwork
from rackwright_pulumi.gcp.pool import GcpPool
from rackwright_pulumi.gcp.storage import GcpStorage
from rackwright_pulumi.kubernetes.workloads import KubernetesLayer

PARTS = (GcpNetwork, GcpStorage, GcpNodeIdentity, GcpWorkloadIdentity, GcpCluster, GcpPool, KubernetesLayer)


def analyzed(component):
    return Analyzer("rackwright").analyze([component])["component_definitions"][component.__name__]


@pytest.mark.parametrize("component", PARTS, ids=lambda kind: kind.__name__)
def test_a_part_has_a_schema(component):
    assert analyzed(component).inputs


@pytest.mark.parametrize("component", [InferenceFleet, TpuPod], ids=lambda kind: kind.__name__)
def test_a_blueprint_requires_only_the_plan(component):
    schema = analyzed(component)
    assert {name for name, prop in schema.inputs.items() if not prop.optional} == {"plan"}
    assert set(schema.outputs) >= {"clusterName", "kubeconfigCommand", "bucketNames", "expectedFabric"}
