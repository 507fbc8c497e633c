"""Which change replaces which resource."""

import pytest
from rackwright_pulumi.simulator import differences
from rackwright_pulumi.simulator.schema import facts as catalog
from rackwright_pulumi.simulator.schema.difference import AUTONAMED

INSTANCE, CLUSTER, NODES = "aws:ec2/instance:Instance", "aws:eks/cluster:Cluster", "aws:eks/nodeGroup:NodeGroup"
LUSTRE, RULE = "aws:fsx/lustreFileSystem:LustreFileSystem", "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
POOL, SUBNETWORK = "gcp:container/nodePool:NodePool", "gcp:compute/subnetwork:Subnetwork"
JOB, CONFIG, QUEUE = "kubernetes:batch/v1:Job", "kubernetes:core/v1:ConfigMap", "kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue"


@pytest.mark.parametrize(
    ("token", "old", "new", "replaces"),
    [
        (INSTANCE, {"ami": "a"}, {"ami": "b"}, ("ami",)),
        (INSTANCE, {"instanceType": "a"}, {"instanceType": "b"}, ()),  # stopped and started
        (INSTANCE, {"userData": "a"}, {"userData": "b"}, ()),
        (INSTANCE, {"userData": "a"}, {"userData": "b", "userDataReplaceOnChange": True}, ("userData",)),
        (INSTANCE, {"rootBlockDevice": {"volumeSize": 1}}, {"rootBlockDevice": {"volumeSize": 2}}, ()),
        (INSTANCE, {"rootBlockDevice": {"encrypted": False}}, {"rootBlockDevice": {"encrypted": True}}, ("rootBlockDevice.encrypted",)),
        (NODES, {"scalingConfig": {"desiredSize": 1}}, {"scalingConfig": {"desiredSize": 2}}, ()),
        (NODES, {"subnetIds": ["a", "b"]}, {"subnetIds": ["b", "a"]}, ()),
        (NODES, {"subnetIds": ["a"]}, {"subnetIds": ["a", "b"]}, ("subnetIds[1]",)),
        (NODES, {"launchTemplate": {"id": "a", "version": "1"}}, {"launchTemplate": {"id": "a", "version": "2"}}, ()),
        (NODES, {}, {"launchTemplate": {"id": "a", "version": "1"}}, ("launchTemplate",)),
        (CLUSTER, {"vpcConfig": {"subnetIds": ["a"]}}, {"vpcConfig": {"subnetIds": ["b"]}}, ()),
        (CLUSTER, {"encryptionConfig": {"resources": ["secrets"]}}, {}, ("encryptionConfig",)),
        (CLUSTER, {}, {"encryptionConfig": {"resources": ["secrets"]}}, ()),
        (CLUSTER, {"tags": {"a": "b"}}, {"tags": {}}, ()),
        (LUSTRE, {"storageCapacity": 1200}, {"storageCapacity": 2400}, ()),
        (LUSTRE, {"storageCapacity": 2400}, {"storageCapacity": 1200}, ("storageCapacity",)),
        (RULE, {"cidrIpv4": "10.0.0.0/8"}, {"cidrIpv4": "10.1.0.0/16"}, ()),
        (RULE, {"cidrIpv4": "10.0.0.0/8"}, {"referencedSecurityGroupId": "sg-1"}, ("cidrIpv4", "referencedSecurityGroupId")),
        (POOL, {"nodeCount": 1}, {"nodeCount": 2}, ()),
        (POOL, {"nodeConfig": {"spot": False}}, {"nodeConfig": {"spot": True}}, ("nodeConfig.spot",)),
        (POOL, {"placementPolicy": {"policyName": "a"}}, {"placementPolicy": {"policyName": "b"}}, ("placementPolicy.policyName",)),
        (SUBNETWORK, {"ipCidrRange": "10.0.0.0/20"}, {"ipCidrRange": "10.0.0.0/16"}, ()),
        (SUBNETWORK, {"ipCidrRange": "10.0.0.0/16"}, {"ipCidrRange": "10.0.0.0/20"}, ("ipCidrRange",)),
        (JOB, {"spec": {"template": {"spec": {"a": 1}}}}, {"spec": {"template": {"spec": {"a": 2}}}}, ("spec.template.spec.a",)),
        (CONFIG, {"data": {"a.b": "1"}}, {"data": {"a.b": "2"}}, ('data["a.b"]',)),
        (QUEUE, {"spec": {"cohortName": "a"}}, {"spec": {"cohortName": "b"}}, ()),
        (QUEUE, {"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}, ("metadata.name",)),
    ],
)  # fmt: skip
def test_replacing_inputs_match_the_providers(token, old, new, replaces):
    assert differences(token, old, new).replaces == replaces


def test_equal_inputs_have_no_differences():
    assert not differences(NODES, {"subnetIds": ["a"], "labels": None}, {"subnetIds": ["a"], "taints": []})


@pytest.mark.parametrize("pattern", ["scalingConfig", "scalingConfig.desiredSize"])
def test_ignored_changes_are_left_out(pattern):
    old, new = {"scalingConfig": {"desiredSize": 1}}, {"scalingConfig": {"desiredSize": 2}}
    assert not differences(NODES, old, new, [pattern])


def test_every_position_can_be_ignored():
    old, new = {"taints": [{"key": "a", "effect": "x"}]}, {"taints": [{"key": "b", "effect": "x"}]}
    assert not differences(NODES, old, new, ["taints[*].key"])


def test_only_named_objects_are_deleted_before_their_replacement():
    given = {"metadata": {"name": "a"}}
    made = {"metadata": {"name": "a", "annotations": {AUTONAMED: "true"}}}
    for metadata, first in ((given, True), (made, False)):
        found = differences(CONFIG, {**metadata, "data": {"a": "1"}}, {**metadata, "data": {"a": "2"}})
        assert found.delete_before_replace is first


@pytest.mark.parametrize("cloud", catalog.CLOUDS)
def test_every_type_has_replacing_inputs_with_a_source(cloud):
    for token in catalog.covered(cloud):
        assert catalog.replace_source(token), token
        for source in catalog.replace_source(token).values():
            assert source["what"]
            assert source["commit"]


@pytest.mark.parametrize("cloud", catalog.CLOUDS)
def test_replacing_paths_exist_in_the_sdk(cloud):
    for token in catalog.covered(cloud):
        facts = catalog.facts(token)
        for path in facts.replace | facts.replace_blocks | facts.sets:
            known = facts.inputs
            for part in path.split("."):
                assert part in known, f"{token}: {path}"
                known = facts.object(known[part])
