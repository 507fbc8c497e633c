"""Security of a fabric, and of machines that nothing may call."""

from pulumi import Input, Output
from pulumi_aws.ec2.security_group import SecurityGroup
from pulumi_aws.vpc.security_group_egress_rule import SecurityGroupEgressRule
from pulumi_aws.vpc.security_group_ingress_rule import SecurityGroupIngressRule

from rackwright_pulumi.aws.network.vpc import ANYWHERE
from rackwright_pulumi.aws.tags import ChildContext


def fabric_group(child: ChildContext, vpc_id: Input[str]) -> Output[str]:
    """A group whose members reach one another on every protocol.

    EFA is matched only by rules that name the group itself, inbound and outbound; 0.0.0.0/0 does not count:
    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start.html

    Its id is taken from the two rules: FSx looks for both when it makes a file system on EFA, and refuses where they are still to come
    (docs.aws.amazon.com/fsx/latest/LustreGuide/cannot-create-fs.html).
    """
    group, _ = closed_group(child, "fabric", "Members of the fabric reach one another on every protocol", vpc_id)
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


def closed_group(child: ChildContext, key: str, description: str, vpc_id: Input[str]) -> tuple[SecurityGroup, SecurityGroupEgressRule]:
    """A group that nothing may call and that may call out (images, packages, AWS's services), with the rule that lets it."""
    group = SecurityGroup(
        child.name(key),
        description=description,
        vpc_id=vpc_id,
        revoke_rules_on_delete=True,
        tags=child.tagged(key),
        opts=child.opts(),
    )
    way_out = SecurityGroupEgressRule(
        child.name(key, "out"),
        security_group_id=group.id,
        cidr_ipv4=ANYWHERE,
        ip_protocol="-1",
        tags=child.tagged(key, "out"),
        opts=child.opts(),
    )
    return group, way_out
