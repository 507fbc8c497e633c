"""Access entries of a cluster: administrators and viewers, one entry per principal."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pulumi import Alias, Input, Output
from pulumi_aws.eks.access_entry import AccessEntry
from pulumi_aws.eks.access_policy_association import AccessPolicyAssociation, AccessPolicyAssociationAccessScopeArgs
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import At, Problem
from rackwright.stackplan import ClusterPlan

from rackwright_pulumi.aws.tags import ChildContext

ACCESS_ENTRIES = "https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateAccessEntry.html"
"""One entry per principal, and none for sessions of STS."""
ADMIN = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"
VIEWER = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy"
"""Without secrets: https://docs.aws.amazon.com/eks/latest/userguide/access-policy-permissions.html"""
DEPLOYER = "deployer"
"""Key of the entry of the principal that creates a cluster without `admins`."""


@dataclass(frozen=True)
class Principal:
    """kind: admin or viewer. key: with the kind, the name of its resources. earlier: kinds and keys that its entry may have had."""

    kind: str
    key: str
    arn: Input[str]
    earlier: tuple[tuple[str, str], ...] = ()


def principals(plan: ClusterPlan, live: Sequence[Input[str]], deployer: str, creator: str) -> Iterator[Principal]:
    """One item per principal, because EKS rejects a second access entry of one (ACCESS_ENTRIES).

    Who updates the cluster changes no item, except for the ARN of DEPLOYER, which EKS and the state keep from the creation.
    live: ARNs of further administrators, known only at deployment, so their keys are numbered. deployer: ARN of the principal that runs
    the update, in a plan with creator_access `entry`. creator: ARN of the principal for which EKS made an entry, where it is known.
    """
    listed = [Principal("admin", _key(arn), arn, (("viewer", _key(arn)),)) for arn in plan.admins]
    # EKS would reject the new entry of a principal that moves between the lists, because Pulumi deletes the old one last.
    admins = [replace(item, earlier=(*item.earlier, ("admin", DEPLOYER))) if item.arn == deployer else item for item in listed]
    admins += [Principal("admin", f"live-{i}", arn) for i, arn in enumerate(live)]
    if deployer and not plan.admins:
        admins.append(Principal("admin", DEPLOYER, deployer, (("admin", _key(deployer)),)))
    viewers = [Principal("viewer", _key(arn), arn, (("admin", _key(arn)),)) for arn in plan.viewers]
    seen = {creator}
    for item in (*admins, *viewers):
        if not isinstance(item.arn, str):
            yield item
        elif item.arn not in seen:
            seen.add(item.arn)
            yield item


def check_deployer(plan: ClusterPlan, live: Sequence[Input[str]], deployer: str) -> None:
    """Raise UserError for a deployer that cannot have an access entry, or whose updates could not reach the cluster's API.

    An ARN in `live` that is known only at deployment may be the deployer's.
    """
    admins, known = [*plan.admins, *live], all(isinstance(arn, str) for arn in live)
    if deployer.split(":")[2:3] == ["sts"]:
        reason, fix = f"{deployer} is a session, and EKS has no access entries for sessions", "run the update as an IAM role or user"
    elif plan.admins and deployer not in admins and known:
        reason = f"{deployer} runs this update, and is not one of the cluster's administrators ({', '.join(map(str, admins))})"
        fix = f"add {deployer} to `admins`, or run the update as one of them"
    elif not plan.admins and deployer in (*plan.viewers, *live):
        key = "viewers" if deployer in plan.viewers else "admin_arns"
        reason = f"{deployer} runs this update as administrator, and is in `{key}`; EKS allows one access entry per principal"
        fix = f"move {deployer} from `{key}` to `admins`, with all others that run updates"
    else:
        return
    raise UserError([Problem("C-deployer", reason, At() / "cluster" / "admins", fix, link=ACCESS_ENTRIES)])


def access_entry(child: ChildContext, cluster_name: Output[str], principal: Principal) -> AccessPolicyAssociation:
    """The access entry of a principal and its policy.

    An entry is bound to the principal's unique id, so it is deleted before its replacement is created
    (https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3329).
    """
    name = child.name(principal.kind, principal.key)
    aliases = [Alias(name=child.name(*earlier)) for earlier in principal.earlier] or None
    ignored = ["principalArn"] if principal.key == DEPLOYER else None
    entry = AccessEntry(
        name,
        cluster_name=cluster_name,
        principal_arn=principal.arn,
        type="STANDARD",
        tags=child.tagged(principal.kind, principal.key),
        opts=child.opts(delete_before_replace=True, aliases=aliases, ignore_changes=ignored),
    )
    return AccessPolicyAssociation(
        name,
        cluster_name=cluster_name,
        principal_arn=entry.principal_arn,
        policy_arn=ADMIN if principal.kind == "admin" else VIEWER,
        access_scope=AccessPolicyAssociationAccessScopeArgs(type="cluster"),
        opts=child.opts(delete_before_replace=True, aliases=aliases),
    )


def _key(arn: str) -> str:
    """`123456789012-role-platform-ci` of an ARN."""
    return "-".join(re.split("[:/]+", arn)[3:])
