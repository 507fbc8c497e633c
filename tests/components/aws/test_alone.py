"""Each component alone in a program of a platform team, in under twenty lines."""

import inspect
from dataclasses import replace

import pulumi
import pytest
from rackwright.stackplan import ClusterPlan, FromStack, Grant, IdentityPlan, KeyPlan, NetworkPlan, SubnetPlan
from rackwright_pulumi.aws.cluster.cluster import AwsCluster
from rackwright_pulumi.aws.existing_cluster import AwsExistingCluster
from rackwright_pulumi.aws.identity.identity import AwsIdentity
from rackwright_pulumi.aws.key import AwsKey
from rackwright_pulumi.aws.network.network import AwsNetwork
from rackwright_pulumi.testing import record

from tests.components.aws.test_existing_cluster import SHARED
from tests.components.sdk import misfits, untagged

TAGS = {"owner": "platform"}
KEY_ARN = "arn:aws:kms:us-east-1:123456789012:key/1234abcd"


def key():
    args = {"key": KeyPlan(), "account": "123456789012", "region": "us-east-1", "tags": TAGS, "teardown": False}
    made = AwsKey("shared-key", args)
    pulumi.export("key_arn", made.key_arn)


def network():
    subnets = (
        SubnetPlan("public", "10.8.0.0/24", "us-east-1a", public=True, purpose="nat"),
        SubnetPlan("control-1", "10.8.16.0/20", "us-east-1a", purpose="control"),
        SubnetPlan("control-2", "10.8.32.0/20", "us-east-1b", purpose="control"),
        SubnetPlan("nodes", "10.8.64.0/18", "us-east-1a"),
    )
    want = NetworkPlan("10.8.0.0/16", subnets, private_endpoints=("object-store", "registry"), fabric="efa", self_reachable=True)
    made = AwsNetwork("shared", {"network": want, "region": "us-east-1", "kms_key_arn": KEY_ARN, "tags": TAGS, "teardown": False})
    pulumi.export("vpc", made.vpc_id)
    pulumi.export("gpu_subnets", made.machine_subnets(["us-east-1a"]))
    pulumi.export("fabric_group", made.fabric_group_id)


def found_network():
    want = NetworkPlan("", (), existing_id=FromStack("organization/net/prod", "vpc"), existing_subnet_ids=("subnet-1", "subnet-2"))
    made = AwsNetwork("found", {"network": want, "region": "us-east-1", "kms_key_arn": KEY_ARN, "tags": TAGS, "teardown": False})
    pulumi.export("vpc", made.vpc_id)


def identity():
    want = IdentityPlan("trainer", (Grant("data"), Grant("checkpoints", "write")), namespace="team-nlp", service_account="trainer")
    args = {
        "identity": want,
        "region": "us-east-1",
        "account": "123456789012",
        "kms_key_arn": KEY_ARN,
        "bucket_arns": {"data": "arn:aws:s3:::data", "checkpoints": "arn:aws:s3:::checkpoints"},
        "prefixes": {"data": "sft"},
        "cluster_name": "shared",
        "cluster_arn": "arn:aws:eks:us-east-1:123456789012:cluster/shared",
        "tags": TAGS,
    }
    pulumi.export("role", AwsIdentity("trainer", args).role_arn)


def cluster():
    want = ClusterPlan("shared", "1.35", private_api=False, api_cidrs=("203.0.113.0/24",), admins=("arn:aws:iam::123456789012:role/Sre",))
    args = {
        "cluster": want,
        "region": "us-east-1",
        "subnet_ids": ["subnet-a", "subnet-b"],
        "kms_key_arn": KEY_ARN,
        "boundary_arn": "arn:aws:iam::123456789012:policy/boundary",
        "tags": TAGS,
        "teardown": False,
    }
    made = AwsCluster("shared", args)
    pulumi.export("kubeconfig", made.kubeconfig)
    pulumi.export("node_role", made.node_role_arn)


def existing_cluster():
    want = ClusterPlan("guest", "", existing="shared")
    made = AwsExistingCluster("guest", {"cluster": want, "region": "us-east-1", "tags": TAGS})
    pulumi.export("kubeconfig", made.kubeconfig)
    pulumi.export("node_role", made.node_role_arn)


ALONE = (key, network, found_network, identity, cluster, existing_cluster)


@pytest.fixture(params=ALONE, ids=lambda program: program.__name__)
def program(request):
    return request.param


def graph_of(program, preview=False):
    outputs = {"organization/net/prod": {"vpc": "vpc-9"}}
    return record(program, preview=preview, stack_outputs=outputs, invokes={"aws:eks/getCluster:getCluster": SHARED})


def test_a_component_works_alone(program):
    graph = graph_of(program)
    assert not misfits(graph)
    assert not untagged(graph, "platform")
    assert not graph.unregistered()
    assert all(value is not None for value in graph.outputs.values())


def test_a_component_alone_can_be_previewed(program):
    assert graph_of(program, preview=True).nodes.keys() == graph_of(program).nodes.keys()


def test_an_example_is_under_twenty_lines(program):
    assert len(inspect.getsource(program).splitlines()) < 20


def test_a_public_endpoint_for_all_addresses_requires_public_api():
    want = ClusterPlan("shared", "1.35")
    args = {"region": "us-east-1", "subnet_ids": ["a", "b"], "kms_key_arn": KEY_ARN, "tags": TAGS, "teardown": False}

    def access(**more):
        graph = record(lambda: AwsCluster("shared", args | {"cluster": replace(want, **more)}) and None)
        found = graph.one("aws:eks/cluster:Cluster").inputs["vpcConfig"]
        return found["endpointPublicAccess"], found.get("publicAccessCidrs")

    assert access() == (False, None)
    assert access(api_cidrs=("203.0.113.0/24",)) == (True, ["203.0.113.0/24"])
    assert access(public_api=True) == (True, ["0.0.0.0/0"])


def test_audit_logs_are_on_by_default_and_can_be_switched_off():
    args = {"region": "us-east-1", "subnet_ids": ["a", "b"], "kms_key_arn": KEY_ARN, "tags": TAGS, "teardown": False}
    for on, logs in ((True, ["api", "audit", "authenticator", "controllerManager", "scheduler"]), (False, [])):
        want = replace(ClusterPlan("shared", "1.35"), audit_logs=on)
        graph = record(lambda want=want: AwsCluster("shared", args | {"cluster": want}) and None)
        assert graph.one("aws:eks/cluster:Cluster").inputs["enabledClusterLogTypes"] == logs
