"""Administrators and viewers of a new cluster; its creator keeps access."""

import pytest
from rackwright_pulumi.program.build import declare
from rackwright_pulumi.testing import record

from tests import plans
from tests.components.waits import all_before

ADMIN, VIEWER = "arn:aws:iam::123456789012:role/platform", "arn:aws:iam::123456789012:role/auditors"
GROUP = "group:ml@example.com"
CREATOR = "arn:aws:iam::123456789012:role/ci"


def graph_of(case, **blueprint):
    spec, sizing, fit = case
    chosen = spec.blueprint.model_copy(update=blueprint)
    plan = plans.compiled((spec.model_copy(update={"blueprint": chosen}), sizing, fit))
    return record(lambda: declare(plan) and None)


def policies_of(graph):
    token = "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"
    return {node.inputs["principalArn"]: node.inputs["policyArn"].rpartition("/")[2] for node in graph.by_type(token)}


def test_eks_has_an_access_entry_for_every_administrator_and_viewer():
    graph = graph_of(plans.training_case(), admins=(ADMIN,), viewers=(VIEWER, ADMIN))
    assert policies_of(graph) == {ADMIN: "AmazonEKSClusterAdminPolicy", VIEWER: "AmazonEKSViewPolicy"}


@pytest.mark.parametrize("admins", [(), (ADMIN,)])
def test_the_creator_of_an_eks_cluster_stays_administrator(admins):
    inputs = graph_of(plans.training_case(), admins=admins).one("aws:eks/cluster:Cluster").inputs
    assert inputs["accessConfig"]["bootstrapClusterCreatorAdminPermissions"] is True


def test_the_creator_gets_no_second_access_entry():
    case = plans.training_case(place=plans.AWS | {"role": CREATOR})
    assert policies_of(graph_of(case, admins=(CREATOR, ADMIN))) == {ADMIN: "AmazonEKSClusterAdminPolicy"}


def test_gke_grants_roles_to_google_principals():
    graph = graph_of(plans.fleet_case(), admins=(GROUP, ADMIN), viewers=("user:a@example.com",))
    members = {node.inputs["member"]: node.inputs["role"] for node in graph.by_type("gcp:projects/iAMMember:IAMMember")}
    assert members[GROUP] == "roles/container.admin"
    assert members["user:a@example.com"] == "roles/container.viewer"
    assert ADMIN not in members


def test_objects_of_the_cluster_wait_for_the_entries():
    graph = graph_of(plans.training_case(), admins=(ADMIN,))
    objects = [node for node in graph.nodes.values() if node.type.startswith("kubernetes:")]
    assert objects
    assert all(any("admin" in urn for urn in all_before(graph, node.urn)) for node in objects)
