"""Fixtures for the tests of a project."""

from tests.plans import box_plan

pytest_plugins = ["rackwright_pulumi.testing.fixtures"]


def test_graph_of_a_plan(graph_of):
    assert graph_of(box_plan()).one("aws:ec2/instance:Instance")


def test_every_test_starts_with_an_empty_cloud(simulated_cloud):
    assert simulated_cloud.is_empty()
    simulated_cloud.capacity = {"p5.48xlarge": {"us-east-1a": 4}}
    assert simulated_cloud.capacity["p5.48xlarge"]["us-east-1a"] == 4
