"""The provider protocol as the engine uses it: create, diff, update, read, delete, previews, secrets, names."""

import importlib.metadata
from functools import reduce

import pytest
from google.protobuf import empty_pb2
from pulumi.runtime.proto import provider_pb2 as pb
from rackwright_pulumi.simulator.computed import Context, computed
from rackwright_pulumi.simulator.provider.preview import CLOUD_FIELDS, preview_state
from rackwright_pulumi.simulator.provider.protobuf import to_struct
from rackwright_pulumi.simulator.provider.values import UNKNOWN, values_at, wrap_secret
from rackwright_pulumi.simulator.schema import facts

from tests.simulator.client import Refusal, kubeconfig

VPC, SUBNET, BUCKET, ROLE = "aws:ec2/vpc:Vpc", "aws:ec2/subnet:Subnet", "aws:s3/bucket:Bucket", "aws:iam/role:Role"
TEMPLATE, CLUSTER = "aws:ec2/launchTemplate:LaunchTemplate", "aws:eks/cluster:Cluster"


def test_a_resource_is_created_updated_and_deleted(aws):
    made = aws.create(VPC, "net", {"cidrBlock": "10.0.0.0/16"})
    assert made.id.startswith("vpc-0")
    assert len(made.id) == len("vpc-") + 17
    assert made.state["arn"] == f"arn:aws:ec2:us-east-1:123456789012:vpc/{made.id}"
    changed = aws.update(made, {"cidrBlock": "10.0.0.0/16", "tags": {"a": "b"}})
    assert changed.state["tagsAll"] == {"a": "b"}
    assert changed.state["defaultSecurityGroupId"] == made.state["defaultSecurityGroupId"]
    assert aws.read(changed) == changed.state
    aws.delete(changed)
    assert aws.read(changed) is None
    aws.delete(changed)  # what is gone already is no error


def test_computed_outputs_are_unknown_in_a_preview(aws):
    preview_state = aws.preview(VPC, "net", {"cidrBlock": "10.0.0.0/16"})
    assert preview_state["cidrBlock"] == "10.0.0.0/16"
    assert preview_state["arn"] == preview_state["defaultSecurityGroupId"] == UNKNOWN


@pytest.mark.parametrize(("token", "path"), [(token, path) for token, paths in CLOUD_FIELDS.items() for path in paths])
def test_fields_of_the_cloud_are_unknown_only_in_a_preview(token, path):
    top, *inner = path.split(".")
    given = [{}] if facts.facts(token).inputs[top].startswith("[") else {}
    assert values_at(preview_state(token, {top: given}), f"{top}.{inner[0]}") == [UNKNOWN]
    assert values_at(computed(token, "n", f"urn:pulumi:s::p::{token}::n", {top: given}, Context())[1], path)


def test_a_preview_of_an_update_keeps_unchanged_outputs(aws):
    made = aws.create(TEMPLATE, "gpu", {"instanceType": "p5.48xlarge", "updateDefaultVersion": True})
    preview_state = aws.update(made, {"instanceType": "p5en.48xlarge", "updateDefaultVersion": True}, preview=True).state
    assert preview_state["arn"] == made.state["arn"]
    assert preview_state["latestVersion"] == UNKNOWN
    assert aws.update(made, {"instanceType": "p5en.48xlarge", "updateDefaultVersion": True}).state["latestVersion"] == 2


@pytest.mark.parametrize(
    ("token", "given", "edited", "path"),
    [
        (
            "aws:eks/cluster:Cluster",
            {"vpcConfig": {"subnetIds": ["s"], "publicAccessCidrs": ["203.0.113.0/24"]}},
            {"vpcConfig": {"subnetIds": ["s"], "publicAccessCidrs": ["198.51.100.0/24"]}},
            ("vpcConfig", "clusterSecurityGroupId"),
        ),
        (
            "gcp:container/cluster:Cluster",
            {"controlPlaneEndpointsConfig": {"dnsEndpointConfig": {"allowExternalTraffic": True}}},
            {"controlPlaneEndpointsConfig": {"dnsEndpointConfig": {"allowExternalTraffic": False}}},
            ("controlPlaneEndpointsConfig", "dnsEndpointConfig", "endpoint"),
        ),
    ],
)
def test_a_preview_of_an_edited_object_keeps_fields_of_the_cloud(token, given, edited, path):
    """Without it, a change of the API ranges of an EKS endpoint fails in preview: its rules lose the cluster's security group."""
    old = computed(token, "it", f"urn:pulumi:s::p::{token}::it", given, Context())[1]
    found = reduce(lambda value, key: value[key], path, preview_state(token, edited, {**given, **old}))
    assert found == reduce(lambda value, key: value[key], path, {**given, **old})


