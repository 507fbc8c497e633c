"""Rules on a StackPlan, checked before the first cloud call. `check(plan)` runs all of them."""

from rackwright.validation.stack import (
    budget,
    cost_alerts,
    existing,
    jobs,
    naming,
    network,
    operator_matrix,
    own_servers,
    preflight,
    quota,
    secrets,
)
from rackwright.validation.stack.cluster import access, clients, monitoring, operators, queues, serving
from rackwright.validation.stack.nodes import (
    capacity,
    fabric,
    fallback,
    gce_box,
    gke_fabric,
    gke_pools,
    images,
    placement,
    provisioning,
    reservations,
    sharing,
    tpu,
)
from rackwright.validation.stack.quota import QuotaNeed, check_quota, quota_needs
from rackwright.validation.stack.registry import RULES, StackContext, check, refuse_broken_invariants, stack_problems
from rackwright.validation.stack.storage import claims, lustre, managed_lustre, volumes

AREAS = (
    access,
    budget,
    capacity,
    clients,
    cost_alerts,
    existing,
    fabric,
    fallback,
    gce_box,
    gke_fabric,
    gke_pools,
    jobs,
    operators,
    lustre,
    managed_lustre,
    monitoring,
    naming,
    network,
    operator_matrix,
    own_servers,
    preflight,
    images,
    placement,
    quota,
    provisioning,
    queues,
    reservations,
    secrets,
    serving,
    sharing,
    volumes,
    claims,
    tpu,
)
__all__ = ["RULES", "QuotaNeed", "StackContext", "check", "check_quota", "quota_needs", "refuse_broken_invariants", "stack_problems"]
