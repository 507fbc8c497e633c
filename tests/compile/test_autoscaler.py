"""The cluster autoscaler's order of pools, as it reads it."""

import yaml

from tests.plans import compiled, training_case


def test_pools_that_stand_first_share_a_priority():
    """One priority written twice is a YAML map of which only the last half is read: the others would grow by chance."""
    extras = [{"name": name, "instance": "g6e.xlarge", "nodes": 3, "at_least": 0} for name in ("debug", "small")]
    plan = compiled(training_case(blueprint={"pools": extras}))
    text = next(release.values["expanderPriorities"] for release in plan.releases if release.name == "cluster-autoscaler")
    assert yaml.safe_load(text) == {100: [".*-pool-debug-nodes-.*", ".*-pool-small-nodes-.*"]}
