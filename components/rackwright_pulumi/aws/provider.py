"""The one provider of a stack on AWS."""

from pulumi_aws import Provider, ProviderAssumeRoleArgs
from rackwright.stackplan import PlacePlan

from rackwright_pulumi.aws import CLOUD


def make_provider(place: PlacePlan) -> Provider:
    """Refuses every account but the place's. The account is checked after the role is assumed: it is the account of the stack."""
    return Provider(
        CLOUD,
        region=place.region,
        allowed_account_ids=[place.account] if place.account else None,
        assume_roles=[ProviderAssumeRoleArgs(role_arn=place.role_arn)] if place.role_arn else None,
    )