def test_replacing_fields_have_paths(aws):
    made = aws.create(VPC, "net", {"cidrBlock": "10.0.0.0/16"})
    found = aws.diff(made, {"cidrBlock": "10.1.0.0/16", "tags": {"a": "b"}})
    assert list(found.replaces) == ["cidrBlock"]
    assert dict(found.detailedDiff)["cidrBlock"].kind == pb.PropertyDiff.UPDATE_REPLACE
    assert dict(found.detailedDiff)["tags"].kind == pb.PropertyDiff.ADD
    assert aws.diff(made, {"cidrBlock": "10.1.0.0/16"}, ignore=("cidrBlock",)).changes == pb.DiffResponse.DIFF_NONE


def test_a_generated_name_is_kept(aws):
    made = aws.create(BUCKET, "Data", {})
    assert made.id.startswith("data-")
    assert aws.check(BUCKET, "Data", {}, made.inputs, seed=b"other")["bucket"] == made.id
    assert list(aws.diff(made, {}).replaces) == []


def test_the_engines_proposed_name_is_used_up_to_the_limit(aws):
    proposal = pb.CheckRequest.AutonamingOptions(proposed_name="x" * 200, mode=pb.CheckRequest.AutonamingOptions.PROPOSE)
    assert aws.check(ROLE, "role", {"assumeRolePolicy": "{}"}, autonaming=proposal)["name"] == "x" * 64


def test_a_fixed_name_is_deleted_before_its_replacement(aws):
    fixed = aws.create(ROLE, "role", {"assumeRolePolicy": "{}", "name": "node", "path": "/"})
    assert aws.diff(fixed, {"assumeRolePolicy": "{}", "name": "node", "path": "/new/"}).deleteBeforeReplace
    made = aws.create(ROLE, "other", {"assumeRolePolicy": "{}", "path": "/"})
    assert not aws.diff(made, {"assumeRolePolicy": "{}", "path": "/new/"}).deleteBeforeReplace


def test_secrets_remain_marked_as_secrets(aws):
    made = aws.create("aws:ssm/parameter:Parameter", "token", {"type": "SecureString", "value": wrap_secret("hunter2")})
    assert made.state["value"] == wrap_secret("hunter2")
    assert aws.read(made)["value"] == wrap_secret("hunter2")


def test_a_replacement_has_new_ids_and_a_new_cloud_the_same_ids(aws, cloud):
    first = aws.create(VPC, "net", {"cidrBlock": "10.0.0.0/16"})
    second = aws.create(VPC, "net", {"cidrBlock": "10.1.0.0/16"})
    assert first.id != second.id
    cloud.reset()
    assert aws.create(VPC, "net", {"cidrBlock": "10.0.0.0/16"}).id == first.id


@pytest.mark.parametrize("package", ["aws", "gcp", "kubernetes"])
def test_the_version_of_the_sdk_is_reported(connect, package):
    assert connect(package).stub.GetPluginInfo(empty_pb2.Empty()).version == importlib.metadata.version(f"pulumi-{package}")


@pytest.mark.parametrize(
    ("package", "old", "new", "replaces"),
    [
        ("aws", {"region": "us-east-1"}, {"region": "us-west-2", "profile": "x"}, ["region"]),
        ("gcp", {"project": "a"}, {"project": "b"}, []),  # its resources move instead
        ("kubernetes", {"kubeconfig": kubeconfig("https://a")}, {"kubeconfig": kubeconfig("https://b")}, ["kubeconfig"]),
        (
            "kubernetes",
            {"kubeconfig": kubeconfig("https://a"), "clusterIdentifier": "c"},
            {"kubeconfig": kubeconfig("https://b"), "clusterIdentifier": "c"},
            [],
        ),
    ],
)
def test_provider_inputs_that_replace_all_its_resources(connect, package, old, new, replaces):
    request = pb.DiffRequest(id="p", urn="u", olds=to_struct(old), old_inputs=to_struct(old), news=to_struct(new))
    assert list(connect(package).stub.DiffConfig(request).replaces) == replaces


