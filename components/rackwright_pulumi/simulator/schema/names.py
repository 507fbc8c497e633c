"""Which input names a resource physically, how long it may be, and among whom the cloud wants it unique."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rackwright_pulumi.simulator.computed.context import ResourceRequest, autoname, slug
from rackwright_pulumi.simulator.schema.facts import TRAITS

ACCOUNT, REGION = ("account",), ("account", "region")
PROJECT, GCP_REGION, ZONE, LOCATION = ("project",), ("project", "region"), ("project", "zone"), ("project", "location")


@dataclass(frozen=True)
class Name:
    """``unique`` lists inputs, or places of the context, that together must differ from every other resource of the type."""

    property: str = ""
    """The input the SDK's provider fills in when it is left out; empty where it never does."""
    limit: int = 63
    unique: tuple[str, ...] = ()
    prefix: str = ""
    lower: bool = False


NAMES: dict[str, Name] = {
    "aws:autoscaling/schedule:Schedule": Name(unique=(*REGION, "autoscalingGroupName", "scheduledActionName")),
    "aws:budgets/budget:Budget": Name("name", 100, (*ACCOUNT, "name")),
    "aws:cloudwatch/eventRule:EventRule": Name("name", 64, (*REGION, "name")),
    "aws:cloudwatch/logGroup:LogGroup": Name("name", 512, (*REGION, "name")),
    "aws:cloudwatch/logResourcePolicy:LogResourcePolicy": Name(unique=(*REGION, "policyName")),
    "aws:cloudwatch/metricAlarm:MetricAlarm": Name("name", 255, (*REGION, "name")),
    "aws:ec2/launchTemplate:LaunchTemplate": Name("name", 125, (*REGION, "name")),
    "aws:ec2/natGateway:NatGateway": Name(unique=("allocationId",)),
    "aws:ec2/placementGroup:PlacementGroup": Name("name", 255, (*REGION, "name")),
    "aws:ec2/route:Route": Name(unique=("routeTableId", "destinationCidrBlock", "destinationIpv6CidrBlock", "destinationPrefixListId")),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": Name(unique=("subnetId", "gatewayId")),
    "aws:ec2/securityGroup:SecurityGroup": Name("name", 255, (*REGION, "vpcId", "name")),
    "aws:ec2/volumeAttachment:VolumeAttachment": Name(unique=("volumeId",)),
    "aws:eks/accessEntry:AccessEntry": Name(unique=(*REGION, "clusterName", "principalArn")),
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": Name(unique=(*REGION, "clusterName", "principalArn", "policyArn")),
    "aws:eks/addon:Addon": Name(unique=(*REGION, "clusterName", "addonName")),
    "aws:eks/cluster:Cluster": Name("name", 100, (*REGION, "name")),
    "aws:eks/nodeGroup:NodeGroup": Name("nodeGroupName", 63, (*REGION, "clusterName", "nodeGroupName")),
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": Name(unique=(*REGION, "clusterName", "namespace", "serviceAccount")),
    "aws:iam/instanceProfile:InstanceProfile": Name("name", 128, (*ACCOUNT, "name")),
    "aws:iam/openIdConnectProvider:OpenIdConnectProvider": Name(unique=(*ACCOUNT, "url")),
    "aws:iam/policy:Policy": Name("name", 128, (*ACCOUNT, "name")),
    "aws:iam/role:Role": Name("name", 64, (*ACCOUNT, "name")),
    "aws:iam/rolePolicy:RolePolicy": Name("name", 128, (*ACCOUNT, "role", "name")),
    "aws:iam/serviceLinkedRole:ServiceLinkedRole": Name(unique=(*ACCOUNT, "awsServiceName", "customSuffix")),
    "aws:kms/alias:Alias": Name("name", 256, (*REGION, "name"), prefix="alias/"),
    "aws:lb/loadBalancer:LoadBalancer": Name("name", 32, (*REGION, "name")),
    "aws:resourcegroups/group:Group": Name("name", 300, (*REGION, "name")),
    "aws:s3/bucket:Bucket": Name("bucket", 63, ("bucket",), lower=True),
    "aws:scheduler/schedule:Schedule": Name("name", 64, (*REGION, "groupName", "name")),
    "aws:scheduler/scheduleGroup:ScheduleGroup": Name("name", 64, (*REGION, "name")),
    "aws:sns/topic:Topic": Name("name", 256, (*REGION, "name")),
    "aws:sqs/queue:Queue": Name("name", 80, (*REGION, "name")),
    "aws:ssm/parameter:Parameter": Name("name", 1011, (*REGION, "name")),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": Name(
        unique=("securityGroupId", "ipProtocol", "fromPort", "toPort", "cidrIpv4", "cidrIpv6", "prefixListId", "referencedSecurityGroupId")
    ),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": Name(
        unique=("securityGroupId", "ipProtocol", "fromPort", "toPort", "cidrIpv4", "cidrIpv6", "prefixListId", "referencedSecurityGroupId")
    ),
    "gcp:artifactregistry/repository:Repository": Name(unique=(*LOCATION, "repositoryId")),
    "gcp:compute/address:Address": Name("name", 63, (*GCP_REGION, "name"), lower=True),
    "gcp:compute/disk:Disk": Name("name", 63, (*ZONE, "name"), lower=True),
    "gcp:compute/firewall:Firewall": Name("name", 63, (*PROJECT, "name"), lower=True),
    "gcp:compute/globalAddress:GlobalAddress": Name("name", 63, (*PROJECT, "name"), lower=True),
    "gcp:compute/instance:Instance": Name("name", 63, (*ZONE, "name"), lower=True),
    "gcp:compute/instanceGroupManager:InstanceGroupManager": Name("name", 63, (*ZONE, "name"), lower=True),
    "gcp:compute/instanceTemplate:InstanceTemplate": Name("name", 63, (*PROJECT, "name"), lower=True),
    "gcp:compute/network:Network": Name("name", 63, (*PROJECT, "name"), lower=True),
    "gcp:compute/reservation:Reservation": Name("name", 63, (*ZONE, "name"), lower=True),
    "gcp:compute/resizeRequest:ResizeRequest": Name("name", 63, (*ZONE, "instanceGroupManager", "name"), lower=True),
    "gcp:compute/resourcePolicy:ResourcePolicy": Name("name", 63, (*GCP_REGION, "name"), lower=True),
    "gcp:compute/router:Router": Name("name", 63, (*GCP_REGION, "name"), lower=True),
    "gcp:compute/routerNat:RouterNat": Name("name", 63, (*GCP_REGION, "router", "name"), lower=True),
    "gcp:compute/subnetwork:Subnetwork": Name("name", 63, (*GCP_REGION, "name"), lower=True),
    "gcp:container/cluster:Cluster": Name("name", 40, (*LOCATION, "name"), lower=True),
    "gcp:container/nodePool:NodePool": Name("name", 40, (*LOCATION, "cluster", "name"), lower=True),
    "gcp:filestore/instance:Instance": Name("name", 63, (*LOCATION, "name"), lower=True),
    "gcp:kms/cryptoKey:CryptoKey": Name("name", 63, ("keyRing", "name")),
    "gcp:kms/keyRing:KeyRing": Name("name", 63, (*LOCATION, "name")),
    "gcp:lustre/instance:Instance": Name(unique=(*LOCATION, "instanceId")),
    "gcp:parallelstore/instance:Instance": Name(unique=(*LOCATION, "instanceId")),
    "gcp:serviceaccount/account:Account": Name("accountId", 30, (*PROJECT, "accountId"), lower=True),
    "gcp:servicenetworking/connection:Connection": Name(unique=("network", "service")),
    "gcp:storage/anywhereCache:AnywhereCache": Name(unique=("bucket", "zone")),
    "gcp:storage/bucket:Bucket": Name("name", 63, ("name",), lower=True),
    "gcp:tpu/v2QueuedResource:V2QueuedResource": Name("name", 63, (*ZONE, "name"), lower=True),
    "gcp:tpu/v2Vm:V2Vm": Name("name", 63, (*ZONE, "name"), lower=True),
}
"""Types that are not here are named by the cloud (``vpc-0123...``) and may repeat. Limits: recipes V-01 to V-11 and the providers' docs."""


