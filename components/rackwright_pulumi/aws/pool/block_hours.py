"""Scheduled scaling of a pool on a capacity block: fill at its start, drain before its end."""

from datetime import UTC, datetime

from pulumi_aws.autoscaling.schedule import Schedule
from pulumi_aws.eks.node_group import NodeGroup
from rackwright.stackplan import PoolPlan

from rackwright_pulumi.aws.tags import ChildContext


def block_hours(child: ChildContext, plan: PoolPlan, nodes: NodeGroup) -> None:
    """Schedule filling only if the block has not started and the pool starts smaller, and draining only if time for it is left.

    AWS rejects times in the past, and deletes a schedule after it ran.
    """
    hours = plan.capacity
    if hours.starts_at and hours.drains_at and plan.nodes_start < plan.nodes_max:
        _size(child, nodes, "fill", hours.starts_at, (plan.nodes_min, plan.nodes_max, plan.nodes_max))
    if hours.drains_at:
        _size(child, nodes, "drain", hours.drains_at, (0, 0, plan.nodes_max))


def _size(child: ChildContext, nodes: NodeGroup, key: str, at: str, sizes: tuple[int, int, int]) -> None:
    """at: ISO 8601, in UTC without a zone. sizes: minimum, desired, maximum."""
    minimum, desired, maximum = sizes
    moment = datetime.fromisoformat(at)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    Schedule(
        child.name(key),
        scheduled_action_name=child.name(key),
        autoscaling_group_name=nodes.resources[0].autoscaling_groups[0].name,
        start_time=moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        min_size=minimum,
        max_size=maximum,
        desired_capacity=desired,
        opts=child.opts(delete_before_replace=True),
    )
