"""Outputs of AWS services other than EC2 and EKS: ids, ARNs, addresses."""

import hashlib
from collections.abc import Callable

from rackwright_pulumi.simulator.computed import eks
from rackwright_pulumi.simulator.computed.arns import arn
from rackwright_pulumi.simulator.computed.context import Outputs, ResourceRequest, without_none
from rackwright_pulumi.simulator.computed.ec2 import PREFIXES, ec2
from rackwright_pulumi.simulator.computed.names import place, resource_name
from rackwright_pulumi.simulator.schema.facts import entry

MAKERS: dict[str, Callable[[ResourceRequest], tuple[str, Outputs]]] = {}


def _iam(kind: str, mark: str):
    def make(request: ResourceRequest) -> tuple[str, Outputs]:
        name = resource_name(request)
        path = request.get("path", "/")
        own = arn(request, "iam", f"{kind}{path}{name}", regional=False)
        unique = mark + request.upper(17)
        names = {"uniqueId": unique, "createDate": request.context.now} if kind != "policy" else {"policyId": unique, "attachmentCount": 0}
        return (own if kind == "policy" else name), {"name": name, "arn": own, "path": path, **names}

    return make


@entry(MAKERS, "aws:iam/openIdConnectProvider:OpenIdConnectProvider")
def oidc_provider(request: ResourceRequest) -> tuple[str, Outputs]:
    own = arn(request, "iam", f"oidc-provider/{str(request.get('url', '')).removeprefix('https://')}", regional=False)
    return own, {"arn": own, "thumbprintLists": request.get("thumbprintLists", [request.hex(40)])}


@entry(MAKERS, "aws:iam/rolePolicy:RolePolicy")
def role_policy(request: ResourceRequest) -> tuple[str, Outputs]:
    name = resource_name(request)
    return f"{request.get('role', '')}:{name}", {"name": name}


@entry(MAKERS, "aws:s3/bucket:Bucket")
def bucket(request: ResourceRequest) -> tuple[str, Outputs]:
    name, region = resource_name(request, "bucket"), place(request, "region")
    return name, {
        "bucket": name,
        "arn": arn(request, "s3", name, regional=False, owned=False),
        "bucketDomainName": f"{name}.s3.amazonaws.com",
        "bucketRegionalDomainName": f"{name}.s3.{region}.amazonaws.com",
        "bucketRegion": region,
        "hostedZoneId": "Z3AQBSTGFYJSTF",
    }


@entry(MAKERS, "aws:fsx/lustreFileSystem:LustreFileSystem")
def lustre_file_system(request: ResourceRequest) -> tuple[str, Outputs]:
    resource_id, region = f"fs-0{request.hex(16)}", place(request, "region")
    subnets = request.get("subnetIds")
    vpc = request.state_of("aws:ec2/subnet:Subnet", subnets if isinstance(subnets, str) else "").get("vpcId")
    return resource_id, {
        "arn": arn(request, "fsx", f"file-system/{resource_id}"),
        "dnsName": f"{resource_id}.fsx.{region}.amazonaws.com",
        "mountName": request.hex(8, "mount"),
        "networkInterfaceIds": [f"eni-0{request.hex(16, str(i))}" for i in range(2)],
        "ownerId": request.context.account,
        "vpcId": vpc or f"vpc-0{request.hex(16, 'vpc')}",
        "fileSystemTypeVersion": "2.15",
    }


@entry(MAKERS, "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation")
def data_repository_association(request: ResourceRequest) -> tuple[str, Outputs]:
    association = f"dra-0{request.hex(16)}"
    return association, {
        "associationId": association,
        "arn": arn(request, "fsx", f"association/{request.get('fileSystemId', '')}/{association}"),
    }


@entry(MAKERS, "aws:kms/key:Key")
def kms_key(request: ResourceRequest) -> tuple[str, Outputs]:
    key_id = request.uuid()
    return key_id, {"keyId": key_id, "arn": arn(request, "kms", f"key/{key_id}"), "keyUsage": "ENCRYPT_DECRYPT", "isEnabled": True}


@entry(MAKERS, "aws:kms/alias:Alias")
def alias(request: ResourceRequest) -> tuple[str, Outputs]:
    name, target = resource_name(request), str(request.get("targetKeyId", ""))
    return name, {
        "name": name,
        "arn": arn(request, "kms", name),
        "targetKeyArn": target if target.startswith("arn:") else arn(request, "kms", f"key/{target}"),
    }


