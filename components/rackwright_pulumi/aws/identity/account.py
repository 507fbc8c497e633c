"""The account the stack lives in."""

import pulumi
from pulumi import InvokeOutputOptions, Output
from rackwright.stackplan import PlacePlan


def account_id(place: PlacePlan, asker: pulumi.Resource) -> Output[str]:
    """The plan's account; without one, the account of the credentials. `asker` lends its provider."""
    if place.account:
        return Output.from_input(place.account)
    from pulumi_aws.get_caller_identity import get_caller_identity_output

    return get_caller_identity_output(opts=InvokeOutputOptions(parent=asker)).account_id
