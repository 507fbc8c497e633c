"""An EKS control plane is private, encrypted, audited, and has an administrator (recipes 5A, 12)."""

import json
from dataclasses import replace

import pytest
from rackwright.diagnostics.errors import UserError
from rackwright.stackplan import AddonPlan, ClusterPlan
from rackwright_pulumi.aws.addons import AwsAddons
from rackwright_pulumi.aws.cluster.cluster import AwsCluster
from rackwright_pulumi.resource_graph import unwrap_secrets
from rackwright_pulumi.testing import record
from rackwright_pulumi.testing.diff import compare
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


ENTRY = "aws:eks/accessEntry:AccessEntry"


def entries(graph):
    return {node.name.removeprefix("demo-cluster-admin-"): node for node in graph.by_type(ENTRY)}


ALICE, CI = "arn:aws:iam::123456789012:role/people/alice", "arn:aws:iam::123456789012:role/ci"


def of_deployer(deployer, session="", **changes):
    """The graph of a plan whose update `deployer` runs. session: its ARN of STS."""
    invokes = {
        "aws:index/getCallerIdentity:getCallerIdentity": lambda args: {"arn": session or deployer, "userId": "AROAEXAMPLE0123456789"},
        "aws:iam/getSessionContext:getSessionContext": lambda args: {"arn": args["arn"], "issuerArn": deployer},
    }
    args = {"region": "us-east-1", "subnet_ids": ["subnet-a", "subnet-b"], "kms_key_arn": KEY_ARN, "tags": {}}
    plan = replace(WANT, creator_access="entry", **{"admins": ()} | changes)
    return record(lambda: AwsCluster("demo-cluster", args | {"cluster": plan}) and None, invokes=invokes)


def test_without_administrators_the_deployer_has_an_entry_with_its_role_in_place_of_its_session():
    graph = of_deployer(ALICE, "arn:aws:sts::123456789012:assumed-role/alice/laptop")
    assert graph.one(CLUSTER).inputs["accessConfig"]["bootstrapClusterCreatorAdminPermissions"] is False
    entry = entries(graph)["deployer"]
    assert entry.inputs["principalArn"] == ALICE
    assert entry.options["ignoreChanges"] == ["principalArn"], "an update by another principal must not move it"


@pytest.mark.parametrize("admins", [(), (ALICE, CI), (WANT.admins[0], CI, ALICE)])
@pytest.mark.parametrize("viewers", [(), ("arn:aws:iam::123456789012:role/auditors",)])
def test_an_update_by_another_deployer_keeps_every_entry(admins, viewers):
    """An update by a second deployer deleted the entry of the first."""
    first, second = (of_deployer(arn, admins=admins, viewers=viewers) for arn in (ALICE, CI))
    changed = compare(first.as_json(), second.as_json())
    assert not [change for change in changed if change.operation != "update"], changed
    assert [*entries(first)] == [*entries(second)]
    assert [(n.urn, n.inputs["principalArn"]) for n in first.by_type(ENTRY) if not n.options.get("ignoreChanges")] == [
        (n.urn, n.inputs["principalArn"]) for n in second.by_type(ENTRY) if not n.options.get("ignoreChanges")
    ]
    assert len(entries(first)) == max(1, len(admins)) + len(viewers)


def test_an_update_with_another_assumed_role_keeps_every_entry():
    plan = replace(WANT, creator_access="entry", admins=(CI, ALICE))
    graphs = [cluster(plan, builder_arn=role) for role in (ALICE, CI)]
    assert [n.inputs["principalArn"] for n in graphs[0].by_type(ENTRY)] == [n.inputs["principalArn"] for n in graphs[1].by_type(ENTRY)]
    assert not graphs[0].invokes


@pytest.mark.parametrize("viewers", [(), (ALICE,)])
def test_a_deployer_that_is_not_listed_is_refused_with_its_arn(viewers):
    with pytest.raises(UserError, match=f"{ALICE} runs this update, and is not one of the cluster's administrators .{CI}.") as refused:
        of_deployer(ALICE, admins=(CI,), viewers=viewers)
    assert refused.value.problems[0].fix == f"add {ALICE} to `admins`, or run the update as one of them"
    with pytest.raises(UserError, match="not one of the cluster's administrators"):
        cluster(replace(WANT, creator_access="entry"), builder_arn=CI)


def test_a_role_without_its_path_is_another_principal():
    with pytest.raises(UserError, match=f"add {ALICE} to `admins`"):
        of_deployer(ALICE, admins=(ALICE.replace("people/", ""),))


def test_a_deployer_that_is_a_viewer_is_refused_because_eks_has_one_entry_per_principal():
    with pytest.raises(UserError, match=f"{ALICE} runs this update as administrator, and is in `viewers`"):
        of_deployer(ALICE, viewers=(ALICE,))


def test_an_administrator_gets_no_second_entry_as_viewer_or_as_one_known_at_deployment():
    plan = replace(WANT, creator_access="entry", admins=(ALICE, ALICE), viewers=(ALICE,))
    assert [*entries(cluster(plan, builder_arn=ALICE, admin_arns=[ALICE]))] == ["123456789012-role-people-alice"]


def test_a_session_without_a_role_is_refused():
    """EKS has no access entries for sessions; the issuer of a federated user's session is the session."""
    with pytest.raises(UserError, match="is a session, and EKS has no access entries for sessions"):
        of_deployer("arn:aws:sts::123456789012:federated-user/alice")


def test_the_account_s_root_user_can_create_a_cluster():
    root = "arn:aws:iam::123456789012:root"
    assert entries(of_deployer(root))["deployer"].inputs["principalArn"] == root


def test_a_recorded_graph_has_no_deployer_to_refuse():
    assert [*entries(cluster(replace(WANT, creator_access="entry")))] == ["123456789012-role-platform-Deployer"]


def test_the_entry_of_eks_is_not_made_again():
    graph = cluster(replace(WANT, creator_access="eks", admins=(ALICE, CI), viewers=(CI,)), builder_arn=CI)
    assert graph.one(CLUSTER).inputs["accessConfig"]["bootstrapClusterCreatorAdminPermissions"] is True
    assert [n.inputs["principalArn"] for n in graph.by_type(ENTRY)] == [ALICE]


def test_the_deployer_s_entry_moves_to_its_key_in_admins_and_back():
    """A new entry would be created before the old one is deleted, and rejected."""
    listed = of_deployer(ALICE, admins=(ALICE, CI))
    own, others = "123456789012-role-people-alice", "123456789012-role-ci"
    assert "demo-cluster-admin-deployer" in str(entries(listed)[own].options["aliases"])
    assert "demo-cluster-admin-deployer" not in str(entries(listed)[others].options["aliases"])
    assert f"demo-cluster-viewer-{own}" in str(entries(listed)[own].options["aliases"])
    assert f"demo-cluster-admin-{own}" in str(entries(of_deployer(ALICE))["deployer"].options["aliases"])


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
