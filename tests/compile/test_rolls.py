"""Roll settings of managed pools, which follow from the limits in the catalog."""

from dataclasses import replace

import pytest
from rackwright.catalog import Catalog
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.nodes.roll import with_rolls
from rackwright.stackplan import StackPlan

from tests import plans

TRAINING = plans.training_plan()
CATALOG = Catalog.default()


def rolled(nodes: int, catalog: Catalog = CATALOG):
    """The GPU pool of a training cluster with a maximum of `nodes`."""
    pools = tuple(replace(pool, nodes_max=nodes) for pool in TRAINING.pools)
    context = CompileContext(*plans.training_case(), plans.TODAY, catalog=catalog)
    return with_rolls(context, replace(TRAINING, pools=pools)).pool("gpu")


@pytest.mark.parametrize("nodes", [0, 1, 2, 3, 4, 64, 256, 300, 512, 1000])
def test_every_pool_is_replaced_within_its_time_limit(nodes):
    """One machine at a time, a pool of 64 took a day, and the update failed after an hour."""
    pool = rolled(nodes)
    assert 1 <= pool.max_unavailable <= 100
    assert -(-nodes // pool.max_unavailable) * 20 <= pool.update_minutes
    assert pool.update_minutes == 60 or nodes > 300


def test_the_time_per_machine_is_a_row_of_the_catalog():
    rows = tuple(replace(row, value=2400.0) if row.rule == "node_roll_s" else row for row in CATALOG.capacity_rules)
    assert (rolled(9).max_unavailable, rolled(9, replace(CATALOG, capacity_rules=rows)).max_unavailable) == (3, 6)


def test_only_managed_pools_of_a_cloud_with_limits_have_roll_settings():
    assert {(pool.max_unavailable, pool.update_minutes) for pool in TRAINING.pools} == {(1, 60), (2, 60)}
    assert {pool.max_unavailable for pool in plans.tpu_plan().pools} == {None}
    assert plans.FLEETS["fleet-eks"]().pool("gpu").max_unavailable is None, "Karpenter replaces its machines"


def test_a_plan_of_an_older_release_has_no_roll_settings():
    data = TRAINING.to_json().replace('"max_unavailable": 2,', "").replace('"update_minutes": 60\n', '"serves": []\n')
    assert StackPlan.from_json(data).pool("gpu").max_unavailable is None
