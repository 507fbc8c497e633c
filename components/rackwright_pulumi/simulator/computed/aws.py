"""Outputs the rest of Amazon's cloud computes: ids, ARNs, addresses. EC2 and EKS have files of their own."""

import hashlib
from typing import Any

from rackwright_pulumi.simulator.computed import eks
from rackwright_pulumi.simulator.computed.arns import arn, named
from rackwright_pulumi.simulator.computed.context import ResourceRequest, prune
from rackwright_pulumi.simulator.computed.ec2 import PREFIXES, ec2
from rackwright_pulumi.simulator.schema.names import place

Outputs = dict[str, Any]


def _iam(kind: str, mark: str, arn_output: str = "arn"):
    def make(asked: ResourceRequest) -> tuple[str, Outputs]:
        name = named(asked)
        path = asked.get("path", "/")
        own = arn(asked, "iam", f"{kind}{path}{name}", regional=False)
        unique = mark + asked.upper(17)
        names = {"uniqueId": unique, "createDate": asked.context.now} if kind != "policy" else {"policyId": unique, "attachmentCount": 0}
        return (own if kind == "policy" else name), {"name": name, arn_output: own, "path": path, **names}

    return make


def _oidc(asked: ResourceRequest) -> tuple[str, Outputs]:
    own = arn(asked, "iam", f"oidc-provider/{str(asked.get('url', '')).removeprefix('https://')}", regional=False)
    return own, {"arn": own, "thumbprintLists": asked.get("thumbprintLists", [asked.hex(40)])}


def _role_policy(asked: ResourceRequest) -> tuple[str, Outputs]:
    name = named(asked)
    return f"{asked.get('role', '')}:{name}", {"name": name}


def _bucket(asked: ResourceRequest) -> tuple[str, Outputs]:
    name, region = named(asked, "bucket"), place(asked, "region")
    return name, {
        "bucket": name,
        "arn": arn(asked, "s3", name, regional=False, owned=False),
        "bucketDomainName": f"{name}.s3.amazonaws.com",
        "bucketRegionalDomainName": f"{name}.s3.{region}.amazonaws.com",
        "bucketRegion": region,
        "hostedZoneId": "Z3AQBSTGFYJSTF",
    }


def _lustre(asked: ResourceRequest) -> tuple[str, Outputs]:
    resource_id, region = f"fs-0{asked.hex(16)}", place(asked, "region")
    subnets = asked.get("subnetIds")
    vpc = asked.known("aws:ec2/subnet:Subnet", subnets if isinstance(subnets, str) else "").get("vpcId")
    return resource_id, {
        "arn": arn(asked, "fsx", f"file-system/{resource_id}"),
        "dnsName": f"{resource_id}.fsx.{region}.amazonaws.com",
        "mountName": asked.hex(8, "mount"),
        "networkInterfaceIds": [f"eni-0{asked.hex(16, str(i))}" for i in range(2)],
        "ownerId": asked.context.account,
        "vpcId": vpc or f"vpc-0{asked.hex(16, 'vpc')}",
        "fileSystemTypeVersion": "2.15",
    }


def _data_repository(asked: ResourceRequest) -> tuple[str, Outputs]:
    association = f"dra-0{asked.hex(16)}"
    return association, {
        "associationId": association,
        "arn": arn(asked, "fsx", f"association/{asked.get('fileSystemId', '')}/{association}"),
    }


def _key(asked: ResourceRequest) -> tuple[str, Outputs]:
    key_id = asked.uuid()
    return key_id, {"keyId": key_id, "arn": arn(asked, "kms", f"key/{key_id}"), "keyUsage": "ENCRYPT_DECRYPT", "isEnabled": True}


def _alias(asked: ResourceRequest) -> tuple[str, Outputs]:
    name, target = named(asked), str(asked.get("targetKeyId", ""))
    return name, {
        "name": name,
        "arn": arn(asked, "kms", name),
        "targetKeyArn": target if target.startswith("arn:") else arn(asked, "kms", f"key/{target}"),
    }


def _queue(asked: ResourceRequest) -> tuple[str, Outputs]:
    name = named(asked)
    url = f"https://sqs.{place(asked, 'region')}.amazonaws.com/{asked.context.account}/{name}"
    return url, {"name": name, "url": url, "arn": arn(asked, "sqs", name)}


def _topic(asked: ResourceRequest) -> tuple[str, Outputs]:
    name = named(asked)
    own = arn(asked, "sns", name)
    return own, {"name": name, "arn": own, "owner": asked.context.account}


