"""The examples of docs/aws.md, one per component, run and satisfy the resource rules."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pulumi
import pytest
import rackwright_pulumi.aws as aws
from rackwright_pulumi.policies import broken
from rackwright_pulumi.testing import record

from tests.components.aws.test_existing_cluster import SHARED
from tests.components.sdk import misfits, untagged

GUIDE = Path(__file__).parents[3] / "docs" / "aws.md"
LONGEST = 19
"""Lines of an example with something on them: under 20."""
MADE = {
    "AwsKey": {"aws:kms/key:Key": 1, "aws:kms/alias:Alias": 1},
    "AwsNetwork": {"aws:ec2/vpc:Vpc": 1, "aws:ec2/subnet:Subnet": 4, "aws:ec2/natGateway:NatGateway": 1, "aws:ec2/flowLog:FlowLog": 1},
    "AwsStorage": {"aws:s3/bucket:Bucket": 2, "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation": 2},
    "AwsStorage-2": {"aws:s3/bucket:Bucket": 0, "aws:fsx/lustreFileSystem:LustreFileSystem": 1},
    "AwsIdentity": {"aws:iam/role:Role": 1, "aws:eks/podIdentityAssociation:PodIdentityAssociation": 1},
    "AwsCluster": {"aws:eks/cluster:Cluster": 1, "aws:eks/accessEntry:AccessEntry": 1, "aws:iam/role:Role": 2},
    "AwsExistingCluster": {"aws:eks/cluster:Cluster": 0, "aws:iam/role:Role": 1},
    "AwsAddons": {"aws:eks/addon:Addon": 3, "aws:iam/role:Role": 1},
    "AwsPool": {"aws:eks/nodeGroup:NodeGroup": 1, "aws:ec2/launchTemplate:LaunchTemplate": 1, "aws:ec2/placementGroup:PlacementGroup": 0},
    "AwsAutoscaler": {"aws:iam/role:Role": 1, "aws:autoscaling/tag:Tag": 1},
    "AwsPodLogs": {"aws:cloudwatch/logGroup:LogGroup": 1, "aws:iam/role:Role": 1, "aws:iam/rolePolicy:RolePolicy": 1},
    "AwsKarpenter": {"aws:sqs/queue:Queue": 1, "aws:iam/role:Role": 2, "aws:eks/accessEntry:AccessEntry": 1},
    "AwsBox": {"aws:ec2/instance:Instance": 1, "aws:ebs/volume:Volume": 1, "aws:cloudwatch/metricAlarm:MetricAlarm": 1},
    "AwsGuard": {"aws:sns/topic:Topic": 1, "aws:budgets/budget:Budget": 1, "aws:cloudwatch/metricAlarm:MetricAlarm": 1},
}
"""Example to some of what it makes, by type; the second example of a component has a number."""


def examples() -> dict[str, str]:
    """Python examples by the heading of their component."""
    found: dict[str, str] = {}
    for section in re.split(r"^### ", GUIDE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        name = section.partition("\n")[0]
        for number, source in enumerate(re.findall(r"```python\n(.*?)```", section.partition("\n## ")[0], re.DOTALL), 1):
            found[name if number == 1 else f"{name}-{number}"] = source
    return found


EXAMPLES = examples()


def graph_of(source: str):
    return record(lambda: exec(compile(source, GUIDE.name, "exec"), {}), invokes={"aws:eks/getCluster:getCluster": SHARED})


def test_every_component_has_a_section_with_an_example():
    modules = [importlib.import_module(module.name) for module in pkgutil.walk_packages(aws.__path__, f"{aws.__name__}.")]
    own = {
        name
        for module in modules
        for name, made in inspect.getmembers(module, inspect.isclass)
        if issubclass(made, pulumi.ComponentResource) and made.__module__ == module.__name__
    }
    assert {name.partition("-")[0] for name in EXAMPLES} == own
    assert set(EXAMPLES) == set(MADE)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_declares_its_resources_and_passes_all_rules(name):
    assert len([line for line in EXAMPLES[name].splitlines() if line]) <= LONGEST
    graph = graph_of(EXAMPLES[name])
    assert {kind: len(graph.by_type(kind)) for kind in MADE[name]} == MADE[name]
    assert broken(graph) == []
    assert not misfits(graph)
    assert not graph.unregistered()


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_taggable_resource_has_the_tags_of_the_example(name):
    owner = re.search(r'"owner": "(\w+)"', EXAMPLES[name])
    assert owner
    assert not untagged(graph_of(EXAMPLES[name]), owner[1])


@pytest.mark.parametrize("name", ["AwsKey", "AwsNetwork", "AwsStorage", "AwsCluster", "AwsBox"])
def test_data_is_protected_by_default(name):
    assert [node.label for node in graph_of(EXAMPLES[name]).nodes.values() if node.protect]
