"""An EKS control plane is private, encrypted, audited, and has an administrator (recipes 5A, 12)."""

import json
from dataclasses import replace

import pytest
from rackwright.stackplan import AddonPlan, ClusterPlan
from rackwright_pulumi.aws.addons import AwsAddons
from rackwright_pulumi.aws.cluster.cluster import AwsCluster
from rackwright_pulumi.resource_graph import unwrap_secrets
from rackwright_pulumi.testing import record
from rackwright_pulumi.unsupported import Unsupported

from tests.components.sdk import misfits

CLUSTER = "aws:eks/cluster:Cluster"
WANT = ClusterPlan("demo", "1.35", admins=("arn:aws:iam::123456789012:role/platform/Deployer",))
KEY_ARN = "arn:aws:kms:us-east-1:123456789012:key/k"


def cluster(want=WANT, **more):
    args = {
        "cluster": want,
        "region": "us-east-1",
        "subnet_ids": ["subnet-a", "subnet-b"],
        "kms_key_arn": KEY_ARN,
        "tags": {"owner": "test"},
        "teardown": False,
    }
    return record(lambda: AwsCluster("demo-cluster", args | more) and None)


def addons(*wants: AddonPlan):
    args = {
        "addons": wants,
        "cluster_name": "demo",
        "cluster_arn": "arn:aws:eks:us-east-1:123456789012:cluster/demo",
        "account": "123456789012",
        "kms_key_arn": KEY_ARN,
        "tags": {"owner": "test"},
    }
    return record(lambda: AwsAddons("demo-addons", args) and None)


def test_the_endpoint_is_private():
    access = cluster().one(CLUSTER).inputs["vpcConfig"]
    assert (access["endpointPrivateAccess"], access["endpointPublicAccess"]) == (True, False)
    assert "publicAccessCidrs" not in access


def test_the_public_endpoint_accepts_only_the_listed_addresses():
    access = cluster(replace(WANT, api_cidrs=("203.0.113.0/24",))).one(CLUSTER).inputs["vpcConfig"]
    assert (access["endpointPrivateAccess"], access["endpointPublicAccess"]) == (True, True)
    assert access["publicAccessCidrs"] == ["203.0.113.0/24"]


def test_secrets_and_logs_are_encrypted_and_audit_is_on():
    graph = cluster()
    inputs = graph.one(CLUSTER).inputs
    assert inputs["encryptionConfig"] == {"provider": {"keyArn": KEY_ARN}, "resources": ["secrets"]}
    assert inputs["enabledClusterLogTypes"] == ["api", "audit", "authenticator", "controllerManager", "scheduler"]
    logs = graph.one("aws:cloudwatch/logGroup:LogGroup")
    assert (logs.inputs["name"], logs.inputs["kmsKeyId"]) == ("/aws/eks/demo/cluster", KEY_ARN)
    assert logs.urn in graph.one(CLUSTER).depends_on


def test_default_add_ons_and_extended_support_are_disabled():
    inputs = cluster().one(CLUSTER).inputs
    assert inputs["bootstrapSelfManagedAddons"] is False
    assert inputs["upgradePolicy"] == {"supportType": "STANDARD"}
    assert inputs["version"] == "1.35"


def test_named_administrators_have_access_and_the_creator_has_none():
    graph = cluster()
    assert graph.one(CLUSTER).inputs["accessConfig"] == {
        "authenticationMode": "API",
        "bootstrapClusterCreatorAdminPermissions": False,
    }
    entry = graph.one("aws:eks/accessEntry:AccessEntry")
    assert entry.name == "demo-cluster-admin-123456789012-role-platform-Deployer"
    assert entry.inputs["principalArn"] == WANT.admins[0]
    policy = graph.one("aws:eks/accessPolicyAssociation:AccessPolicyAssociation")
    assert policy.inputs["policyArn"].endswith("/AmazonEKSClusterAdminPolicy")
    assert policy.inputs["accessScope"] == {"type": "cluster"}
    assert entry.urn in policy.property_dependencies["principalArn"]


def test_without_administrators_the_creator_is_one_and_a_change_replaces_nothing():
    node = cluster(replace(WANT, admins=())).one(CLUSTER)
    assert node.inputs["accessConfig"]["bootstrapClusterCreatorAdminPermissions"] is True
    assert node.options["ignoreChanges"] == ["accessConfig.bootstrapClusterCreatorAdminPermissions"]


DEPLOYER = "arn:aws:iam::123456789012:role/deployer"
ENTRY = "aws:eks/accessEntry:AccessEntry"


def entries(graph):
    return {node.name.removeprefix("demo-cluster-admin-"): node for node in graph.by_type(ENTRY)}


def test_the_deployer_has_an_explicit_entry_with_its_role_in_place_of_its_session():
    graph = cluster(replace(WANT, deployer_is_admin=True))
    assert graph.one(CLUSTER).inputs["accessConfig"]["bootstrapClusterCreatorAdminPermissions"] is False
    entry = entries(graph)["deployer"]
    assert entry.inputs["principalArn"] == DEPLOYER
    assert entry.options["ignoreChanges"] == ["principalArn"], "an update by another principal must not move it"
    policies = [node.inputs["policyArn"] for node in graph.by_type("aws:eks/accessPolicyAssociation:AccessPolicyAssociation")]
    assert policies == ["arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"] * 2


def test_the_role_that_the_provider_assumes_is_the_deployer():
    role = "arn:aws:iam::123456789012:role/ci/build"
    graph = cluster(replace(WANT, deployer_is_admin=True, admins=()), builder_arn=role)
    assert [entry.inputs["principalArn"] for entry in graph.by_type(ENTRY)] == [role]
    assert not graph.invokes


