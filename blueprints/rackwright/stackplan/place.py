"""Account, region and zones of a stack, its key, identities and cost alerts."""

from dataclasses import dataclass

from rackwright.clouds import profiles
from rackwright.stackplan.refs import Existing


@dataclass(frozen=True)
class PlacePlan:
    """Location. zone: of the accelerators; control_zones: of the control plane (EKS requires two); account: AWS account or GCP project.

    Zones on AWS are all IDs (use1-az1) or all names (us-east-1a), because a name and an ID can be the same zone.

    zone_assumed: zone is the region's first, because neither the spec nor the catalog has one. further_zones: of a fleet whose replicas
    need not share a zone. role_arn: AWS role that the provider assumes. boundary_arn: permissions boundary of every new role.
    """

    cloud: str
    region: str
    zone: str
    control_zones: tuple[str, ...] = ()
    account: str = ""
    zone_assumed: bool = False
    role_arn: str = ""
    boundary_arn: str = ""
    further_zones: tuple[str, ...] = ()


def is_zone_id(zone: str) -> bool:
    """Whether a zone is given by its ID (use1-az1), not by its name (us-east-1a)."""
    return any(cloud.is_zone_id(zone) for cloud in profiles())


@dataclass(frozen=True)
class KeyPlan:
    """An encryption key. existing_arn set: no key is created, and the existing policy must allow the services in `serves`."""

    rotation_days: int = 90
    deletion_window_days: int = 30
    serves: tuple[str, ...] = ("disks", "buckets", "cluster", "logs", "filesystem")
    existing_arn: Existing = ""


@dataclass(frozen=True)
class Grant:
    """Access to a bucket. bucket: key of a BucketPlan; access: read | write (write includes read)."""

    bucket: str
    access: str = "read"


@dataclass(frozen=True)
class IdentityPlan:
    """A workload's identity without static keys: a service account on Kubernetes, the instance profile on a box.

    existing_arn: an existing role (for a box: the name of its instance profile), whose permissions are not changed.
    """

    key: str
    grants: tuple[Grant, ...] = ()
    namespace: str = ""
    service_account: str = ""
    existing_arn: Existing = ""


@dataclass(frozen=True)
class CostAlertsPlan:
    """Budget, idle alarm and expiry reminders. They notify and never delete; the idle stop of a box is in BoxPlan.

    budget_usd_per_month: for all resources with the stack's tag; None: no budget. alert_percents: thresholds, the last also on the
    forecast. emails: recipients; the topic exists without any. idle_minutes: time below idle_cpu_percent; None: no idle alarm.
    expires_on: ISO date. reminders: (days before expiry, UTC time such as 2026-12-05T08:00:00). billing_account: of the budget (GCP).
    """

    budget_usd_per_month: float | None = None
    alert_percents: tuple[int, ...] = (50, 80, 100)
    emails: tuple[str, ...] = ()
    idle_minutes: int | None = None
    idle_cpu_percent: float = 2.0
    expires_on: str = ""
    reminders: tuple[tuple[int, str], ...] = ()
    billing_account: str = ""
