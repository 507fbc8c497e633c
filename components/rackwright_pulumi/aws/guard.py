"""Former name of `rackwright_pulumi.aws.cost_alerts`."""

from rackwright_pulumi.aws.cost_alerts import AwsGuard, AwsGuardArgs

__all__ = ["AwsGuard", "AwsGuardArgs"]
