"""A stack on an existing network, cluster, roles and keys, by ID or as outputs of another stack."""

import json
from dataclasses import replace

import pulumi
import pytest
from rackwright.diagnostics.errors import UserError
from rackwright.spec.infra import Roles
from rackwright.validation.stack import check
from rackwright_pulumi import declare
from rackwright_pulumi.testing import record

from tests import plans

ACCOUNT = "arn:aws:iam::123456789012"
NET, IAM = "organization/net/prod", "organization/iam/prod"
SUBNETS = [
    {"id": "subnet-1", "zone": "us-east-1b", "cidr": "10.1.0.0/18", "use": "nodes"},
    {"id": {"stack": NET, "output": "parts.network.subnets.control"}, "zone": "us-east-1c", "use": "control"},
    {"id": "subnet-3", "zone": "us-east-1b", "use": "control"},
]
NETWORK = {"existing": {"vpc": {"stack": NET, "output": "vpcId"}, "subnets": SUBNETS}}
PLACE = plans.AWS | {
    "role": f"{ACCOUNT}:role/deployer",
    "permissions_boundary": f"{ACCOUNT}:policy/boundary",
    "key": "arn:aws:kms:us-east-1:123456789012:key/1234abcd",
    "roles": {"nodes": {"stack": IAM, "output": "nodeRole"}, "workload": f"{ACCOUNT}:role/trainer"},
    "network": NETWORK,
}
OUTPUTS = {NET: {"vpcId": "vpc-9", "parts": {"network": {"subnets": {"control": "subnet-2"}}}}, IAM: {"nodeRole": f"{ACCOUNT}:role/nodes"}}
SHARED = {
    "name": "shared",
    "id": "shared",
    "arn": "arn:aws:eks:us-east-1:123456789012:cluster/shared",
    "endpoint": "https://shared.example",
    "certificateAuthorities": [{"data": "Q0E="}],
    "identities": [{"oidcs": [{"issuer": "https://oidc.example"}]}],
    "vpcConfig": {"clusterSecurityGroupId": "sg-shared"},
    "kubernetesNetworkConfigs": [{"serviceIpv4Cidr": "172.20.0.0/16"}],
}
INSIDE = {"api_access": {"runner": "inside"}, "ttl": "14d"}
GUEST = {"cluster": {"name": "shared"}} | INSIDE


def graph_of(plan, outputs=OUTPUTS):
    def program():
        for key, value in declare(plan).stack_outputs().items():
            pulumi.export(key, value)

    return record(program, stack_outputs=outputs, invokes={"aws:eks/getCluster:getCluster": SHARED})


def owner(place=PLACE, **blueprint):
    """A stack with a new cluster in an existing network."""
    return plans.compiled(plans.training_case(place=place, blueprint=INSIDE | blueprint))


def guest(place=PLACE, **blueprint):
    return plans.compiled(plans.training_case(place=place, blueprint=GUEST | blueprint))


def test_the_provider_assumes_the_role_and_refuses_every_other_account():
    graph = graph_of(owner())
    provider = graph.one("pulumi:providers:aws").inputs
    assert provider["allowedAccountIds"] == '["123456789012"]'
    assert json.loads(provider["assumeRoles"]) == [{"roleArn": f"{ACCOUNT}:role/deployer"}]
    (inside,) = graph.by_type("pulumi:providers:kubernetes")
    assert f'"--role-arn", "{ACCOUNT}:role/deployer"' in inside.inputs["kubeconfig"].value


@pytest.mark.parametrize("case", [plans.training_case, plans.box_case, plans.eks_fleet_case, plans.managed_fleet_case])
def test_every_new_role_has_the_boundary(case):
    plan = plans.compiled(case())
    plan = replace(plan, place=replace(plan.place, boundary_arn=f"{ACCOUNT}:policy/boundary"))
    roles = graph_of(plan).by_type("aws:iam/role:Role")
    assert roles
    assert {node.inputs.get("permissionsBoundary") for node in roles} == {f"{ACCOUNT}:policy/boundary"}


def test_an_existing_network_gets_only_the_fabric_group():
    graph = graph_of(owner())
    made = [n for n in graph.nodes.values() if n.parent.endswith("AwsNetwork::llama-70b-sft-network") and n.custom]
    assert {n.type.rpartition(":")[2] for n in made} == {
        "SecurityGroup",
        "SecurityGroupIngressRule",
        "SecurityGroupEgressRule",
        "StackReference",
    }
    assert graph.one("aws:ec2/securityGroup:SecurityGroup", "llama-70b-sft-network-fabric").inputs["vpcId"] == "vpc-9"
    cluster = graph.one("aws:eks/cluster:Cluster").inputs
    assert cluster["vpcConfig"]["subnetIds"] == ["subnet-2", "subnet-3"]
    groups = {n.name.split("-")[-2]: n.inputs["subnetIds"] for n in graph.by_type("aws:eks/nodeGroup:NodeGroup")}
    assert groups == {"gpu": ["subnet-1"], "system": ["subnet-2", "subnet-3"]}
    assert graph.one("aws:fsx/lustreFileSystem:LustreFileSystem").inputs["subnetIds"] == "subnet-1"


