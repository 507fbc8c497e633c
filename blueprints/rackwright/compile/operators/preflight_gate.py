"""The gate of the queue: jobs start only on nodes that passed `rackwright preflight` (docs/decisions/0017)."""

from rackwright.compile.compile_context import CompileContext
from rackwright.stackplan import PoolPlan
from rackwright.stackplan.labels import RESOURCES


def is_gated(context: CompileContext, pools: tuple[PoolPlan, ...]) -> bool:
    """Whether the queue of these pools has the gate: what the spec sets, else a new stack with an image for the check.

    Not by default on spot: a replacement lacks the label, so an interrupted job would wait for the next check.
    """
    options = context.spec.blueprint.preflight
    if options.gate is False or not can_be_gated(pools):
        return False
    if options.gate is True:
        return True
    is_replaced = any(pool.capacity.mode == "spot" for pool in pools)
    return options.image is not None and not is_replaced and not context.running.has_ungated_queue


def can_be_gated(pools: tuple[PoolPlan, ...]) -> bool:
    """Whether the nodes exist before their jobs. An autoscaler creates no node for a job that needs a label which new nodes lack."""
    return all(pool.resource == RESOURCES["gpu"] and not pool.autoscaled and pool.provisioner != "karpenter" for pool in pools) and (
        len({pool.preference for pool in pools}) == 1
    )
