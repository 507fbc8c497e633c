"""Outputs of EKS: endpoint and certificate of a cluster, scaling group of a node group, ids of parts of a cluster."""

from rackwright_pulumi.simulator.computed.arns import arn
from rackwright_pulumi.simulator.computed.context import Outputs, ResourceRequest, certificate
from rackwright_pulumi.simulator.computed.names import place, resource_name


def cluster(request: ResourceRequest) -> tuple[str, Outputs]:
    name, region = resource_name(request), place(request, "region")
    short = request.upper(32, "endpoint")
    subnets = request.get("vpcConfig.subnetIds", [])
    vpc = request.state_of("aws:ec2/subnet:Subnet", subnets[0] if subnets else "").get("vpcId") or f"vpc-0{request.hex(16, 'vpc')}"
    network = {
        "endpointPublicAccess": True,
        "endpointPrivateAccess": False,
        "publicAccessCidrs": ["0.0.0.0/0"],
        **request.get("vpcConfig", {}),
    }
    return name, {
        "name": name,
        "arn": arn(request, "eks", f"cluster/{name}"),
        "endpoint": f"https://{short}.gr7.{region}.eks.amazonaws.com",
        "certificateAuthority": {"data": certificate(request)},
        "identities": [{"oidcs": [{"issuer": f"https://oidc.eks.{region}.amazonaws.com/id/{short}"}]}],
        "vpcConfig": {**network, "clusterSecurityGroupId": f"sg-0{request.hex(16, 'cluster')}", "vpcId": vpc},
        "kubernetesNetworkConfig": {"ipFamily": "ipv4", "serviceIpv4Cidr": "172.20.0.0/16", **request.get("kubernetesNetworkConfig", {})},
        "status": "ACTIVE",
        "platformVersion": "eks.1",
        "version": request.get("version", "1.34"),
        "createdAt": request.context.now,
    }


def node_group(request: ResourceRequest) -> tuple[str, Outputs]:
    cluster, name = request.get("clusterName", ""), resource_name(request, "nodeGroupName")
    return f"{cluster}:{name}", {
        "nodeGroupName": name,
        "arn": arn(request, "eks", f"nodegroup/{cluster}/{name}/{request.uuid()}"),
        "resources": [{"autoscalingGroups": [{"name": f"eks-{name}-{request.uuid('asg')}"}], "remoteAccessSecurityGroupId": ""}],
        "status": "ACTIVE",
        "amiType": "CUSTOM" if request.get("launchTemplate") else "AL2023_x86_64_STANDARD",
        "capacityType": "ON_DEMAND",
        "version": "1.34",
    }


def addon(request: ResourceRequest) -> tuple[str, Outputs]:
    cluster, name = request.get("clusterName", ""), request.get("addonName", "")
    times = {"createdAt": request.context.now, "modifiedAt": request.context.now}
    return f"{cluster}:{name}", {
        "arn": arn(request, "eks", f"addon/{cluster}/{name}/{request.uuid()}"),
        "addonVersion": "v1.0.0-eksbuild.1",
        **times,
    }


def access_entry(request: ResourceRequest) -> tuple[str, Outputs]:
    cluster, principal = request.get("clusterName", ""), str(request.get("principalArn", ""))
    kind, _, name = principal.rpartition(":")[2].partition("/")
    resource = f"access-entry/{cluster}/{kind}/{request.context.account}/{name}/{request.uuid()}"
    times = {"createdAt": request.context.now, "modifiedAt": request.context.now}
    return f"{cluster}:{principal}", {"accessEntryArn": arn(request, "eks", resource), "type": "STANDARD", "userName": principal, **times}


def access_policy(request: ResourceRequest) -> tuple[str, Outputs]:
    parts = (request.get("clusterName", ""), request.get("principalArn", ""), request.get("policyArn", ""))
    return "#".join(parts), {"associatedAt": request.context.now, "modifiedAt": request.context.now}


def pod_identity(request: ResourceRequest) -> tuple[str, Outputs]:
    cluster, association = request.get("clusterName", ""), f"a-{request.hex(17)}"
    return association, {
        "associationId": association,
        "associationArn": arn(request, "eks", f"podidentityassociation/{cluster}/{association}"),
    }
