"""The deployer's roles on Google Cloud have the permissions of the graph's types, and conditions where Google Cloud supports them."""

import pytest
from rackwright_pulumi.deployer import Unknown
from rackwright_pulumi.deployer.gcp_roles import ACT_AS, SET_POLICY, act_as_warning, deployer_roles, host_project_warning, types
from rackwright_pulumi.resource_graph import Graph, Node
from rackwright_pulumi.simulator.schema.facts import covered, find

from tests.gke_plans import GKE, GKE_OPTIONS
from tests.graphs import recorded

PLACE = {"project": "my-project", "region": "us-central1", "stack": "llama-70b-gke"}


@pytest.fixture(scope="module")
def found():
    return deployer_roles(recorded(GKE["gke-lustre"]()), **PLACE)


def role(found, part):
    return next(each for each in found["roles"] if each["roleId"] == f"rackwright_llama_70b_gke_{part}")


def condition(found, part):
    return next(each["condition"]["expression"] for each in found["bindings"] if each["role"].endswith(f"_{part}"))


def test_each_type_of_the_graph_has_its_permissions(found):
    permissions = {name for each in found["roles"] for name in each["includedPermissions"]}
    for node in recorded(GKE["gke-lustre"]()).nodes.values():
        if node.type.startswith("gcp:"):
            assert types()[node.type].changes <= permissions, node.type
    assert "file.instances.create" not in permissions
    assert "lustre.instances.create" not in {
        name for each in deployer_roles(recorded(GKE["gke-tcpxo"]()), **PLACE)["roles"] for name in each["includedPermissions"]
    }


def test_buckets_and_keys_are_limited_to_those_of_the_stack(found):
    assert 'resource.name.startsWith("projects/_/buckets/llama-70b-gke-storage-checkpoints-")' in condition(found, "buckets")
    assert 'startsWith("projects/my-project/locations/us-central1/keyRings/llama-70b-gke-storage-ring-")' in condition(found, "keys")
    assert "storage.buckets.create" in role(found, "deployer")["includedPermissions"], "a create is checked on the project"
    assert "storage.buckets.delete" in role(found, "buckets")["includedPermissions"]


def test_only_the_roles_of_the_stack_can_be_granted(found):
    assert role(found, "grants")["includedPermissions"] == [SET_POLICY]
    assert "hasOnly(['roles/artifactregistry.reader', 'roles/container.defaultNodeServiceAccount'])" in condition(found, "grants")


def test_a_preview_role_changes_nothing():
    document = deployer_roles(recorded(GKE["gke-lustre"]()), preview=True, **PLACE)
    names = {name for each in document["roles"] for name in each["includedPermissions"]}
    assert all(name.rpartition(".")[2].startswith(("get", "list")) for name in names)
    assert act_as_warning(document) == ""


def test_the_peering_needs_an_exception_of_the_organization(found):
    constraints = {each["constraint"] for each in found["organizationPolicies"]}
    assert "constraints/compute.restrictVpcPeering" in constraints
    assert ACT_AS in act_as_warning(found)


def test_every_type_that_the_components_know_has_a_row():
    assert {token for token in types() if find(token)} == {*covered("gcp")}


def test_a_type_without_a_row_is_refused():
    node = Node("urn", "gcp:dns/managedZone:ManagedZone", "zone", "", custom=True, inputs={})
    with pytest.raises(Unknown, match="gcp:dns/managedZone:ManagedZone has no row"):
        deployer_roles(Graph({"urn": node}, {}), **PLACE)


def test_the_host_project_of_a_shared_vpc_is_named_and_its_role_is_not_granted_elsewhere():
    graph = recorded(GKE_OPTIONS["gke-existing"]())
    document = deployer_roles(graph, project="my-project", region="us-central1", stack="demo")
    assert "hostServiceAgentUser" not in str(document)
    assert "net-project" in host_project_warning(graph, "my-project")
    assert host_project_warning(recorded(GKE_OPTIONS["gke-queued"]()), "my-project") == ""
