"""The number of resources does not depend on the number of machines."""

from collections import Counter

import pytest

from tests import plans
from tests.graphs import recorded

FEW, MANY = 2, 1024


def counted(case) -> Counter[str]:
    plan = plans.compiled(case)
    return Counter(node.type for node in recorded(plan, stack=plan.name).nodes.values())


def fleet(replicas: int, **blueprint):
    spec, sizing, fit = plans.eks_fleet_case(blueprint=blueprint)
    return spec, sizing, plans.with_replicas(fit, replicas, replicas)


@pytest.mark.parametrize(
    "case",
    [
        lambda nodes: plans.training_case(nodes),
        lambda nodes: fleet(nodes),
        lambda nodes: fleet(nodes, nodes={"provisioner": "managed"}),
    ],
    ids=["training", "fleet", "managed-fleet"],
)
def test_two_machines_have_as_many_resources_as_a_thousand(case):
    assert counted(case(FEW)) == counted(case(MANY))