@entry(MAKERS, "aws:sqs/queue:Queue")
def queue(request: ResourceRequest) -> tuple[str, Outputs]:
    name = resource_name(request)
    url = f"https://sqs.{place(request, 'region')}.amazonaws.com/{request.context.account}/{name}"
    return url, {"name": name, "url": url, "arn": arn(request, "sqs", name)}


@entry(MAKERS, "aws:sns/topic:Topic")
def topic(request: ResourceRequest) -> tuple[str, Outputs]:
    name = resource_name(request)
    own = arn(request, "sns", name)
    return own, {"name": name, "arn": own, "owner": request.context.account}


def _by_name(service: str, resource: str):
    """The id is the name, the ARN ``arn:aws:service:region:account:resource``."""

    def make(request: ResourceRequest) -> tuple[str, Outputs]:
        name = resource_name(request)
        return name, {"name": name, "arn": arn(request, service, resource.format(name=name))}

    return make


def _joined(*inputs: str, separator: str = "-"):
    """An id that joins inputs, without outputs."""
    return lambda request: (separator.join(str(request.get(i, "")) for i in inputs), {})


@entry(MAKERS, "aws:ec2/placementGroup:PlacementGroup")
def placement_group(request: ResourceRequest) -> tuple[str, Outputs]:
    name = resource_name(request)
    return name, {"name": name, "placementGroupId": f"pg-0{request.hex(16)}", "arn": arn(request, "ec2", f"placement-group/{name}")}


@entry(MAKERS, "aws:ec2/route:Route")
def route(request: ResourceRequest) -> tuple[str, Outputs]:
    target = request.get("destinationCidrBlock") or request.get("destinationIpv6CidrBlock") or request.get("destinationPrefixListId", "")
    number = int(hashlib.sha256(str(target).encode()).hexdigest()[:8], 16)
    return f"r-{request.get('routeTableId', '')}{number}", {"state": "active", "origin": "CreateRoute"}


@entry(MAKERS, "aws:sns/topicSubscription:TopicSubscription")
def subscription(request: ResourceRequest) -> tuple[str, Outputs]:
    own = f"{request.get('topic', '')}:{request.uuid()}"
    return own, {"arn": own, "ownerId": request.context.account, "pendingConfirmation": request.get("protocol") == "email"}


@entry(MAKERS, "aws:autoscaling/schedule:Schedule")
def scaling_schedule(request: ResourceRequest) -> tuple[str, Outputs]:
    group, name = request.get("autoscalingGroupName", ""), request.get("scheduledActionName", "")
    own = arn(
        request, "autoscaling", f"scheduledUpdateGroupAction:{request.uuid()}:autoScalingGroupName/{group}:scheduledActionName/{name}"
    )
    return name, {"arn": own, "minSize": 0, "maxSize": 0, "desiredCapacity": 0}


@entry(MAKERS, "aws:budgets/budget:Budget")
def budget(request: ResourceRequest) -> tuple[str, Outputs]:
    name = resource_name(request)
    return f"{request.context.account}:{name}", {
        "name": name,
        "accountId": request.context.account,
        "arn": arn(request, "budgets", f"budget/{name}", regional=False),
    }


@entry(MAKERS, "aws:cloudwatch/eventTarget:EventTarget")
def event_target(request: ResourceRequest) -> tuple[str, Outputs]:
    target = request.get("targetId") or f"{request.name}-{request.hex(7)}"
    return f"{request.get('rule', '')}-{target}", {"targetId": target, "eventBusName": "default"}


@entry(MAKERS, "aws:scheduler/schedule:Schedule")
def scheduled_call(request: ResourceRequest) -> tuple[str, Outputs]:
    name, group = resource_name(request), request.get("groupName", "default")
    return f"{group}/{name}", {"name": name, "groupName": group, "arn": arn(request, "scheduler", f"schedule/{group}/{name}")}


@entry(MAKERS, "aws:iam/serviceLinkedRole:ServiceLinkedRole")
def service_linked_role(request: ResourceRequest) -> tuple[str, Outputs]:
    service = str(request.get("awsServiceName", ""))
    name = f"AWSServiceRoleFor_{service.partition('.')[0]}"
    own = arn(request, "iam", f"role/aws-service-role/{service}/{name}", regional=False)
    path = f"/aws-service-role/{service}/"
    return own, {"arn": own, "name": name, "path": path, "uniqueId": f"AROA{request.upper(17)}", "createDate": request.context.now}


