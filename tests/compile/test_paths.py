"""Each blueprint compiles to a whole plan."""

import pytest
from rackwright.compile.wants import StackPlan

from tests import plans


@pytest.mark.parametrize("name", plans.ALL)
def test_plan_survives_json(name):
    plan = plans.ALL[name]()
    assert StackPlan.from_json(plan.to_json()) == plan


def test_p5_has_33_interfaces():
    nics = plans.training_plan().pool("gpu").nics
    assert len(nics) == 33
    assert [(n.card, n.device, n.kind) for n in nics[:3]] == [(0, 0, "ip"), (0, 1, "fabric"), (1, 0, "fabric")]


def test_count_of_wants_does_not_grow_with_nodes():
    small, large = (plans.compiled(plans.training_case(nodes)) for nodes in (2, 512))
    for part in ("pools", "manifests", "releases", "addons", "identities", "buckets", "namespaces"):
        assert len(getattr(small, part)) == len(getattr(large, part)), part
