"""Rules a StackPlan must keep, checked before any cloud is asked. `check(plan)` runs all of them."""

from rackwright.validation.stack import (
    box,
    capacity,
    existing,
    fabric,
    guard,
    kubernetes,
    lustre,
    naming,
    network,
    nodes,
    offers,
    placement,
    provisioning,
    queues,
    reservations,
    safety,
    serving,
    storage,
    tpu,
)
from rackwright.validation.stack.quota import QuotaNeed, check_quota, quota_needs
from rackwright.validation.stack.registry import RULES, check, refuse_broken_invariants

AREAS = (
    box,
    capacity,
    existing,
    fabric,
    guard,
    kubernetes,
    lustre,
    naming,
    network,
    nodes,
    offers,
    placement,
    provisioning,
    queues,
    reservations,
    safety,
    serving,
    storage,
    tpu,
)
__all__ = ["RULES", "QuotaNeed", "check", "check_quota", "quota_needs", "refuse_broken_invariants"]
