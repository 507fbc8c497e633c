"""Outputs of EC2. Every resource has an id such as ``vpc-0123456789abcdef0`` and an ARN."""

from collections.abc import Callable

from rackwright_pulumi.simulator.computed.arns import arn, zone_id, zone_name
from rackwright_pulumi.simulator.computed.context import Outputs, ResourceRequest
from rackwright_pulumi.simulator.computed.names import place, resource_name
from rackwright_pulumi.simulator.schema.facts import entry, table

EC2_EXTRA: dict[str, Callable[[ResourceRequest, str], Outputs]] = {}

PREFIXES = {row["type"]: (row["id_prefix"], row["arn_resource"]) for row in table("ec2_ids.csv")}
"""EC2 types: id prefix, and resource part of the ARN."""


def ec2(request: ResourceRequest) -> tuple[str, Outputs]:
    """Id, ARN and further outputs of an EC2 resource."""
    prefix, kind = PREFIXES[request.token]
    resource_id = f"{prefix}-0{request.hex(16)}"
    extra = EC2_EXTRA.get(request.token, lambda request, resource_id: {})(request, resource_id)
    return resource_id, {"arn": arn(request, "ec2", f"{kind}/{resource_id}"), "ownerId": request.context.account, **extra}


@entry(EC2_EXTRA, "aws:ec2/vpc:Vpc")
def vpc(request: ResourceRequest, resource_id: str) -> Outputs:
    main = f"rtb-0{request.hex(16, 'main')}"
    return {
        "defaultNetworkAclId": f"acl-0{request.hex(16, 'acl')}",
        "defaultRouteTableId": main,
        "mainRouteTableId": main,
        "defaultSecurityGroupId": f"sg-0{request.hex(16, 'default')}",
        "dhcpOptionsId": f"dopt-0{request.hex(16, 'dhcp')}",
        "instanceTenancy": "default",
        "enableDnsSupport": True,
        "enableDnsHostnames": False,
    }


@entry(EC2_EXTRA, "aws:ec2/subnet:Subnet")
def subnet(request: ResourceRequest, resource_id: str) -> Outputs:
    region = place(request, "region")
    zone = request.get("availabilityZone") or zone_name(request.get("availabilityZoneId") or f"{region}a", region)
    return {"availabilityZone": zone, "availabilityZoneId": zone_id(zone), "mapPublicIpOnLaunch": False}


@entry(EC2_EXTRA, "aws:ec2/eip:Eip")
def eip(request: ResourceRequest, resource_id: str) -> Outputs:
    address = _public_ip(request)
    return {
        "allocationId": resource_id,
        "publicIp": address,
        "publicDns": f"ec2-{address.replace('.', '-')}.compute-1.amazonaws.com",
        "domain": "vpc",
        "publicIpv4Pool": "amazon",
        "networkBorderGroup": place(request, "region"),
    }


@entry(EC2_EXTRA, "aws:ec2/natGateway:NatGateway")
def nat(request: ResourceRequest, resource_id: str) -> Outputs:
    return {
        "publicIp": _public_ip(request),
        "privateIp": _private_ip(request),
        "networkInterfaceId": f"eni-0{request.hex(16, 'eni')}",
        "connectivityType": "public",
    }


@entry(EC2_EXTRA, "aws:ec2/instance:Instance")
def instance(request: ResourceRequest, resource_id: str) -> Outputs:
    region, private = place(request, "region"), _private_ip(request)
    subnet = request.state_of("aws:ec2/subnet:Subnet", request.get("subnetId", ""))
    return {
        "instanceState": "running",
        "availabilityZone": subnet.get("availabilityZone") or f"{region}a",
        "privateIp": private,
        "privateDns": f"ip-{private.replace('.', '-')}.{'ec2' if region == 'us-east-1' else f'{region}.compute'}.internal",
        "publicIp": _public_ip(request) if request.get("associatePublicIpAddress") else "",
        "primaryNetworkInterfaceId": f"eni-0{request.hex(16, 'eni')}",
        "rootBlockDevice": {**request.get("rootBlockDevice", {}), "volumeId": f"vol-0{request.hex(16, 'root')}", "deviceName": "/dev/sda1"},
    }


def _public_ip(request: ResourceRequest) -> str:
    return f"203.0.113.{int(request.hex(4), 16) % 254 + 1}"


def _private_ip(request: ResourceRequest) -> str:
    h = request.hex(6, "ip")
    return f"10.{int(h[:2], 16)}.{int(h[2:4], 16)}.{int(h[4:], 16) % 250 + 4}"


@entry(EC2_EXTRA, "aws:ec2/launchTemplate:LaunchTemplate")
def launch_template(request: ResourceRequest, resource_id: str) -> Outputs:
    latest = request.context.revision
    default = latest if request.get("updateDefaultVersion") else 1
    return {"name": resource_name(request), "latestVersion": latest, "defaultVersion": request.get("defaultVersion", default)}


@entry(EC2_EXTRA, "aws:ec2/vpcEndpoint:VpcEndpoint")
def vpc_endpoint(request: ResourceRequest, resource_id: str) -> Outputs:
    service = str(request.get("serviceName", "")).rpartition(".")[2]
    dns = f"{resource_id}-{request.hex(8)}.{service}.{place(request, 'region')}.vpce.amazonaws.com"
    gateway = request.get("vpcEndpointType", "Gateway") == "Gateway"
    return {
        "state": "available",
        "vpcEndpointType": "Gateway",
        "prefixListId": f"pl-{request.hex(8)}" if gateway else "",
        "networkInterfaceIds": [] if gateway else [f"eni-0{request.hex(16, s)}" for s in request.get("subnetIds", [])],
        "dnsEntries": [] if gateway else [{"dnsName": dns, "hostedZoneId": "Z7HUB22UULQXV"}],
    }


@entry(EC2_EXTRA, "aws:ec2/capacityReservation:CapacityReservation")
def capacity_reservation(request: ResourceRequest, resource_id: str) -> Outputs:
    return {"instanceMatchCriteria": "open", "tenancy": "default"}


@entry(EC2_EXTRA, "aws:ec2/capacityBlockReservation:CapacityBlockReservation")
def capacity_block(request: ResourceRequest, resource_id: str) -> Outputs:
    return {
        "instanceCount": 1,
        "instanceType": "p5.48xlarge",
        "availabilityZone": place(request, "region") + "a",
        "endDateType": "limited",
        "createdDate": request.context.now,
        "startDate": request.context.now,
        "endDate": "2026-01-15T11:30:00Z",
        "reservationType": "capacity-block",
        "tenancy": "default",
    }


EC2_EXTRA |= {
    "aws:ebs/volume:Volume": lambda request, _: {"createTime": request.context.now, "type": "gp3", "size": request.get("size", 8)},
    "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": lambda request, _: {
        "name": "default",
        "description": "default VPC security group",
    },
    "aws:ec2/securityGroup:SecurityGroup": lambda request, _: {"name": resource_name(request), "description": "Managed by Pulumi"},
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": lambda _, resource_id: {"securityGroupRuleId": resource_id},
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": lambda _, resource_id: {"securityGroupRuleId": resource_id},
}
