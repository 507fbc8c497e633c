"""Where a stack lives, what encrypts it, who acts in it, and what guards its money."""

from dataclasses import dataclass

from rackwright.stackplan.refs import Existing


@dataclass(frozen=True)
class PlacePlan:
    """Where. zone holds the accelerators, control_zones the control plane (AWS wants two); account: AWS account or GCP project.

    zone_assumed: neither the spec nor the catalog names a zone, and zone is only the region's first.
    role_arn: AWS role the provider assumes; boundary_arn: IAM policy set as permissions boundary on every role that is made.
    """

    cloud: str
    region: str
    zone: str
    control_zones: tuple[str, ...] = ()
    account: str = ""
    zone_assumed: bool = False
    role_arn: str = ""
    boundary_arn: str = ""


@dataclass(frozen=True)
class KeyPlan:
    """existing_arn set: nothing is created, and the key's own policy must let the services in `serves` use it."""

    rotation_days: int = 90
    deletion_window_days: int = 30
    serves: tuple[str, ...] = ("disks", "buckets", "cluster", "logs", "filesystem")
    existing_arn: Existing = ""


@dataclass(frozen=True)
class Grant:
    """bucket: key of a BucketPlan; access: read | write (write includes read)."""

    bucket: str
    access: str = "read"


@dataclass(frozen=True)
class IdentityPlan:
    """A workload's identity without static keys. On Kubernetes: namespace and service_account; on a box: the machine itself.

    existing_arn: a role that exists (for a box: the name of its instance profile); it is bound, and its rights are left alone.
    """

    key: str
    grants: tuple[Grant, ...] = ()
    namespace: str = ""
    service_account: str = ""
    existing_arn: Existing = ""


@dataclass(frozen=True)
class CostAlertsPlan:
    """What says that money is being wasted. Alarms tell, they never delete; a box's own idle stop is in BoxPlan.

    budget_usd_per_month: of everything tagged with the stack; None: no budget. alert_percents: of it, forecast included for the last.
    emails: who is told; without any the topic is still made, and whoever wants subscribes to it.
    idle_minutes: accelerators' machines below idle_cpu_percent for so long; None: no idle alarm. expires_on: ISO date of the stack's end.
    reminders: (days before it, moment in UTC such as 2026-12-05T08:00:00) still to come.
    """

    budget_usd_per_month: float | None = None
    alert_percents: tuple[int, ...] = (50, 80, 100)
    emails: tuple[str, ...] = ()
    idle_minutes: int | None = None
    idle_cpu_percent: float = 2.0
    expires_on: str = ""
    reminders: tuple[tuple[int, str], ...] = ()
