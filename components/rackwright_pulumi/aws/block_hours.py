"""A capacity block's machines exist for its hours only: the pool is filled at their start and emptied before their end."""

from datetime import UTC, datetime

from pulumi_aws.autoscaling.schedule import Schedule
from pulumi_aws.eks.node_group import NodeGroup
from rackwright.compile.wants import PoolWant

from rackwright_pulumi.aws.tags import Kin


def block_hours(kin: Kin, want: PoolWant, nodes: NodeGroup) -> None:
    """Filling is scheduled only before the start, where the pool starts smaller, and nothing after the end, which has no time to drain:
    AWS refuses a time that has passed, and forgets a schedule that ran."""
    hours = want.capacity
    if hours.starts_at and hours.drains_at and want.nodes_start < want.nodes_max:
        _size(kin, nodes, "fill", hours.starts_at, (want.nodes_min, want.nodes_max, want.nodes_max))
    if hours.drains_at:
        _size(kin, nodes, "drain", hours.drains_at, (0, 0, want.nodes_max))


def _size(kin: Kin, nodes: NodeGroup, key: str, at: str, sizes: tuple[int, int, int]) -> None:
    """sizes: least, wanted, most."""
    least, wanted, most = sizes
    Schedule(
        kin.name(key),
        scheduled_action_name=kin.name(key),
        autoscaling_group_name=nodes.resources[0].autoscaling_groups[0].name,
        start_time=_utc(at),
        min_size=least,
        max_size=most,
        desired_capacity=wanted,
        opts=kin.opts(delete_before_replace=True),
    )


def _utc(at: str) -> str:
    """ISO 8601 as the scheduler wants it; a time without zone is UTC."""
    moment = datetime.fromisoformat(at)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
