"""Access entries of cluster administrators and viewers."""

import re
from collections.abc import Sequence

from pulumi import Input, Output
from pulumi_aws.eks.access_entry import AccessEntry
from pulumi_aws.eks.access_policy_association import AccessPolicyAssociation, AccessPolicyAssociationAccessScopeArgs

from rackwright_pulumi.aws.tags import ChildContext

ADMIN = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"


VIEWER = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy"
"""Without secrets: https://docs.aws.amazon.com/eks/latest/userguide/access-policy-permissions.html"""


def admins(
    child: ChildContext, cluster_name: Output[str], arns: Sequence[str], live: Sequence[Input[str]], kind: str = "admin"
) -> list[AccessPolicyAssociation]:
    """One access entry per principal. live: ARNs known only at deployment, so their names are numbered. kind: admin or viewer.

    An entry is bound to the principal's unique id, so it is deleted before its replacement is created
    (https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3329).
    """
    named: list[tuple[str, Input[str]]] = [("-".join(re.split("[:/]+", arn)[3:]), arn) for arn in arns]
    found = []
    for key, arn in (*named, *((f"live-{i}", arn) for i, arn in enumerate(live))):
        entry = AccessEntry(
            child.name(kind, key),
            cluster_name=cluster_name,
            principal_arn=arn,
            type="STANDARD",
            tags=child.tagged(kind, key),
            opts=child.opts(delete_before_replace=True),
        )
        association = AccessPolicyAssociation(
            child.name(kind, key),
            cluster_name=cluster_name,
            principal_arn=entry.principal_arn,
            policy_arn=ADMIN if kind == "admin" else VIEWER,
            access_scope=AccessPolicyAssociationAccessScopeArgs(type="cluster"),
            opts=child.opts(delete_before_replace=True),
        )
        found.append(association)
    return found
