"""VPC endpoints of AWS services."""

from collections.abc import Sequence

from pulumi import Output
from pulumi_aws.ec2.security_group import SecurityGroup
from pulumi_aws.ec2.vpc_endpoint import VpcEndpoint
from pulumi_aws.vpc.security_group_ingress_rule import SecurityGroupIngressRule
from rackwright.stackplan import NetworkPlan

from rackwright_pulumi.aws.network.vpc import Subnets
from rackwright_pulumi.aws.tags import ChildContext
from rackwright_pulumi.unsupported import Unsupported

GATEWAYS = {"object-store": "s3"}
"""Name in the plan to the service of a gateway endpoint, free of charge."""
INTERFACES = {
    "registry": ("ecr.api", "ecr.dkr"),
    "identity": ("sts",),
    "compute": ("ec2",),
    "cluster": ("eks",),
    "pod-identity": ("eks-auth",),
    "logs": ("logs",),
    "machine-access": ("ssm", "ssmmessages", "ec2messages"),
    "keys": ("kms",),
}
"""Name in the plan to the services of interface endpoints."""


def private_endpoints(
    child: ChildContext, plan: NetworkPlan, region: str, vpc_id: Output[str], table_id: Output[str], subnets: Subnets
) -> None:
    """Create one endpoint per service. Raises Unsupported for an unknown name."""
    unknown = set(plan.private_endpoints) - {*GATEWAYS, *INTERFACES}
    if unknown:
        raise Unsupported(", ".join(sorted(unknown)), "network.private_endpoints", ", ".join(sorted({*GATEWAYS, *INTERFACES})))
    for service in [GATEWAYS[name] for name in plan.private_endpoints if name in GATEWAYS]:
        VpcEndpoint(
            child.name("endpoint", service),
            vpc_id=vpc_id,
            service_name=f"com.amazonaws.{region}.{service}",
            vpc_endpoint_type="Gateway",
            route_table_ids=[table_id],
            tags=child.tagged("endpoint", service),
            opts=child.opts(),
        )
    services = [service for name in plan.private_endpoints for service in INTERFACES.get(name, ())]
    if services:
        _interfaces(child, plan, region, vpc_id, services, subnets)


def _interfaces(
    child: ChildContext, plan: NetworkPlan, region: str, vpc_id: Output[str], services: Sequence[str], subnets: Subnets
) -> None:
    """Create interface endpoints in one subnet of each of their zones."""
    in_zones = [pair for pair in reversed(subnets) if not pair[0].public and pair[0].zone in plan.endpoint_zones]
    one_per_zone = {subnet.zone: subnet_id for subnet, subnet_id in in_zones}
    group = SecurityGroup(
        child.name("endpoints"),
        description="TLS from inside the network to the interface endpoints",
        vpc_id=vpc_id,
        tags=child.tagged("endpoints"),
        opts=child.opts(),
    )
    SecurityGroupIngressRule(
        child.name("endpoints-tls"),
        security_group_id=group.id,
        cidr_ipv4=plan.cidr,
        ip_protocol="tcp",
        from_port=443,
        to_port=443,
        tags=child.tagged("endpoints-tls"),
        opts=child.opts(),
    )
    for service in services:
        VpcEndpoint(
            child.name("endpoint", service),
            vpc_id=vpc_id,
            service_name=f"com.amazonaws.{region}.{service}",
            vpc_endpoint_type="Interface",
            private_dns_enabled=True,
            subnet_ids=list(one_per_zone.values()),
            security_group_ids=[group.id],
            tags=child.tagged("endpoint", service),
            opts=child.opts(),
        )
