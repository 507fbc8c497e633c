"""Template and node group of a pool for every capacity mode (recipes V-32 to V-36)."""

from dataclasses import replace

import pytest
from rackwright.stackplan import CapacityPlan

from tests.components.aws.test_aws_pool import BLOCK, NODE_GROUP, PLACEMENT, SCHEDULE, TEMPLATE, gpu, graph_of, template


def test_v35_a_reservation_target_has_no_preference():
    """EC2 accepts a preference with a target only as capacity-reservations-only, which the target alone implies."""
    for want in (CapacityPlan("reservation", "cr-1"), CapacityPlan("reservation", group_arn="arn:aws:resource-groups:x"), BLOCK):
        specification = template(gpu(capacity=want, nodes_min=0))["capacityReservationSpecification"]
        assert specification.keys() == {"capacityReservationTarget"}
        assert len(specification["capacityReservationTarget"]) == 1


def test_v36_the_instance_type_is_only_in_the_template_for_every_capacity_mode():
    for want in (CapacityPlan("on-demand"), CapacityPlan("spot"), CapacityPlan("reservation", "cr-1"), BLOCK):
        graph = graph_of(gpu(capacity=want, nodes_min=0))
        assert graph.one(TEMPLATE).inputs["instanceType"] == "p5.48xlarge"
        assert "instanceTypes" not in graph.one(NODE_GROUP).inputs


def test_v32_spot_machines_in_a_placement_group_terminate_instead_of_hibernating():
    """A node group terminates spot machines, and refuses a template with an interruption behaviour."""
    graph = graph_of(gpu(capacity=CapacityPlan("spot")))
    assert graph.by_type(PLACEMENT)
    assert "instanceMarketOptions" not in graph.one(TEMPLATE).inputs


def test_a_block_that_has_ended_schedules_nothing_and_is_empty():
    ended = replace(BLOCK, drains_at="")
    graph = graph_of(gpu(capacity=ended, nodes_min=0, nodes_start=0))
    assert not graph.by_type(SCHEDULE)
    assert graph.one(NODE_GROUP).inputs["scalingConfig"] == {"minSize": 0, "maxSize": 4, "desiredSize": 0}


def test_a_node_group_of_a_block_is_upgraded_while_it_is_empty_and_keeps_its_size():
    """EKS requires desired size 0 before an update of a block's node group. The size is 0 before the start, and updates never change it."""
    node_group = graph_of(gpu(capacity=BLOCK, nodes_min=0, nodes_start=0)).one(NODE_GROUP)
    assert node_group.inputs["scalingConfig"]["desiredSize"] == 0
    assert node_group.options["ignoreChanges"] == ["scalingConfig.desiredSize"]


@pytest.mark.parametrize("mode", ["on-demand", "spot", "reservation", "capacity-block"])
def test_accelerators_are_updated_by_terminating_machines_first(mode):
    """Launching first needs more accelerators: docs.aws.amazon.com/eks/latest/APIReference/API_NodegroupUpdateConfig.html"""
    for accelerators in (8, 0):
        pool = gpu(capacity=replace(BLOCK, mode=mode), nodes_min=0, accelerator_count=accelerators)
        strategy = graph_of(pool).one(NODE_GROUP).inputs["updateConfig"]["updateStrategy"]
        finite = accelerators > 0 or mode in ("reservation", "capacity-block")
        assert strategy == ("MINIMAL" if finite else "DEFAULT")


def test_a_pool_is_replaced_with_the_settings_of_its_plan():
    node_group = graph_of(gpu(max_unavailable=22, update_minutes=80)).one(NODE_GROUP)
    assert node_group.inputs["updateConfig"]["maxUnavailable"] == 22
    assert node_group.options["customTimeouts"] == {"create": "40m", "update": "80m", "delete": "40m"}


def test_a_plan_without_roll_settings_has_the_defaults_of_eks_and_the_provider():
    node_group = graph_of(gpu()).one(NODE_GROUP)
    assert node_group.inputs["updateConfig"]["maxUnavailable"] == 1
    assert node_group.options["customTimeouts"] == {"create": "40m", "delete": "40m"}


def test_only_gpu_machines_that_are_added_later_have_the_autoscaler_label():
    key = "k8s.amazonaws.com/accelerator"
    fixed = gpu(accelerator="NVIDIA H100 80GB SXM5", resource="nvidia.com/gpu")
    added = replace(fixed, autoscaled=True, nodes_min=0)
    assert graph_of(added).one(NODE_GROUP).inputs["labels"][key] == "nvidia-h100-80gb-sxm5"
    for other in (fixed, replace(added, resource="aws.amazon.com/neuron"), replace(added, resource="")):
        assert key not in graph_of(other).one(NODE_GROUP).inputs.get("labels", {})
