"""Nodes with a custom image on the real engine: user data has the values of the cluster, and a second update is empty."""

from dataclasses import replace
from pathlib import Path

import pytest
from rackwright_pulumi.simulator import Engine

from tests import plans

PROGRAM = Path(__file__).parent / "programs" / "plan"
NEXT_AMI = "ami-0fedcba9876543210"


@pytest.mark.slow
def test_another_image_updates_the_node_group_without_replacement(cloud, tmp_path):
    plan, file = plans.NODES["own-ami"](), tmp_path / "plan.json"
    file.write_text(plan.to_json(), encoding="utf-8")
    engine = Engine(PROGRAM, cloud, tmp_path / "work", config={"rackwright:plan": str(file)})
    engine.prepare()
    made = engine.up()["create"]
    assert engine.up(expect_no_changes=True) == {"same": made}
    pools = tuple(replace(pool, image_id=NEXT_AMI) if pool.image_id else pool for pool in plan.pools)
    file.write_text(replace(plan, pools=pools).to_json(), encoding="utf-8")
    assert engine.up() == {"same": made - 2, "update": 2}
