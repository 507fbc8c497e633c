"""Security groups of EFA interfaces, and of machines without inbound traffic."""

from pulumi import Input, Output
from pulumi_aws.ec2.security_group import SecurityGroup
from pulumi_aws.vpc.security_group_egress_rule import SecurityGroupEgressRule
from pulumi_aws.vpc.security_group_ingress_rule import SecurityGroupIngressRule

from rackwright_pulumi.aws.network.vpc import ANYWHERE
from rackwright_pulumi.aws.tags import ChildContext


def fabric_group(child: ChildContext, vpc_id: Input[str]) -> Output[str]:
    """Security group whose members can reach each other on every protocol.

    EFA traffic matches only rules that reference the group itself, inbound and outbound, not 0.0.0.0/0:
    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start.html

    The id comes from the two rules, because FSx checks both when it creates a file system with EFA:
    https://docs.aws.amazon.com/fsx/latest/LustreGuide/cannot-create-fs.html
    """
    group, _ = egress_only_group(child, "fabric", "Members of the fabric reach one another on every protocol", vpc_id)
    rules = [
        rule(
            child.name("fabric-self", direction),
            security_group_id=group.id,
            referenced_security_group_id=group.id,
            ip_protocol="-1",
            tags=child.tagged("fabric-self", direction),
            opts=child.opts(),
        )
        for rule, direction in ((SecurityGroupIngressRule, "in"), (SecurityGroupEgressRule, "out"))
    ]
    return Output.all(*(rule.security_group_id for rule in rules)).apply(lambda ids: ids[0])


def egress_only_group(
    child: ChildContext, key: str, description: str, vpc_id: Input[str], reaches: str = ANYWHERE
) -> tuple[SecurityGroup, SecurityGroupEgressRule]:
    """A group without inbound rules, and its outbound rule to `reaches` (default: images, packages and AWS services)."""
    group = SecurityGroup(
        child.name(key),
        description=description,
        vpc_id=vpc_id,
        revoke_rules_on_delete=True,
        tags=child.tagged(key),
        opts=child.opts(),
    )
    egress = SecurityGroupEgressRule(
        child.name(key, "out"),
        security_group_id=group.id,
        cidr_ipv4=reaches,
        ip_protocol="-1",
        tags=child.tagged(key, "out"),
        opts=child.opts(),
    )
    return group, egress