def physical_name(asked: ResourceRequest, suffix: str | None = None) -> str | None:
    """The name the provider gives when the program gives none, or only a prefix; None for a type the cloud names by itself."""
    rule = NAMES.get(asked.token)
    if rule is None or not rule.property:
        return None
    prefix = asked.inputs.get(f"{rule.property}Prefix")
    if prefix is not None:
        return f"{prefix}{asked.hex(26, 'suffix')}"
    wanted = slug(asked.name) if rule.lower else asked.name
    return rule.prefix + autoname(wanted, asked.urn, rule.limit - len(rule.prefix), suffix=suffix)


def unique_key(asked: ResourceRequest) -> str | None:
    """What no two living resources of a cloud may share; None where they may."""
    if asked.token.startswith("kubernetes:"):
        return kubernetes_key(asked.token, asked.inputs)
    rule = NAMES.get(asked.token)
    if rule is None or not rule.unique:
        return None
    return "|".join([asked.token, *(_part(asked, key) for key in rule.unique)])


def _part(asked: ResourceRequest, key: str) -> str:
    if key in ("account", "project"):
        return str(asked.inputs.get(key) or getattr(asked.context, key))
    return place(asked, key) if key in ("region", "zone", "location") else str(asked.inputs.get(key))


def place(asked: ResourceRequest, kind: str) -> str:
    """The ``region``, ``zone`` or ``location`` of a resource: its own input, else the provider's, else the cloud's default."""
    context = asked.context
    region = str(asked.inputs.get("region") or context.region or TRAITS[asked.token.partition(":")[0]]["default_region"])
    zone = str(asked.inputs.get("zone") or context.zone or f"{region}-a")
    if kind == "location":
        return str(asked.inputs.get("location") or asked.inputs.get("zone") or asked.inputs.get("region") or context.zone or region)
    return zone if kind == "zone" else region


def kubernetes_key(token: str, inputs: Mapping[str, Any]) -> str:
    """Group, kind, namespace and name. The cluster is added by the provider, which knows it."""
    meta = inputs.get("metadata") or inputs
    group = token.split(":")[1].rpartition("/")[0]
    return "|".join(["kubernetes", group, token.rpartition(":")[2], str(meta.get("namespace") or "default"), str(meta.get("name"))])
