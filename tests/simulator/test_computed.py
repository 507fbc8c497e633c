"""Computed values have the format of the clouds, and are deterministic."""

import json
import re

import pytest
from rackwright_pulumi.simulator.computed import Context, computed
from rackwright_pulumi.simulator.lookups.invokes import invokes
from rackwright_pulumi.simulator.schema import facts as catalog

EVERY = [token for cloud in catalog.CLOUDS for token in catalog.covered(cloud)]
ROLE = "arn:aws:iam::123456789012:role/r"
DNS = "controlPlaneEndpointsConfig.dnsEndpointConfig.endpoint"
HEX17 = "0[0-9a-f]{16}"


def made(token: str, context: Context | None = None, **inputs):
    return computed(token, "thing", f"urn:pulumi:s::p::{token}::thing", inputs, context or Context())


def at(outputs: dict, path: str):
    found = outputs
    for part in path.split("."):
        found = found[int(part)] if part.isdigit() else found[part]
    return found


@pytest.mark.parametrize(
    ("token", "inputs", "path", "form"),
    [
        ("aws:ec2/vpc:Vpc", {}, "arn", f"arn:aws:ec2:us-east-1:123456789012:vpc/vpc-{HEX17}"),
        ("aws:ec2/subnet:Subnet", {"availabilityZone": "us-west-2b"}, "availabilityZoneId", "usw2-az2"),
        ("aws:ec2/eip:Eip", {}, "publicIp", r"203\.0\.113\.\d+"),
        ("aws:ec2/launchTemplate:LaunchTemplate", {}, "latestVersion", "1"),
        ("aws:ec2/vpcEndpoint:VpcEndpoint", {"serviceName": "com.amazonaws.us-east-1.s3"}, "prefixListId", "pl-[0-9a-f]{8}"),
        ("aws:eks/cluster:Cluster", {}, "endpoint", r"https://[0-9A-F]{32}\.gr7\.us-east-1\.eks\.amazonaws\.com"),
        ("aws:eks/cluster:Cluster", {}, "identities.0.oidcs.0.issuer", r"https://oidc\.eks\.us-east-1\..*/id/[0-9A-F]{32}"),
        ("aws:eks/cluster:Cluster", {"vpcConfig": {"subnetIds": ["s"]}}, "vpcConfig.clusterSecurityGroupId", f"sg-{HEX17}"),
        ("aws:eks/cluster:Cluster", {"vpcConfig": {"subnetIds": ["s"]}}, "vpcConfig.subnetIds.0", "s"),
        ("aws:eks/nodeGroup:NodeGroup", {"clusterName": "c", "nodeGroupName": "g"}, "arn", r"arn:aws:eks:.*:nodegroup/c/g/[0-9a-f-]{36}"),
        ("aws:eks/accessEntry:AccessEntry", {"clusterName": "c", "principalArn": ROLE}, "accessEntryArn", r".*:access-entry/c/.*/r/.*"),
        ("aws:fsx/lustreFileSystem:LustreFileSystem", {}, "dnsName", rf"fs-{HEX17}\.fsx\.us-east-1\.amazonaws\.com"),
        ("aws:fsx/lustreFileSystem:LustreFileSystem", {}, "mountName", "[a-z0-9]{8}"),
        ("aws:iam/role:Role", {"name": "node", "path": "/x/"}, "arn", "arn:aws:iam::123456789012:role/x/node"),
        ("aws:iam/role:Role", {}, "uniqueId", "AROA[0-9A-Z]{17}"),
        ("aws:kms/key:Key", {}, "arn", r"arn:aws:kms:us-east-1:\d{12}:key/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}"),
        ("aws:s3/bucket:Bucket", {"bucket": "b", "region": "eu-west-1"}, "bucketRegionalDomainName", r"b\.s3\.eu-west-1\.amazonaws\.com"),
        ("aws:sqs/queue:Queue", {"name": "q"}, "url", "https://sqs.us-east-1.amazonaws.com/123456789012/q"),
        ("gcp:compute/network:Network", {"name": "n"}, "selfLink", "https://.*/compute/v1/projects/simulated-project/global/networks/n"),
        ("gcp:container/cluster:Cluster", {"location": "europe-west4-a"}, DNS, r"gke-[0-9a-f]{30}-\d{12}\.europe-west4\.gke\.goog"),
        ("gcp:container/cluster:Cluster", {}, "masterAuth.clusterCaCertificate", "[A-Za-z0-9+/=]{100,}"),
        ("gcp:container/nodePool:NodePool", {"cluster": "c", "nodeLocations": ["b"]}, "managedInstanceGroupUrls.0", ".*/b/.*gke-c-thing.*"),
        ("gcp:serviceaccount/account:Account", {"accountId": "node"}, "member", r"serviceAccount:node@simulated-project\.iam\..*"),
        ("gcp:storage/bucket:Bucket", {"name": "b"}, "url", "gs://b"),
        ("gcp:lustre/instance:Instance", {"instanceId": "l", "filesystem": "fs"}, "mountPoint", r"10\.\d+\.\d+\.\d+@tcp:/fs"),
        ("kubernetes:core/v1:Service", {"spec": {"type": "LoadBalancer"}}, "status.loadBalancer.ingress.0.ip", r"198\.51\.100\.\d+"),
        ("kubernetes:apps/v1:Deployment", {"metadata": {"name": "d", "labels": {"a": "b"}}}, "metadata.labels.a", "b"),
        ("kubernetes:helm.sh/v3:Release", {"name": "r", "namespace": "n", "chart": "c"}, "status.status", "deployed"),
        ("kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue", {"metadata": {"name": "q"}}, "metadata.uid", "[0-9a-f-]{36}"),
    ],
)  # fmt: skip
def test_values_have_the_format_of_the_cloud(token, inputs, path, form):
    outputs = made(token, **inputs)[1]
    assert re.fullmatch(form, str(at(outputs, path))), at(outputs, path)


