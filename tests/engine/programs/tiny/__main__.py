"""A network and a role, for updates, replacements, drift and faults."""

import pulumi
from pulumi import ResourceOptions
from pulumi_aws import Provider
from pulumi_aws.ec2.subnet import Subnet
from pulumi_aws.ec2.vpc import Vpc
from pulumi_aws.iam.role import Role

config = pulumi.Config()
opts = ResourceOptions(provider=Provider("aws", region=config.get("region") or "us-east-1"))
vpc = Vpc("net", cidr_block="10.0.0.0/16", tags={"env": config.get("env") or "one"}, opts=opts)
subnet = Subnet(
    "net-a", vpc_id=vpc.id, cidr_block="10.0.0.0/24", availability_zone=vpc.region.apply(lambda region: f"{region}a"), opts=opts
)
role = Role("node", name="node", path=config.get("path") or "/", assume_role_policy="{}", opts=opts)
pulumi.export("subnet", subnet.id)
