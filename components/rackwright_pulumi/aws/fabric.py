"""Security of a fabric, and of machines that nothing may call."""

from pulumi import Input, Output
from pulumi_aws.ec2.security_group import SecurityGroup
from pulumi_aws.vpc.security_group_egress_rule import SecurityGroupEgressRule
from pulumi_aws.vpc.security_group_ingress_rule import SecurityGroupIngressRule

from rackwright_pulumi.aws.tags import Kin
from rackwright_pulumi.aws.vpc import ANYWHERE


def fabric_group(kin: Kin, vpc_id: Input[str]) -> Output[str]:
    """A group whose members reach one another on every protocol.

    EFA is matched only by rules that name the group itself, inbound and outbound; 0.0.0.0/0 does not count:
    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start.html

    Its id is taken from the two rules: FSx looks for both when it makes a file system on EFA, and refuses where they are still to come
    (docs.aws.amazon.com/fsx/latest/LustreGuide/cannot-create-fs.html).
    """
    group, _ = closed_group(kin, "fabric", "Members of the fabric reach one another on every protocol", vpc_id)
    rules = [
        rule(
            kin.name("fabric-self", direction),
            security_group_id=group.id,
            referenced_security_group_id=group.id,
            ip_protocol="-1",
            tags=kin.tagged("fabric-self", direction),
            opts=kin.opts(),
        )
        for rule, direction in ((SecurityGroupIngressRule, "in"), (SecurityGroupEgressRule, "out"))
    ]
    return Output.all(*(rule.security_group_id for rule in rules)).apply(lambda ids: ids[0])


def closed_group(kin: Kin, key: str, description: str, vpc_id: Input[str]) -> tuple[SecurityGroup, SecurityGroupEgressRule]:
    """A group that nothing may call and that may call out (images, packages, AWS's services), with the rule that lets it."""
    group = SecurityGroup(
        kin.name(key),
        description=description,
        vpc_id=vpc_id,
        revoke_rules_on_delete=True,
        tags=kin.tagged(key),
        opts=kin.opts(),
    )
    way_out = SecurityGroupEgressRule(
        kin.name(key, "out"),
        security_group_id=group.id,
        cidr_ipv4=ANYWHERE,
        ip_protocol="-1",
        tags=kin.tagged(key, "out"),
        opts=kin.opts(),
    )
    return group, way_out