@pytest.mark.parametrize("token", EVERY)
def test_every_type_has_an_id_and_declared_outputs(token):
    resource_id, outputs = made(token)
    assert resource_id == made(token)[0]
    assert set(outputs) <= set(catalog.facts(token).outputs)
    assert json.loads(json.dumps(outputs)) == outputs


@pytest.mark.parametrize("token", [t for t in EVERY if not t.startswith("kubernetes:")])
def test_every_output_of_the_sdk_has_a_value(token):
    facts = catalog.facts(token)
    assert {name for name in facts.outputs if name not in facts.inputs} <= set(made(token)[1])


def test_ids_differ_by_urn_and_generation():
    first = made("aws:ec2/vpc:Vpc")[0]
    assert made("aws:ec2/vpc:Vpc", Context(generation=1))[0] != first
    assert computed("aws:ec2/vpc:Vpc", "other", "urn:pulumi:s::p::aws:ec2/vpc:Vpc::other", {}, Context())[0] != first


@pytest.mark.parametrize(("region", "partition"), [("cn-north-1", "aws-cn"), ("us-gov-west-1", "aws-us-gov"), ("eu-west-1", "aws")])
def test_partitions_follow_regions(region, partition):
    assert made("aws:sns/topic:Topic", Context(region=region))[1]["arn"].startswith(f"arn:{partition}:sns:{region}:")


def test_an_unsupported_type_has_only_an_id():
    assert made("aws:rds/instance:Instance")[1] == {}


def test_an_explicit_provider_overrides_the_context():
    pinned = {"region": "us-west-2", "allowedAccountIds": ["1"], "defaultTags": {"tags": {"a": "b"}}}
    context = Context().for_provider(pinned)
    assert (context.region, context.account, context.default_tags) == ("us-west-2", "1", {"a": "b"})


def test_look_ups_follow_the_context():
    answers = invokes(Context(region="eu-west-1", project="team"))
    assert answers["aws:index/getAvailabilityZones:getAvailabilityZones"]({})["names"] == ["eu-west-1a", "eu-west-1b", "eu-west-1c"]
    assert answers["aws:index/getAvailabilityZones:getAvailabilityZones"]({})["zoneIds"] == ["euw1-az1", "euw1-az2", "euw1-az3"]
    assert answers["gcp:organizations/getProject:getProject"]({})["projectId"] == "team"
