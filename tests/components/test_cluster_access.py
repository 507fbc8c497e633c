"""Administrators and viewers of a new cluster; its creator keeps access."""

import pytest
from rackwright.compile.compile import compile_plan
from rackwright.compile.compile_context import NEW_STACK, RunningStack

from tests import plans
from tests.components.waits import all_before
from tests.graphs import recorded

ADMIN, VIEWER = "arn:aws:iam::123456789012:role/platform", "arn:aws:iam::123456789012:role/auditors"
EARLIER = RunningStack(creator_is_admin=True)
"""A cluster of a release that left the creator's entry to EKS."""
GROUP = "group:ml@example.com"
CREATOR = "arn:aws:iam::123456789012:role/ci"


def graph_of(case, running=NEW_STACK, **blueprint):
    spec, sizing, fit = case
    chosen = spec.blueprint.model_copy(update=blueprint)
    plan = compile_plan(spec.model_copy(update={"blueprint": chosen}), sizing, fit, today=plans.TODAY, running=running)
    return recorded(plan)


def policies_of(graph):
    token = "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"
    return {node.inputs["principalArn"]: node.inputs["policyArn"].rpartition("/")[2] for node in graph.by_type(token)}


def test_eks_has_an_access_entry_for_every_administrator_and_viewer():
    graph = graph_of(plans.training_case(), admins=(ADMIN,), viewers=(VIEWER, ADMIN))
    assert policies_of(graph) == {ADMIN: "AmazonEKSClusterAdminPolicy", VIEWER: "AmazonEKSViewPolicy"}


@pytest.mark.parametrize("admins", [(), (ADMIN,)])
def test_the_creator_of_an_eks_cluster_has_the_entry_that_its_release_made(admins):
    for running, by_eks in ((NEW_STACK, False), (EARLIER, True)):
        inputs = graph_of(plans.training_case(), running, admins=admins).one("aws:eks/cluster:Cluster").inputs
        assert inputs["accessConfig"]["bootstrapClusterCreatorAdminPermissions"] is by_eks


def test_the_creator_gets_no_second_access_entry():
    case = plans.training_case(place=plans.AWS | {"role": CREATOR})
    assert policies_of(graph_of(case, EARLIER, admins=(CREATOR, ADMIN))) == {ADMIN: "AmazonEKSClusterAdminPolicy"}


@pytest.mark.parametrize("admins", [(), (ADMIN,), (ADMIN, CREATOR)])
def test_the_role_of_the_spec_is_administrator_of_a_new_cluster(admins):
    """Every update runs as this role, so the spec need not list it."""
    case = plans.training_case(place=plans.AWS | {"role": CREATOR})
    assert policies_of(graph_of(case, admins=admins)) == dict.fromkeys({CREATOR, *admins}, "AmazonEKSClusterAdminPolicy")


def test_gke_grants_roles_to_google_principals():
    graph = graph_of(plans.fleet_case(), admins=(GROUP, ADMIN), viewers=("user:a@example.com", GROUP))
    members = {node.inputs["member"]: node.inputs["role"] for node in graph.by_type("gcp:projects/iAMMember:IAMMember")}
    assert members[GROUP] == "roles/container.admin"
    assert members["user:a@example.com"] == "roles/container.viewer"
    assert ADMIN not in members
    assert len([node for node in graph.by_type("gcp:projects/iAMMember:IAMMember") if node.inputs["member"] == GROUP]) == 1


def test_objects_of_the_cluster_wait_for_the_entries():
    graph = graph_of(plans.training_case(), admins=(ADMIN,))
    objects = [node for node in graph.nodes.values() if node.type.startswith("kubernetes:")]
    assert objects
    assert all(any("admin" in urn for urn in all_before(graph, node.urn)) for node in objects)
