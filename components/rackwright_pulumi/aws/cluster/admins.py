"""Access entries of cluster administrators."""

import re
from collections.abc import Sequence

from pulumi import Input, Output
from pulumi_aws.eks.access_entry import AccessEntry
from pulumi_aws.eks.access_policy_association import AccessPolicyAssociation, AccessPolicyAssociationAccessScopeArgs

from rackwright_pulumi.aws.tags import ChildContext

ADMIN = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"


def admins(
    child: ChildContext, cluster_name: Output[str], arns: Sequence[str], live: Sequence[Input[str]]
) -> list[AccessPolicyAssociation]:
    """One access entry per administrator. live: ARNs known only at deployment, so their names are numbered.

    An entry is bound to the principal's unique id, so it is deleted before its replacement is created
    (https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3329).
    """
    named: list[tuple[str, Input[str]]] = [("-".join(re.split("[:/]+", arn)[3:]), arn) for arn in arns]
    found = []
    for key, arn in (*named, *((f"live-{i}", arn) for i, arn in enumerate(live))):
        entry = AccessEntry(
            child.name("admin", key),
            cluster_name=cluster_name,
            principal_arn=arn,
            type="STANDARD",
            tags=child.tagged("admin", key),
            opts=child.opts(delete_before_replace=True),
        )
        association = AccessPolicyAssociation(
            child.name("admin", key),
            cluster_name=cluster_name,
            principal_arn=entry.principal_arn,
            policy_arn=ADMIN,
            access_scope=AccessPolicyAssociationAccessScopeArgs(type="cluster"),
            opts=child.opts(delete_before_replace=True),
        )
        found.append(association)
    return found
