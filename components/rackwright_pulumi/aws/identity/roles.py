"""IAM roles with their policies."""

from collections.abc import Sequence
from dataclasses import dataclass

from pulumi import Input, Output, Resource
from pulumi_aws.iam.role import Role
from pulumi_aws.iam.role_policy import RolePolicy
from pulumi_aws.iam.role_policy_attachment import RolePolicyAttachment

from rackwright_pulumi.aws.identity.policy_documents import Statement, document
from rackwright_pulumi.aws.tags import ChildContext, fitting

MANAGED = "arn:aws:iam::aws:policy/"
ROLE_NAME_LIMIT = 64


@dataclass(frozen=True)
class Acting:
    """A role that acts, made here or by somebody else; whoever assumes it waits for `rights`."""

    arn: Input[str]
    rights: tuple[Resource, ...] = ()


@dataclass(frozen=True)
class GrantedRole:
    """A role and what gives it its rights: IAM takes a moment, so whoever assumes the role waits for `rights`."""

    role: Role
    rights: tuple[Resource, ...]

    @property
    def arn(self) -> Output[str]:
        return self.role.arn


def granted_role(
    child: ChildContext, key: str, trust: Input[str], managed: Sequence[str] = (), statements: Sequence[Statement] = ()
) -> GrantedRole:
    """managed: names of AWS's own policies; statements: the role's inline policy."""
    role = Role(
        child.name(key),
        assume_role_policy=trust,
        permissions_boundary=child.boundary,
        tags=child.tagged(key),
        opts=child.opts(),
        **fitting("name", child.name(key), ROLE_NAME_LIMIT),
    )
    rights: list[Resource] = [
        RolePolicyAttachment(child.name(key, policy.rpartition("/")[2]), role=role.name, policy_arn=MANAGED + policy, opts=child.opts())
        for policy in managed
    ]
    if statements:
        rights.append(RolePolicy(child.name(key, "policy"), role=role.id, policy=document(*statements), opts=child.opts()))
    return GrantedRole(role, tuple(rights))


def acting(
    child: ChildContext,
    key: str,
    trust: Input[str],
    existing: Input[str],
    managed: Sequence[str] = (),
    statements: Sequence[Statement] = (),
) -> Acting:
    """The role that exists, left as it is; a new one where `existing` is the empty text."""
    if existing:
        return Acting(existing)
    made = granted_role(child, key, trust, managed, statements)
    return Acting(made.arn, made.rights)
