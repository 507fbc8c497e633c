"""IAM roles with their policies."""

from collections.abc import Sequence
from dataclasses import dataclass

from pulumi import Input, Output, Resource
from pulumi_aws.iam.role import Role
from pulumi_aws.iam.role_policy import RolePolicy
from pulumi_aws.iam.role_policy_attachment import RolePolicyAttachment

from rackwright_pulumi.aws.identity.policy_documents import Statement, allow, document, service_trust
from rackwright_pulumi.aws.tags import ChildContext, name_or_prefix

MANAGED = "arn:aws:iam::aws:policy/"
ROLE_NAME_LIMIT = 64
NODE_POLICIES = ("AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly")
"""Policies of nodes; the pod network and storage drivers have separate roles."""
NODE_ACCESS = allow(
    [
        "ssm:UpdateInstanceInformation",
        *(f"ssmmessages:{action}{kind}Channel" for action in ("Create", "Open") for kind in ("Control", "Data")),
    ]
)
"""Session Manager on nodes. AmazonSSMManagedInstanceCore would also let them read every parameter.
https://docs.aws.amazon.com/systems-manager/latest/userguide/getting-started-create-iam-instance-profile.html"""


@dataclass(frozen=True)
class ServiceRole:
    """A new or existing role. Resources that use it depend on `rights`."""

    arn: Input[str]
    rights: tuple[Resource, ...] = ()


@dataclass(frozen=True)
class GrantedRole:
    """A role and its policies. IAM is eventually consistent, so resources that use the role depend on `rights`."""

    role: Role
    rights: tuple[Resource, ...]

    @property
    def arn(self) -> Output[str]:
        return self.role.arn


def granted_role(
    child: ChildContext, key: str, trust: Input[str], managed: Sequence[str] = (), statements: Sequence[Statement] = ()
) -> GrantedRole:
    """Create a role. managed: names of AWS managed policies; statements: the inline policy."""
    role = Role(
        child.name(key),
        assume_role_policy=trust,
        permissions_boundary=child.boundary,
        tags=child.tagged(key),
        opts=child.opts(),
        **name_or_prefix("name", child.name(key), ROLE_NAME_LIMIT),
    )
    rights: list[Resource] = [
        RolePolicyAttachment(child.name(key, policy.rpartition("/")[2]), role=role.name, policy_arn=MANAGED + policy, opts=child.opts())
        for policy in managed
    ]
    if statements:
        rights.append(RolePolicy(child.name(key, "policy"), role=role.id, policy=document(*statements), opts=child.opts()))
    return GrantedRole(role, tuple(rights))


def service_role(
    child: ChildContext,
    key: str,
    trust: Input[str],
    existing: Input[str],
    managed: Sequence[str] = (),
    statements: Sequence[Statement] = (),
) -> ServiceRole:
    """The existing role, or a new one if `existing` is empty."""
    if existing:
        return ServiceRole(existing)
    granted = granted_role(child, key, trust, managed, statements)
    return ServiceRole(granted.arn, granted.rights)


def node_role(child: ChildContext, existing: Input[str]) -> ServiceRole:
    """The role of nodes: the existing one, or a new one if `existing` is empty."""
    return service_role(child, "nodes", service_trust("ec2.amazonaws.com"), existing, NODE_POLICIES, [NODE_ACCESS])
