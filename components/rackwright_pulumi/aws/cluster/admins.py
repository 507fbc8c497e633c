"""Access entries of cluster administrators and viewers."""

import re
from collections.abc import Sequence

from pulumi import Alias, Input, Output
from pulumi_aws.eks.access_entry import AccessEntry
from pulumi_aws.eks.access_policy_association import AccessPolicyAssociation, AccessPolicyAssociationAccessScopeArgs

from rackwright_pulumi.aws.tags import ChildContext

ADMIN = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"


VIEWER = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy"
"""Without secrets: https://docs.aws.amazon.com/eks/latest/userguide/access-policy-permissions.html"""


DEPLOYER = "deployer"
"""Key of the entry of the principal that created the cluster."""


def admins(
    child: ChildContext,
    cluster_name: Output[str],
    arns: Sequence[str],
    live: Sequence[Input[str]],
    kind: str = "admin",
    deployer: str = "",
) -> list[AccessPolicyAssociation]:
    """One access entry per principal. live: ARNs known only at deployment, so their names are numbered. kind: admin or viewer.

    deployer: ARN of the principal that runs the update. Its entry stays with the principal that created it, so that updates by others
    change nothing, and becomes the entry in `arns` once the principal is listed there: EKS rejects a second entry of one principal.
    An entry is bound to the principal's unique id, so it is deleted before its replacement is created
    (https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3329).
    """
    named: list[tuple[str, Input[str]]] = [("-".join(re.split("[:/]+", arn)[3:]), arn) for arn in arns]
    unlisted = [(DEPLOYER, deployer)] if deployer and deployer not in arns else []
    found = []
    for key, arn in (*named, *((f"live-{i}", arn) for i, arn in enumerate(live)), *unlisted):
        aliases = [Alias(name=child.name(kind, DEPLOYER))] if deployer and arn == deployer and key != DEPLOYER else None
        options = child.opts(delete_before_replace=True, aliases=aliases, ignore_changes=["principalArn"] if key == DEPLOYER else None)
        entry = AccessEntry(
            child.name(kind, key),
            cluster_name=cluster_name,
            principal_arn=arn,
            type="STANDARD",
            tags=child.tagged(kind, key),
            opts=options,
        )
        association = AccessPolicyAssociation(
            child.name(kind, key),
            cluster_name=cluster_name,
            principal_arn=entry.principal_arn,
            policy_arn=ADMIN if kind == "admin" else VIEWER,
            access_scope=AccessPolicyAssociationAccessScopeArgs(type="cluster"),
            opts=child.opts(delete_before_replace=True, aliases=aliases),
        )
        found.append(association)
    return found
