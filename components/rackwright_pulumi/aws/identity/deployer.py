"""The principal that runs an update."""

from dataclasses import dataclass

import pulumi
from pulumi import InvokeOptions

from rackwright_pulumi.naming import SIMULATED_USER
from rackwright_pulumi.unsupported import Unsupported


@dataclass(frozen=True)
class Deployer:
    """arn: of an IAM role or user; "" where the credentials are known only during the update. is_simulated: of a simulated cloud."""

    arn: str = ""
    is_simulated: bool = False


def find_deployer(parent: pulumi.Resource, assumed_role_arn: str = "", required: bool = True) -> Deployer:
    """The IAM role or user whose credentials the parent's provider has.

    assumed_role_arn: the role that the provider assumes, where it is known. An access entry takes a role and no session of it, and a role
    with its path, which the ARN of a session lacks: https://docs.aws.amazon.com/eks/latest/userguide/creating-access-entries.html
    Raises Unsupported where the ARN is required, and the credentials are known only during the update.
    """
    if assumed_role_arn:
        return Deployer(assumed_role_arn)
    from pulumi_aws.get_caller_identity import get_caller_identity  # most components do not need their part of the SDK
    from pulumi_aws.iam.get_session_context import get_session_context

    options = InvokeOptions(parent=parent)
    caller = get_caller_identity(opts=options)
    if caller.arn:
        return Deployer(get_session_context(arn=caller.arn, opts=options).issuer_arn, caller.user_id == SIMULATED_USER)
    if required:
        reason = "an access entry for credentials that are known only during the update"
        raise Unsupported(reason, "cluster.creator_access", "list the administrators in `admins`")
    return Deployer()