def test_existing_roles_and_keys_are_used_without_new_ones():
    graph = graph_of(owner(PLACE | {"roles": PLACE["roles"] | {"cluster": f"{ACCOUNT}:role/control"}}))
    assert not graph.by_type("aws:kms/key:Key") + graph.by_type("aws:kms/alias:Alias")
    cluster = graph.one("aws:eks/cluster:Cluster").inputs
    assert cluster["roleArn"] == f"{ACCOUNT}:role/control"
    assert cluster["encryptionConfig"]["provider"]["keyArn"] == PLACE["key"]
    assert {n.inputs["nodeRoleArn"] for n in graph.by_type("aws:eks/nodeGroup:NodeGroup")} == {f"{ACCOUNT}:role/nodes"}
    assert not [n.name for n in graph.by_type("aws:iam/role:Role") if "identity" in n.name or "cluster" in n.name]
    workload = [n for n in graph.by_type("aws:eks/podIdentityAssociation:PodIdentityAssociation") if "identity" in n.name]
    assert [n.inputs["roleArn"] for n in workload] == [f"{ACCOUNT}:role/trainer"]


def test_a_box_uses_the_existing_instance_profile():
    spec, sizing, chosen = plans.box_case()
    place = spec.infra.any_of[0].model_copy(update={"roles": Roles(workload="team-box")})
    here = spec.model_copy(update={"infra": spec.infra.model_copy(update={"any_of": (place,)})})
    graph = graph_of(plans.compiled((here, sizing, chosen)))
    assert graph.one("aws:ec2/instance:Instance").inputs["iamInstanceProfile"] == "team-box"
    assert not graph.by_type("aws:iam/instanceProfile:InstanceProfile")


class TestStackOnExistingCluster:
    def test_it_creates_no_control_plane_add_ons_operators_or_system_machines(self):
        graph = graph_of(guest())
        types = {node.type for node in graph.nodes.values()}
        assert not types & {"aws:eks/cluster:Cluster", "aws:eks/addon:Addon", "kubernetes:helm.sh/v3:Release"}
        (pool,) = graph.by_type("aws:eks/nodeGroup:NodeGroup")
        assert pool.inputs["clusterName"] == "shared"
        assert not {"version", "releaseVersion"} & pool.inputs.keys()
        assert graph.outputs["endpoint"] == "https://shared.example"

    def test_the_autoscaler_of_the_cluster_scales_a_fleet(self):
        blueprint = {"cluster": {"name": "shared"}, "nodes": {"provisioner": "managed"}, "api_access": {"runner": "inside"}}
        plan = plans.compiled(plans.eks_fleet_case(place=PLACE, blueprint=blueprint))
        graph = graph_of(plan)
        assert not [node.name for node in graph.nodes.values() if "autoscaler" in node.name]
        assert "cluster-autoscaler" in next(p.reason for p in check(plan) if p.code == "R-22")
        scaler = next(want.body for want in plan.manifests if want.body["kind"] == "ScaledObject")
        assert 'namespace="chat-eks-team-chat"' in scaler["spec"]["triggers"][0]["metadata"]["query"]

    def test_karpenter_is_refused(self):
        blueprint = {"cluster": {"name": "shared"}, "nodes": {"provisioner": "karpenter"}}
        with pytest.raises(UserError, match="Karpenter of an existing cluster cannot use the node role"):
            plans.compiled(plans.eks_fleet_case(place=PLACE, blueprint=blueprint))

    def test_its_names_and_labels_contain_the_stack_name(self):
        plan = guest()
        for want in plan.manifests:
            metadata = want.body["metadata"]
            assert (metadata.get("namespace") or metadata["name"]).startswith("llama-70b-sft-"), want.key
        flavor, queue = (next(m.body for m in plan.manifests if m.body["kind"] == kind) for kind in ("ResourceFlavor", "ClusterQueue"))
        assert flavor["spec"]["nodeLabels"].items() <= (dict(plan.pool("gpu").labels) | {"rackwright/preflight": "passed"}).items()
        assert flavor["spec"]["nodeLabels"] != {"rackwright/role": "accelerator"}
        assert queue["spec"]["resourceGroups"][0]["flavors"][0]["name"] == flavor["metadata"]["name"]
        (identity,) = plan.identities
        assert identity.namespace == "llama-70b-sft-team-nlp"
        assert identity.namespace in dict(plan.namespaces)

    def test_two_stacks_share_a_cluster(self):
        one = guest()
        two = plans.compiled(_renamed(plans.training_case(place=PLACE, blueprint=GUEST), "other"))
        assert not _objects(one) & _objects(two)
        assert not set(dict(one.namespaces)) & set(dict(two.namespaces)) - {r.namespace for r in one.releases}

    def test_the_cluster_can_be_an_output_of_another_stack(self):
        chosen = {"stack": NET, "output": "parts.cluster.name"}
        outputs = OUTPUTS | {NET: {"vpcId": "vpc-9", "parts": {"cluster": {"name": "shared"}, "network": {"subnets": {"control": "s-2"}}}}}
        graph = graph_of(guest(cluster=chosen), outputs)
        assert ("aws:eks/getCluster:getCluster", {"name": "shared"}) in graph.invokes

    def test_requirements_on_the_cluster_are_warnings_that_can_be_acknowledged(self):
        found = {problem.code: problem for problem in check(guest())}
        assert {"R-22", "R-28", "V-42"} <= set(found)
        assert "kueue" in found["R-22"].reason
        assert not [problem for problem in check(guest()) if problem.level == "error"]

    def test_a_new_network_is_refused(self):
        assert "R-21" in {problem.code for problem in check(guest(PLACE | {"network": {}}))}


def _objects(plan) -> set[tuple[str, str, str]]:
    named = ((want.body["kind"], want.body["metadata"]) for want in plan.manifests)
    return {(kind, metadata.get("namespace", ""), metadata["name"]) for kind, metadata in named}


def _renamed(case, name):
    spec, sizing, chosen = case
    return spec.model_copy(update={"name": name}), sizing, chosen


def test_an_output_that_another_stack_lacks_is_named():
    with pytest.raises(pulumi.RunError, match="stack organization/iam/prod has no output nodeRole"):
        graph_of(owner(), OUTPUTS | {IAM: {}})