def _by_name(service: str, resource: str):
    """Id is the name, ARN ``arn:aws:service:region:account:resource``."""

    def make(asked: ResourceRequest) -> tuple[str, Outputs]:
        name = named(asked)
        return name, {"name": name, "arn": arn(asked, service, resource.format(name=name))}

    return make


def _joined(*inputs: str, separator: str = "-"):
    """An id made of inputs, and nothing computed beside it."""
    return lambda asked: (separator.join(str(asked.get(i, "")) for i in inputs), {})


def _of_bucket(asked: ResourceRequest) -> tuple[str, Outputs]:
    return str(asked.get("bucket", "")), {}


def _placement_group(asked: ResourceRequest) -> tuple[str, Outputs]:
    name = named(asked)
    return name, {"name": name, "placementGroupId": f"pg-0{asked.hex(16)}", "arn": arn(asked, "ec2", f"placement-group/{name}")}


def _route(asked: ResourceRequest) -> tuple[str, Outputs]:
    target = asked.get("destinationCidrBlock") or asked.get("destinationIpv6CidrBlock") or asked.get("destinationPrefixListId", "")
    number = int(hashlib.sha256(str(target).encode()).hexdigest()[:8], 16)
    return f"r-{asked.get('routeTableId', '')}{number}", {"state": "active", "origin": "CreateRoute"}


def _subscription(asked: ResourceRequest) -> tuple[str, Outputs]:
    own = f"{asked.get('topic', '')}:{asked.uuid()}"
    return own, {"arn": own, "ownerId": asked.context.account, "pendingConfirmation": asked.get("protocol") == "email"}


def _schedule(asked: ResourceRequest) -> tuple[str, Outputs]:
    group, name = asked.get("autoscalingGroupName", ""), asked.get("scheduledActionName", "")
    own = arn(asked, "autoscaling", f"scheduledUpdateGroupAction:{asked.uuid()}:autoScalingGroupName/{group}:scheduledActionName/{name}")
    return name, {"arn": own, "minSize": 0, "maxSize": 0, "desiredCapacity": 0}


def _budget(asked: ResourceRequest) -> tuple[str, Outputs]:
    name = named(asked)
    return f"{asked.context.account}:{name}", {
        "name": name,
        "accountId": asked.context.account,
        "arn": arn(asked, "budgets", f"budget/{name}", regional=False),
    }


def _target(asked: ResourceRequest) -> tuple[str, Outputs]:
    target = asked.get("targetId") or f"{asked.name}-{asked.hex(7)}"
    return f"{asked.get('rule', '')}-{target}", {"targetId": target, "eventBusName": "default"}


def _timed(asked: ResourceRequest) -> tuple[str, Outputs]:
    name, group = named(asked), asked.get("groupName", "default")
    return f"{group}/{name}", {"name": name, "groupName": group, "arn": arn(asked, "scheduler", f"schedule/{group}/{name}")}


def _service_role(asked: ResourceRequest) -> tuple[str, Outputs]:
    service = str(asked.get("awsServiceName", ""))
    name = f"AWSServiceRoleFor_{service.partition('.')[0]}"
    own = arn(asked, "iam", f"role/aws-service-role/{service}/{name}", regional=False)
    path = f"/aws-service-role/{service}/"
    return own, {"arn": own, "name": name, "path": path, "uniqueId": f"AROA{asked.upper(17)}", "createDate": asked.context.now}


def _grant(asked: ResourceRequest) -> tuple[str, Outputs]:
    grant = asked.hex(64)
    return f"{asked.get('keyId', '')}:{grant}", {"grantId": grant, "grantToken": asked.hex(64, "token")}


def _balancer(asked: ResourceRequest) -> tuple[str, Outputs]:
    name, kind = named(asked), "net" if asked.get("loadBalancerType") == "network" else "app"
    own = arn(asked, "elasticloadbalancing", f"loadbalancer/{kind}/{name}/{asked.hex(16)}")
    return own, {"name": name, "arn": own, "dnsName": f"{name}-{asked.hex(10)}.elb.{place(asked, 'region')}.amazonaws.com"}


def _member(asked: ResourceRequest) -> tuple[str, Outputs]:
    group, resource = (str(asked.get(key, "")) for key in ("groupArn", "resourceArn"))
    return f"{group.rpartition('/')[2]}_{resource.rpartition('/')[2]}", {"resourceType": "AWS::EC2::CapacityReservation"}


