"""Rules on a StackPlan, checked before the first cloud call. `check(plan)` runs all of them."""

from rackwright.validation.stack import (
    capacity,
    cost_alerts,
    existing,
    fabric,
    kubernetes,
    lustre,
    naming,
    network,
    nodes,
    placement,
    provisioning,
    queues,
    reservations,
    secrets,
    serving,
    storage,
    tpu,
)
from rackwright.validation.stack.quota import QuotaNeed, check_quota, quota_needs
from rackwright.validation.stack.registry import RULES, check, refuse_broken_invariants

AREAS = (
    capacity,
    cost_alerts,
    existing,
    fabric,
    kubernetes,
    lustre,
    naming,
    network,
    nodes,
    placement,
    provisioning,
    queues,
    reservations,
    secrets,
    serving,
    storage,
    tpu,
)
__all__ = ["RULES", "QuotaNeed", "check", "check_quota", "quota_needs", "refuse_broken_invariants"]
