"""Rules a StackPlan must keep, checked before any cloud is asked. `check(plan)` runs all of them."""

from rackwright.rules import (
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
from rackwright.rules.quota import QuotaNeed, check_quota, quota_needs
from rackwright.rules.registry import RULES, Rule, check

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
__all__ = ["RULES", "QuotaNeed", "Rule", "check", "check_quota", "quota_needs"]