def _object(asked: ResourceRequest) -> tuple[str, Outputs]:
    bucket, key = str(asked.get("bucket", "")), asked.get("key", "")
    return f"{bucket}/{key}", {"arn": arn(asked, "s3", f"{bucket}/{key}", regional=False, owned=False), "etag": asked.hex(32)}


MAKERS = {
    "aws:autoscaling/schedule:Schedule": _schedule,
    "aws:autoscaling/tag:Tag": lambda asked: (f"{asked.get('autoscalingGroupName', '')},{asked.get('tag.key', '')}", {}),
    "aws:budgets/budget:Budget": _budget,
    "aws:cloudwatch/eventRule:EventRule": _by_name("events", "rule/{name}"),
    "aws:cloudwatch/eventTarget:EventTarget": _target,
    "aws:cloudwatch/logGroup:LogGroup": _by_name("logs", "log-group:{name}"),
    "aws:cloudwatch/logResourcePolicy:LogResourcePolicy": _joined("policyName"),
    "aws:cloudwatch/metricAlarm:MetricAlarm": _by_name("cloudwatch", "alarm:{name}"),
    "aws:ec2/placementGroup:PlacementGroup": _placement_group,
    "aws:ec2/route:Route": _route,
    "aws:ec2/tag:Tag": _joined("resourceId", "key", separator=","),
    "aws:ec2/volumeAttachment:VolumeAttachment": lambda asked: (f"vai-{asked.digits(10)}", {}),
    "aws:eks/accessEntry:AccessEntry": eks.access_entry,
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": eks.access_policy,
    "aws:eks/addon:Addon": eks.addon,
    "aws:eks/cluster:Cluster": eks.cluster,
    "aws:eks/nodeGroup:NodeGroup": eks.node_group,
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": eks.pod_identity,
    "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation": _data_repository,
    "aws:fsx/lustreFileSystem:LustreFileSystem": _lustre,
    "aws:iam/instanceProfile:InstanceProfile": _iam("instance-profile", "AIPA"),
    "aws:iam/openIdConnectProvider:OpenIdConnectProvider": _oidc,
    "aws:iam/policy:Policy": _iam("policy", "ANPA"),
    "aws:iam/role:Role": _iam("role", "AROA"),
    "aws:iam/rolePolicy:RolePolicy": _role_policy,
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": _joined("role", "policyArn", separator="/"),
    "aws:iam/serviceLinkedRole:ServiceLinkedRole": _service_role,
    "aws:kms/alias:Alias": _alias,
    "aws:kms/grant:Grant": _grant,
    "aws:kms/key:Key": _key,
    "aws:lb/loadBalancer:LoadBalancer": _balancer,
    "aws:resourcegroups/group:Group": _by_name("resource-groups", "group/{name}"),
    "aws:resourcegroups/resource:Resource": _member,
    "aws:s3/bucket:Bucket": _bucket,
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": _of_bucket,
    "aws:s3/bucketLogging:BucketLogging": _of_bucket,
    "aws:s3/bucketObjectv2:BucketObjectv2": _object,
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls": _of_bucket,
    "aws:s3/bucketPolicy:BucketPolicy": _of_bucket,
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": _of_bucket,
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": _of_bucket,
    "aws:s3/bucketVersioning:BucketVersioning": _of_bucket,
    "aws:scheduler/schedule:Schedule": _timed,
    "aws:scheduler/scheduleGroup:ScheduleGroup": _by_name("scheduler", "schedule-group/{name}"),
    "aws:sns/topic:Topic": _topic,
    "aws:sns/topicPolicy:TopicPolicy": lambda asked: (str(asked.get("arn", "")), {"owner": asked.context.account}),
    "aws:sns/topicSubscription:TopicSubscription": _subscription,
    "aws:sqs/queue:Queue": _queue,
    "aws:sqs/queuePolicy:QueuePolicy": _joined("queueUrl"),
    "aws:ssm/parameter:Parameter": lambda asked: (
        named(asked),
        {"name": named(asked), "arn": arn(asked, "ssm", f"parameter/{named(asked)}"), "version": 1},
    ),
    **dict.fromkeys(PREFIXES, ec2),
}
"""Type token to the function that gives its id and outputs."""


def tagged(asked: ResourceRequest, outputs: Outputs) -> Outputs:
    """``tagsAll`` is the provider's default tags under the resource's own; ``region`` is where it lives."""
    tags = {**(asked.context.default_tags or {}), **asked.get("tags", {})}
    return prune({"region": place(asked, "region"), "tagsAll": tags, **outputs})