@entry(MAKERS, "aws:kms/grant:Grant")
def kms_grant(request: ResourceRequest) -> tuple[str, Outputs]:
    grant = request.hex(64)
    return f"{request.get('keyId', '')}:{grant}", {"grantId": grant, "grantToken": request.hex(64, "token")}


@entry(MAKERS, "aws:lb/loadBalancer:LoadBalancer")
def load_balancer(request: ResourceRequest) -> tuple[str, Outputs]:
    name, kind = resource_name(request), "net" if request.get("loadBalancerType") == "network" else "app"
    own = arn(request, "elasticloadbalancing", f"loadbalancer/{kind}/{name}/{request.hex(16)}")
    return own, {"name": name, "arn": own, "dnsName": f"{name}-{request.hex(10)}.elb.{place(request, 'region')}.amazonaws.com"}


@entry(MAKERS, "aws:resourcegroups/resource:Resource")
def group_member(request: ResourceRequest) -> tuple[str, Outputs]:
    group, resource = (str(request.get(key, "")) for key in ("groupArn", "resourceArn"))
    return f"{group.rpartition('/')[2]}_{resource.rpartition('/')[2]}", {"resourceType": "AWS::EC2::CapacityReservation"}


@entry(MAKERS, "aws:s3/bucketObjectv2:BucketObjectv2")
def bucket_object(request: ResourceRequest) -> tuple[str, Outputs]:
    bucket, key = str(request.get("bucket", "")), request.get("key", "")
    return f"{bucket}/{key}", {"arn": arn(request, "s3", f"{bucket}/{key}", regional=False, owned=False), "etag": request.hex(32)}


MAKERS |= {
    "aws:autoscaling/tag:Tag": lambda request: (f"{request.get('autoscalingGroupName', '')},{request.get('tag.key', '')}", {}),
    "aws:cloudwatch/eventRule:EventRule": _by_name("events", "rule/{name}"),
    "aws:cloudwatch/logGroup:LogGroup": _by_name("logs", "log-group:{name}"),
    "aws:cloudwatch/logResourcePolicy:LogResourcePolicy": _joined("policyName"),
    "aws:cloudwatch/metricAlarm:MetricAlarm": _by_name("cloudwatch", "alarm:{name}"),
    "aws:ec2/tag:Tag": _joined("resourceId", "key", separator=","),
    "aws:ec2/volumeAttachment:VolumeAttachment": lambda request: (f"vai-{request.digits(10)}", {}),
    "aws:eks/accessEntry:AccessEntry": eks.access_entry,
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": eks.access_policy,
    "aws:eks/addon:Addon": eks.addon,
    "aws:eks/cluster:Cluster": eks.cluster,
    "aws:eks/nodeGroup:NodeGroup": eks.node_group,
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": eks.pod_identity,
    "aws:iam/instanceProfile:InstanceProfile": _iam("instance-profile", "AIPA"),
    "aws:iam/policy:Policy": _iam("policy", "ANPA"),
    "aws:iam/role:Role": _iam("role", "AROA"),
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": _joined("role", "policyArn", separator="/"),
    "aws:resourcegroups/group:Group": _by_name("resource-groups", "group/{name}"),
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": _joined("bucket"),
    "aws:s3/bucketLogging:BucketLogging": _joined("bucket"),
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls": _joined("bucket"),
    "aws:s3/bucketPolicy:BucketPolicy": _joined("bucket"),
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": _joined("bucket"),
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": _joined("bucket"),
    "aws:s3/bucketVersioning:BucketVersioning": _joined("bucket"),
    "aws:scheduler/scheduleGroup:ScheduleGroup": _by_name("scheduler", "schedule-group/{name}"),
    "aws:sns/topicPolicy:TopicPolicy": lambda request: (str(request.get("arn", "")), {"owner": request.context.account}),
    "aws:sqs/queuePolicy:QueuePolicy": _joined("queueUrl"),
    "aws:ssm/parameter:Parameter": lambda request: (
        resource_name(request),
        {"name": resource_name(request), "arn": arn(request, "ssm", f"parameter/{resource_name(request)}"), "version": 1},
    ),
    **dict.fromkeys(PREFIXES, ec2),
}
"""Type token to the function that returns its id and outputs."""


def add_tags(request: ResourceRequest, outputs: Outputs) -> Outputs:
    """Add ``region``, and ``tagsAll``: the provider's default tags, overridden by the resource's."""
    tags = {**(request.context.default_tags or {}), **request.get("tags", {})}
    return without_none({"region": place(request, "region"), "tagsAll": tags, **outputs})