def test_a_deployer_that_is_listed_has_one_entry_which_takes_over_the_earlier_one():
    graph = cluster(replace(WANT, deployer_is_admin=True, admins=(DEPLOYER,), viewers=(DEPLOYER,)))
    assert [*entries(graph)] == ["123456789012-role-deployer"]
    (alias,) = graph.one(ENTRY).options["aliases"]
    assert "demo-cluster-admin-deployer" in str(alias)


def test_administrators_known_only_at_deployment_are_added():
    graph = cluster(admin_arns=["arn:aws:iam::123456789012:role/Ci"])
    assert sorted(n.inputs["principalArn"].rpartition("/")[2] for n in graph.by_type("aws:eks/accessEntry:AccessEntry")) == [
        "Ci",
        "Deployer",
    ]


def test_f3_an_access_entry_is_deleted_before_its_replacement():
    assert cluster().one("aws:eks/accessEntry:AccessEntry").options["deleteBeforeReplace"] is True


def test_roles_have_only_required_policies_and_nodes_lack_the_network_policy():
    graph = cluster()
    attached = {n.inputs["policyArn"].rpartition("/")[2] for n in graph.by_type("aws:iam/rolePolicyAttachment:RolePolicyAttachment")}
    assert attached == {"AmazonEKSClusterPolicy", "AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly"}


def test_the_cluster_is_protected_twice_until_a_teardown():
    assert [n.type for n in cluster().nodes.values() if n.protect] == [CLUSTER]
    assert cluster().one(CLUSTER).inputs["deletionProtection"] is True
    lifted = cluster(teardown=True).one(CLUSTER)
    assert not lifted.protect
    assert lifted.inputs["deletionProtection"] is False


def test_the_kubeconfig_gets_a_token_for_each_call():
    made = {}

    def program():
        args = {"cluster": WANT, "region": "us-east-1", "subnet_ids": ["a", "b"], "kms_key_arn": KEY_ARN, "tags": {}, "teardown": False}
        made["cluster"] = AwsCluster("demo-cluster", args)
        import pulumi

        pulumi.export("kubeconfig", made["cluster"].kubeconfig)

    exported = record(program).outputs["kubeconfig"]
    assert repr(exported) == "[secret]"
    config = json.loads(unwrap_secrets(exported))
    call = config["users"][0]["user"]["exec"]
    assert [call["command"], *call["args"][:4]] == ["aws", "eks", "get-token", "--cluster-name", "demo"]
    assert config["clusters"][0]["cluster"]["server"].startswith("https://")
    assert config["clusters"][0]["cluster"]["certificate-authority-data"]


def test_pinned_add_ons_have_their_values_and_a_role_each():
    graph = addons(AddonPlan("pod-network", "v1.21.1-eksbuild.3", values=(("env", {"ENABLE_PREFIX_DELEGATION": "true"}),)))
    inputs = graph.one("aws:eks/addon:Addon").inputs
    assert (inputs["addonName"], inputs["addonVersion"]) == ("vpc-cni", "v1.21.1-eksbuild.3")
    assert json.loads(inputs["configurationValues"]) == {"env": {"ENABLE_PREFIX_DELEGATION": "true"}}
    (association,) = inputs["podIdentityAssociations"]
    assert association["serviceAccount"] == "aws-node"
    assert association["roleArn"] == graph.one("aws:iam/role:Role").state["arn"]


def test_eks_chooses_the_version_of_an_add_on_without_one():
    assert "addonVersion" not in addons(AddonPlan("lustre", "")).one("aws:eks/addon:Addon").inputs


@pytest.mark.parametrize("name", ["pod-network", "block-storage"])
def test_f26_an_add_on_is_deleted_before_its_permissions(name):
    """A pod network without permissions leaves network interfaces, and a subnet with an interface cannot be deleted."""
    graph = addons(AddonPlan(name, "v1"))
    rights = {n.urn for n in graph.nodes.values() if n.type.startswith("aws:iam/rolePolicy")}
    assert rights
    assert rights <= set(graph.one("aws:eks/addon:Addon").depends_on)


def test_the_disk_driver_can_change_only_volumes_that_it_created():
    (attached,) = addons(AddonPlan("block-storage", "v1")).by_type("aws:iam/rolePolicyAttachment:RolePolicyAttachment")
    assert attached.inputs["policyArn"] == "arn:aws:iam::aws:policy/AmazonEBSCSIDriverPolicyV2"


def test_the_disk_driver_can_use_the_key():
    graph = addons(AddonPlan("block-storage", "v1"))
    statements = json.loads(graph.one("aws:iam/rolePolicy:RolePolicy").inputs["policy"])["Statement"]
    assert {s["Resource"] for s in statements} == {KEY_ARN}
    assert any("kms:CreateGrant" in s["Action"] and "Condition" in s for s in statements)


def test_an_unknown_add_on_is_unsupported():
    with pytest.raises(Unsupported, match=r"addons\[teleport\]: teleport is not supported .* instead: block-storage, dns, "):
        addons(AddonPlan("teleport", "v1"))


@pytest.mark.parametrize(
    "make", [cluster, lambda: addons(AddonPlan("block-storage", "v1"), AddonPlan("dns", "v1"))], ids=["cluster", "addons"]
)
def test_the_sdk_declares_every_input(make):
    graph = make()
    assert not misfits(graph)
    assert not graph.unregistered()
