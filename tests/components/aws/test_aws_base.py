"""Tags and names of every AWS part; least privilege of key and identities (recipes sections 3.1, 8.1, 12)."""

import json

import pytest
from rackwright.stackplan import KeyPlan

from tests.components.aws.parts import (
    ALL,
    KEY_ARN,
    POD,
    identity,
    key,
    policy,
)
from tests.components.sdk import misfits, untagged


@pytest.fixture(params=ALL)
def graph(request):
    return ALL[request.param]()


def test_the_sdk_declares_every_input(graph):
    assert not misfits(graph)
    assert not graph.unregistered()


def test_every_taggable_resource_has_an_owner_and_a_name(graph):
    assert not untagged(graph, "test")


class TestKey:
    def test_the_key_rotates_and_has_a_deletion_window(self):
        inputs = key().one("aws:kms/key:Key").inputs
        assert (inputs["enableKeyRotation"], inputs["rotationPeriodInDays"], inputs["deletionWindowInDays"]) == (True, 90, 30)
        assert key().one("aws:kms/alias:Alias").inputs["name"] == "alias/demo-key"

    def test_administration_and_use_of_the_key_are_separate_statements(self):
        administer, use, *_ = policy(key(), "aws:kms/key:Key")
        assert not [a for a in administer["Action"] if a.startswith(("kms:Decrypt", "kms:Encrypt", "kms:GenerateDataKey"))]
        assert not [a for a in use["Action"] if a.startswith(("kms:Put", "kms:Schedule", "kms:Delete"))]

    def test_grants_are_for_services_only_unless_eks_uses_the_key(self):
        """EKS does not support the condition and refuses CreateCluster with it (recipes 3.1.1; EKS user guide, secrets encryption)."""
        for serves, sid, condition in (
            (("disks",), "GrantToServices", {"Bool": {"kms:GrantIsForAWSResource": "true"}}),
            (("cluster",), "GrantByIamPolicy", None),
        ):
            granting = [s for s in policy(key(KeyPlan(serves=serves)), "aws:kms/key:Key") if s["Principal"] != {"AWS": "*"}]
            found = [(s["Sid"], s.get("Condition")) for s in granting if {"kms:CreateGrant", "kms:Create*", "kms:*"} & {*s["Action"]}]
            assert found == [(sid, condition)]

    def test_auto_scaling_and_spot_can_use_the_key_for_disks_and_create_grants(self):
        """Without the grant, machines of a node group terminate with Client.InternalError (recipes 3.1.1)."""
        named = {s["Sid"]: s for s in policy(key(), "aws:kms/key:Key")}
        roles = named["Launchers"]["Condition"]["ArnLike"]["aws:PrincipalArn"]
        assert [role.rpartition("/")[2] for role in roles] == ["AWSServiceRoleForAutoScaling", "AWSServiceRoleForEC2Spot"]
        assert all(role.startswith("arn:aws:iam::123456789012:role/aws-service-role/") for role in roles)
        assert named["LaunchersGrants"]["Condition"]["Bool"] == {"kms:GrantIsForAWSResource": "true"}
        assert all("Condition" in s for s in named.values() if s["Principal"] == {"AWS": "*"})

    def test_only_logs_of_this_account_are_encrypted_with_the_key(self):
        (logs,) = [s for s in policy(key(), "aws:kms/key:Key") if s["Sid"] == "Logs"]
        assert logs["Principal"] == {"Service": "logs.us-east-1.amazonaws.com"}
        group = "arn:aws:logs:us-east-1:123456789012:log-group:*"
        assert logs["Condition"] == {"ArnLike": {"kms:EncryptionContext:aws:logs:arn": group}}

    def test_the_key_serves_only_the_uses_of_the_plan(self):
        sids = {s["Sid"] for s in policy(key(KeyPlan(serves=("buckets",))), "aws:kms/key:Key")}
        assert sids == {"Administer", "UseByIamPolicy", "GrantToServices"}

    def test_it_is_protected_until_a_teardown(self):
        assert key().one("aws:kms/key:Key").protect
        assert not key(teardown=True).one("aws:kms/key:Key").protect


class TestIdentity:
    def test_reads_and_writes_are_limited_to_prefixes_and_deletes_are_not_allowed(self):
        statements = policy(identity(**POD), "aws:iam/rolePolicy:RolePolicy")
        objects = {s["Resource"]: s["Action"] for s in statements if "s3:GetObject" in s["Action"]}
        assert objects == {
            "arn:aws:s3:::team/sft/*": ["s3:GetObject"],
            "arn:aws:s3:::ckpt/*": ["s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload"],
        }
        listing = {s["Resource"]: s.get("Condition") for s in statements if "s3:ListBucket" in s["Action"]}
        assert listing["arn:aws:s3:::team"] == {"StringLike": {"s3:prefix": ["sft/*", "sft"]}}
        assert not [a for s in statements for a in s["Action"] if "Delete" in a or a.endswith(":*")]

    def test_the_key_is_used_through_s3_only(self):
        (use,) = [s for s in policy(identity(**POD), "aws:iam/rolePolicy:RolePolicy") if "kms:Decrypt" in s["Action"]]
        assert use["Resource"] == KEY_ARN
        assert use["Condition"] == {"StringEquals": {"kms:ViaService": "s3.us-east-1.amazonaws.com"}}

    def test_only_pods_of_this_cluster_can_assume_the_role(self):
        graph = identity(**POD)
        (trust,) = policy(graph, "aws:iam/role:Role", "assumeRolePolicy")
        assert trust["Principal"] == {"Service": "pods.eks.amazonaws.com"}
        assert trust["Action"] == ["sts:AssumeRole", "sts:TagSession"]
        assert trust["Condition"] == {
            "StringEquals": {"aws:SourceAccount": "123456789012"},
            "ArnEquals": {"aws:SourceArn": POD["cluster_arn"]},
        }
        pods = graph.one("aws:eks/podIdentityAssociation:PodIdentityAssociation").inputs
        assert (pods["namespace"], pods["serviceAccount"]) == ("team-nlp", "trainer")

    def test_a_machine_has_session_manager_and_waits_for_its_permissions(self):
        graph = identity()
        attached = graph.one("aws:iam/rolePolicyAttachment:RolePolicyAttachment")
        assert attached.inputs["policyArn"] == "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"
        profile = graph.one("aws:iam/instanceProfile:InstanceProfile")
        assert {attached.urn, graph.one("aws:iam/rolePolicy:RolePolicy").urn} <= set(profile.depends_on)

    def test_secrets_are_encrypted_and_readable_by_the_machine_alone(self):
        graph = identity(secrets={"hf-token": "hf_abc"}, secrets_path="/demo")
        stored = graph.one("aws:ssm/parameter:Parameter")
        assert stored.inputs["name"] == "/demo/hf-token"
        assert stored.inputs["type"] == "SecureString"
        assert stored.inputs["keyId"] == KEY_ARN
        assert "value" in stored.secret_inputs
        (read,) = [s for s in policy(graph, "aws:iam/rolePolicy:RolePolicy") if "ssm:GetParameter" in s["Action"]]
        assert read["Resource"] == [stored.state["arn"]]
        assert "hf_abc" not in json.dumps(graph.as_json())
