"""The deployer's policy of every written plan on AWS."""

import json

import pytest
from rackwright_pulumi.deployer import MOST_CHARACTERS
from rackwright_pulumi.deployer.conditions import OWNERS
from rackwright_pulumi.deployer.tables import actions, calls

from tests.deployer.test_policy import documents, statements
from tests.graphs import PLANS, graph_of

pytestmark = pytest.mark.xdist_group("deployer")  # graphs are recorded once
AWS_PLANS = [name for name, build in PLANS.items() if build().place.cloud == "aws"]


@pytest.mark.parametrize("name", AWS_PLANS)
def test_every_document_fits_and_only_some_actions_use_all_resources(name):
    found = documents(name)
    for document in found:
        assert len(json.dumps(document, separators=(",", ":"))) <= MOST_CHARACTERS
    for statement in statements(found):
        if statement["Resource"] == ["*"]:
            assert all(not actions()[action].kinds for action in statement["Action"])
        assert not any("*" in action for action in statement["Action"])


@pytest.mark.parametrize("name", AWS_PLANS)
def test_every_action_its_resources_take_is_there(name):
    found, stack = documents(name), graph_of(name)
    granted = {action for statement in statements(found) for action in statement["Action"]}
    for node in stack.nodes.values():
        if node.type.startswith("aws:"):
            assert {a for field, names in calls()[node.type] if not field for a in names} <= granted, node.label


@pytest.mark.parametrize("name", AWS_PLANS)
def test_every_resource_of_a_conditional_kind_has_the_stacks_tag(name):
    """A condition on a tag that the stack does not set would refuse the update."""
    owners = {token for tokens in OWNERS.values() for token in tokens}
    for node in graph_of(name).nodes.values():
        if node.type in owners:
            assert "rackwright-stack" in node.inputs["tags"], node.label


@pytest.mark.parametrize("name", AWS_PLANS)
def test_the_documents_fit_on_one_role(name):
    """10 managed policies per role: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html"""
    assert len(documents(name)) <= 10
