"""Boxes on Compute Engine with the real engine: created, updated without a replacement, and destroyed without remaining resources."""

from dataclasses import replace

import pytest
from rackwright.stackplan import VersionPins
from rackwright_pulumi.simulator import EngineFailure

from tests.engine.aws_stacks import Stack, edited
from tests.gce_plans import GCE

pytestmark = pytest.mark.slow
REPLACING = {"replace", "create-replacement", "delete-replaced", "delete"}
KEPT = {
    "gcp:compute/instance:Instance",
    "gcp:compute/instanceGroupManager:InstanceGroupManager",
    "gcp:compute/resizeRequest:ResizeRequest",
    "gcp:compute/disk:Disk",
    "gcp:compute/network:Network",
    "gcp:kms/cryptoKey:CryptoKey",
}
"""Types that no edit of a running box may replace."""


@pytest.mark.parametrize("case", GCE)
def test_create_repeat_update_and_destroy(case, cloud, tmp_path):
    """A benign edit replaces no machine, disk or network: tags, a recipient, the idle time, a new image, and the setup script."""
    made = Stack(GCE[case](), cloud, tmp_path)
    made.engine.up()
    made.engine.up(expect_no_changes=True)
    kept = {r.urn: r.id for r in cloud.resources() if r.type in KEPT}
    image = "projects/ubuntu-os-accelerator-images/global/images/ubuntu-accelerator-2404-amd64-with-nvidia-580-v20991231"
    box = replace(made.plan.box, idle_stop_minutes=90, image=image, setup_script="#!/bin/bash\ntrue\n")
    steps = made.would(replace(edited(made.plan), box=box, pins=VersionPins(images=(("box", image),))))
    assert not KEPT & {kind for op in REPLACING for kind in steps.get(op, ())}, steps
    assert made.engine.up().get("update", 0) >= 1
    assert {r.urn: r.id for r in cloud.resources() if r.urn in kept} == kept
    standing = len(cloud.resources())
    with pytest.raises(EngineFailure, match="protected"):
        made.engine.run("destroy", "--stack", made.engine.stack, "--yes")
    assert len(cloud.resources()) == standing
    made.teardown()
    assert cloud.leftovers() == []
    assert cloud.is_empty(), [r.type for r in cloud.resources()]