def test_resources_of_google_are_replaced_with_the_project_of_their_provider(connect):
    made = connect("gcp", project="a", region="us-central1").create("gcp:compute/router:Router", "r", {"network": "n"})
    assert list(connect("gcp", project="b", region="us-central1").diff(made, {"network": "n"}).replaces) == ["project"]
    assert not connect("gcp", project="a", region="us-central1").diff(made, {"network": "n"}).replaces


def test_a_prefix_is_completed_at_creation(aws):
    made = aws.create(ROLE, "role", {"assumeRolePolicy": "{}", "namePrefix": "node-"})
    assert made.id.startswith("node-")
    assert "name" not in made.inputs


def test_region_account_and_default_tags_come_from_the_provider(connect):
    config = {"region": "eu-west-1", "allowedAccountIds": ["111122223333"], "defaultTags": {"tags": {"owner": "nlp"}}}
    made = connect("aws", **config).create(VPC, "net", {"cidrBlock": "10.0.0.0/16", "tags": {"a": "b"}})
    assert made.state["arn"].startswith("arn:aws:ec2:eu-west-1:111122223333:vpc/")
    assert made.state["tagsAll"] == {"owner": "nlp", "a": "b"}


def test_unknown_provider_inputs_of_a_preview_have_defaults(connect):
    unknown = dict.fromkeys(("allowedAccountIds", "defaultTags", "region"), UNKNOWN)
    state = connect("aws", **unknown).preview(VPC, "net", {"cidrBlock": "10.0.0.0/16"})
    assert state["arn"] == UNKNOWN


def test_labels_and_text_in_json_form_of_the_provider(connect):
    labels = {"defaultLabels": {"owner": "nlp"}, "credentials": '{"type": "service_account"}'}
    made = connect("gcp", project="team", region="us-central1", **labels).create("gcp:storage/bucket:Bucket", "b", {"location": "US"})
    assert made.state["pulumiLabels"]["owner"] == "nlp"


def test_unsupported_look_ups_are_errors(aws):
    zones = aws.invoke("aws:index/getAvailabilityZones:getAvailabilityZones")
    assert zones["names"][:2] == ["us-east-1a", "us-east-1b"]
    assert aws.invoke("aws:index/getCallerIdentity:getCallerIdentity")["accountId"] == "123456789012"
    with pytest.raises(Refusal, match="aws:ec2/getVpcs:getVpcs is not supported"):
        aws.invoke("aws:ec2/getVpcs:getVpcs")


def test_messages_can_exceed_the_default_limit_of_grpc(aws):
    made = aws.create("aws:ssm/parameter:Parameter", "big", {"type": "String", "value": "x" * (8 << 20)})
    assert len(aws.read(made)["value"]) == 8 << 20


def test_an_eks_cluster_has_the_fields_of_the_cloud(aws):
    vpc = aws.create(VPC, "net", {"cidrBlock": "10.0.0.0/16"})
    subnet = aws.create(SUBNET, "a", {"vpcId": vpc.id, "cidrBlock": "10.0.0.0/24", "availabilityZone": "us-east-1b"})
    state = aws.create(CLUSTER, "c", {"roleArn": "arn:aws:iam::1:role/c", "vpcConfig": {"subnetIds": [subnet.id]}}).state
    assert state["vpcConfig"]["vpcId"] == vpc.id
    assert state["vpcConfig"]["clusterSecurityGroupId"].startswith("sg-0")
    assert state["endpoint"].endswith(".gr7.us-east-1.eks.amazonaws.com")
    assert state["identities"][0]["oidcs"][0]["issuer"].startswith("https://oidc.eks.us-east-1.amazonaws.com/id/")
    assert state["certificateAuthority"]["data"]
