"""The order of pools in the configuration of the cluster autoscaler."""

import re

import pytest
import yaml
from rackwright.compile.compile import compile_plan

from tests import plans
from tests.graphs import recorded

EXTRAS = [{"name": name, "instance": "g6e.xlarge", "nodes": 3, "at_least": 0} for name in ("debug", "small")]
FALLBACK = plans.AWS | {"capacity": {"fallback": plans.FALLBACK}}


def priorities(plan):
    return yaml.safe_load(next(release.values["expanderPriorities"] for release in plan.releases if release.name == "cluster-autoscaler"))


def test_pools_of_equal_preference_share_a_priority():
    """YAML keeps only the last of two equal keys, so two entries with one priority would lose a pool."""
    plan = plans.compiled(plans.training_case(blueprint={"pools": EXTRAS}))
    assert priorities(plan) == {100: [".*-pool-debug-nodes-.*", ".*-pool-small-nodes-.*"]}


@pytest.mark.parametrize("stack", ["chat", "a-name-of-forty-characters-which-is-most"])
def test_pattern_of_a_pool_matches_only_its_scaling_group(stack):
    """EKS names the scaling group after the node group, and truncates long names."""
    spec, sizing, fit = plans.eks_fleet_case(place=FALLBACK, blueprint={"ttl": "14d", "nodes": {"provisioner": "managed"}})
    plan = compile_plan(spec.model_copy(update={"name": stack}), sizing, fit, today=plans.TODAY)
    groups = [n for n in recorded(plan, stack="test").nodes.values() if n.type == "aws:eks/nodeGroup:NodeGroup"]
    names = {node.name: f"eks-{node.inputs.get('nodeGroupNamePrefix') or node.name + '-'}1a2b3c4-uuid" for node in groups}
    for priority, patterns in priorities(plan).items():
        found = {logical for logical, name in names.items() for pattern in patterns if re.match(pattern, name)}
        assert found == {f"{stack}-pool-{pool.name}-nodes" for pool in plan.pools if pool.autoscaled and 100 - pool.preference == priority}
