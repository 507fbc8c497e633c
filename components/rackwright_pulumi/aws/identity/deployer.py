"""The principal that runs an update."""

import pulumi
from pulumi import InvokeOptions

from rackwright_pulumi.unsupported import Unsupported


def deployer_arn(parent: pulumi.Resource, assumed_role_arn: str = "") -> str:
    """ARN of the IAM role or user whose credentials the parent's provider has.

    assumed_role_arn: the role that the provider assumes, where it is known. An access entry takes a role and no session of it, and a role
    with its path, which the ARN of a session lacks: https://docs.aws.amazon.com/eks/latest/userguide/creating-access-entries.html
    Raises Unsupported for a provider whose credentials are known only during the update.
    """
    if assumed_role_arn:
        return assumed_role_arn
    from pulumi_aws.get_caller_identity import get_caller_identity  # most components do not need their part of the SDK
    from pulumi_aws.iam.get_session_context import get_session_context

    options = InvokeOptions(parent=parent)
    if not (session := get_caller_identity(opts=options).arn):
        reason = "an access entry for credentials that are known only during the update"
        raise Unsupported(reason, "cluster.deployer_is_admin", "set it to false, and pass admin_arns")
    return get_session_context(arn=session, opts=options).issuer_arn
