"""Principals that can use the roles, the key and the queue of a stack, and egress of the file system."""

import json

import pytest
from rackwright_pulumi.resource_graph import unwrap_secrets

from tests import plans
from tests.components.aws.parts import EGRESS
from tests.graphs import recorded

ACCOUNT = "123456789012"


def graph_of(build):
    return recorded(build())


def documents(graph, token, field):
    return [statement for node in graph.by_type(token) for statement in json.loads(unwrap_secrets(node.inputs[field]))["Statement"]]


@pytest.mark.parametrize("service", ["eks.amazonaws.com", "vpc-flow-logs.amazonaws.com", "scheduler.amazonaws.com"])
def test_services_assume_roles_only_for_the_account_of_the_stack(service):
    trusts = documents(graph_of(plans.training_plan), "aws:iam/role:Role", "assumeRolePolicy")
    found = [trust["Condition"]["StringEquals"]["aws:SourceAccount"] for trust in trusts if trust["Principal"].get("Service") == service]
    assert found == [ACCOUNT]


def test_the_queue_accepts_events_of_the_stacks_rules_only():
    allowed = [
        s for s in documents(graph_of(plans.FLEETS["fleet-eks"]), "aws:sqs/queuePolicy:QueuePolicy", "policy") if s["Effect"] == "Allow"
    ]
    assert [s["Principal"] for s in allowed] == [{"Service": "events.amazonaws.com"}]
    assert len(allowed[0]["Condition"]["ArnEquals"]["aws:SourceArn"]) == 5


def test_only_service_roles_of_the_account_use_the_key():
    statements = documents(graph_of(plans.training_plan), "aws:kms/key:Key", "policy")
    open_principals = [s for s in statements if s["Principal"] == {"AWS": "*"}]
    assert open_principals
    assert all(s["Condition"]["StringEquals"]["kms:CallerAccount"] == ACCOUNT for s in open_principals)


def test_egress_of_the_file_system_is_limited_to_its_network():
    graph = graph_of(plans.training_plan)
    (rule,) = [node for node in graph.by_type(EGRESS) if node.name.endswith("lustre-out")]
    assert rule.inputs["cidrIpv4"] == graph.one("aws:ec2/vpc:Vpc").inputs["cidrBlock"]
