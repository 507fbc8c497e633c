"""Outputs EKS computes: endpoint and certificate of a cluster, the scaling group of a node group, ids of what belongs to a cluster."""

from typing import Any

from rackwright_pulumi.simulator.computed.arns import arn, named
from rackwright_pulumi.simulator.computed.context import ResourceRequest, certificate
from rackwright_pulumi.simulator.schema.names import place

Outputs = dict[str, Any]


def cluster(asked: ResourceRequest) -> tuple[str, Outputs]:
    name, region = named(asked), place(asked, "region")
    short = asked.upper(32, "endpoint")
    subnets = asked.get("vpcConfig.subnetIds", [])
    vpc = asked.known("aws:ec2/subnet:Subnet", subnets[0] if subnets else "").get("vpcId") or f"vpc-0{asked.hex(16, 'vpc')}"
    network = {
        "endpointPublicAccess": True,
        "endpointPrivateAccess": False,
        "publicAccessCidrs": ["0.0.0.0/0"],
        **asked.get("vpcConfig", {}),
    }
    return name, {
        "name": name,
        "arn": arn(asked, "eks", f"cluster/{name}"),
        "endpoint": f"https://{short}.gr7.{region}.eks.amazonaws.com",
        "certificateAuthority": {"data": certificate(asked)},
        "identities": [{"oidcs": [{"issuer": f"https://oidc.eks.{region}.amazonaws.com/id/{short}"}]}],
        "vpcConfig": {**network, "clusterSecurityGroupId": f"sg-0{asked.hex(16, 'cluster')}", "vpcId": vpc},
        "kubernetesNetworkConfig": {"ipFamily": "ipv4", "serviceIpv4Cidr": "172.20.0.0/16", **asked.get("kubernetesNetworkConfig", {})},
        "status": "ACTIVE",
        "platformVersion": "eks.1",
        "version": asked.get("version", "1.34"),
        "createdAt": asked.context.now,
    }


def node_group(asked: ResourceRequest) -> tuple[str, Outputs]:
    cluster, name = asked.get("clusterName", ""), named(asked, "nodeGroupName")
    return f"{cluster}:{name}", {
        "nodeGroupName": name,
        "arn": arn(asked, "eks", f"nodegroup/{cluster}/{name}/{asked.uuid()}"),
        "resources": [{"autoscalingGroups": [{"name": f"eks-{name}-{asked.uuid('asg')}"}], "remoteAccessSecurityGroupId": ""}],
        "status": "ACTIVE",
        "amiType": "CUSTOM" if asked.get("launchTemplate") else "AL2023_x86_64_STANDARD",
        "capacityType": "ON_DEMAND",
        "version": "1.34",
    }


def addon(asked: ResourceRequest) -> tuple[str, Outputs]:
    cluster, name = asked.get("clusterName", ""), asked.get("addonName", "")
    times = {"createdAt": asked.context.now, "modifiedAt": asked.context.now}
    return f"{cluster}:{name}", {
        "arn": arn(asked, "eks", f"addon/{cluster}/{name}/{asked.uuid()}"),
        "addonVersion": "v1.0.0-eksbuild.1",
        **times,
    }


def access_entry(asked: ResourceRequest) -> tuple[str, Outputs]:
    cluster, principal = asked.get("clusterName", ""), str(asked.get("principalArn", ""))
    kind, _, name = principal.rpartition(":")[2].partition("/")
    resource = f"access-entry/{cluster}/{kind}/{asked.context.account}/{name}/{asked.uuid()}"
    times = {"createdAt": asked.context.now, "modifiedAt": asked.context.now}
    return f"{cluster}:{principal}", {"accessEntryArn": arn(asked, "eks", resource), "type": "STANDARD", "userName": principal, **times}


def access_policy(asked: ResourceRequest) -> tuple[str, Outputs]:
    parts = (asked.get("clusterName", ""), asked.get("principalArn", ""), asked.get("policyArn", ""))
    return "#".join(parts), {"associatedAt": asked.context.now, "modifiedAt": asked.context.now}


def pod_identity(asked: ResourceRequest) -> tuple[str, Outputs]:
    cluster, association = asked.get("clusterName", ""), f"a-{asked.hex(17)}"
    return association, {
        "associationId": association,
        "associationArn": arn(asked, "eks", f"podidentityassociation/{cluster}/{association}"),
    }
