"""Inputs that the clouds refuse are refused before creation."""

import pytest
from rackwright_pulumi.simulator.provider.values import UNKNOWN, wrap_secret
from rackwright_pulumi.simulator.schema.check import check

from tests.simulator.client import Refusal

SUBNET, CLUSTER, NODES = "aws:ec2/subnet:Subnet", "aws:eks/cluster:Cluster", "aws:eks/nodeGroup:NodeGroup"
TEMPLATE, BUCKET = "aws:ec2/launchTemplate:LaunchTemplate", "gcp:storage/bucket:Bucket"
DEPLOYMENT, CONFIG = "kubernetes:apps/v1:Deployment", "kubernetes:core/v1:ConfigMap"
POD = {"containers": [{"name": "main", "image": "x", "resources": {"limits": {"nvidia.com/gpu": 8}}}]}
SCALING = {"desiredSize": 2, "minSize": 0, "maxSize": 4}
SPEC = {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": POD}}


@pytest.mark.parametrize(
    ("token", "inputs", "wrong"),
    [
        (SUBNET, {}, {"vpcId": "Missing required property 'vpcId' of aws:ec2/subnet:Subnet"}),
        (SUBNET, {"vpcId": "v", "cidrBlok": "x"}, {"cidrBlok": f"'cidrBlok' is not a property of {SUBNET}; did you mean 'cidrBlock'?"}),
        (SUBNET, {"vpcId": ["v"]}, {"vpcId": "'vpcId' must be a string, not a list"}),
        (
            SUBNET,
            {"vpcId": "v", "mapPublicIpOnLaunch": "maybe"},
            {"mapPublicIpOnLaunch": "'mapPublicIpOnLaunch' must be true or false, not a string"},
        ),
        (
            CLUSTER,
            {"roleArn": "r", "vpcConfig": {}},
            {"vpcConfig.subnetIds": f"Missing required property 'vpcConfig.subnetIds' of {CLUSTER}"},
        ),
        (
            CLUSTER,
            {"roleArn": "r", "vpcConfig": {"subnetIds": "s"}},
            {"vpcConfig.subnetIds": "'vpcConfig.subnetIds' must be a list, not a string"},
        ),
        (CLUSTER, {"roleArn": "r", "vpcConfig": "v"}, {"vpcConfig": "'vpcConfig' must be an object, not a string"}),
        (
            NODES,
            {"clusterName": "c", "nodeRoleArn": "r", "subnetIds": ["s"], "scalingConfig": {**SCALING, "maxSize": 1.5}},
            {"scalingConfig.maxSize": "'scalingConfig.maxSize' must be a whole number, not 1.5"},
        ),
        (
            TEMPLATE,
            {"networkInterfaces": [{"subnet": "s"}]},
            {"networkInterfaces[0].subnet": f"'networkInterfaces[0].subnet' is not a property of {TEMPLATE}; did you mean 'subnetId'?"},
        ),
        (
            "aws:iam/role:Role",
            {"assumeRolePolicy": "{}", "name": "x" * 65},
            {"name": "name exceeds 64 characters, the limit of the cloud"},
        ),
        (CONFIG, {"data": {"port": 80}}, {"data.port": "'data.port' must be a string, not 80"}),
        (
            CONFIG,
            {"metadata": {"name": "Settings"}},
            {"metadata.name": "Invalid value 'Settings': lower-case letters, digits, '-' and '.', at most 253 (RFC 1123)"},
        ),
        (DEPLOYMENT, {"spec": {**SPEC, "replicas": "2"}}, {"spec.replicas": "'spec.replicas' must be a whole number, not a string"}),
    ],
)
def test_invalid_inputs_are_reported_with_their_path(token, inputs, wrong):
    assert {f.property: f.reason for f in check(token, inputs)} == wrong


@pytest.mark.parametrize(
    ("token", "inputs"),
    [
        (SUBNET, {"vpcId": UNKNOWN}),
        (SUBNET, {"vpcId": wrap_secret("v"), "mapPublicIpOnLaunch": "false", "__defaults": []}),
        (CLUSTER, {"roleArn": "r", "vpcConfig": UNKNOWN}),
        (BUCKET, {"location": "US", "name": None}),
        (DEPLOYMENT, {"spec": SPEC}),
        ("kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue", {"spec": {"anything": [1, "two"]}}),
    ],
)
def test_valid_inputs_pass(token, inputs):
    assert check(token, inputs) == []


def test_the_provider_reports_every_failure_at_once(aws):
    with pytest.raises(Refusal) as refusal:
        aws.create(NODES, "gpu", {"clusterNam": "c"})
    assert set(refusal.value.failures) == {"clusterName", "nodeRoleArn", "scalingConfig", "subnetIds", "clusterNam"}


def test_an_unsupported_type_is_accepted_only_if_permissive(aws, cloud):
    with pytest.raises(Refusal, match="aws:rds/instance:Instance is not a resource type of the simulated aws"):
        aws.create("aws:rds/instance:Instance", "db", {})
    cloud.permissive = True
    assert aws.create("aws:rds/instance:Instance", "db", {"engine": "x"}).state == {"engine": "x"}
