"""Descriptions of inputs and outputs by their name in other languages, which the schema analyzer cannot find in the argument types.

A key with a component's name applies to that component only.
"""

import inspect
from typing import Any

_PART = "JSON text of the plan's `{}`"
INPUTS = {
    "plan": "The plan: the output of `rackwright compile SPEC --json`, as one string.",
    "teardown": "Removes every protection, so that the stack can be destroyed.",
    "AwsStorage.networkCidr": "Range that the file system reaches; default: every address.",
    "AwsBox.zoneName": "Name of the subnet's zone; default: read from the subnet.",
    "secrets": "Values of the plan's secrets by name; each may be an output, and is stored as a secret.",
    "AwsKey.keyArn": "ARN of an existing key instead of the plan's.",
    "adminArns": "ARNs of further IAM principals that administer the cluster.",
    "imageId": "A machine image (AMI) instead of the plan's.",
    "projectNumber": "Number of the Google Cloud project; blueprints look it up by default.",
    "account": "AWS account id (12 digits).",
    "region": "Region of the resources.",
    "project": "Id of the Google Cloud project.",
    "hostProject": "Host project of the Shared VPC.",
    "existingEmail": "Email address of an existing service account of the nodes, in place of a new one.",
    "poolName": "Name of the node pool in its cluster; default: that of the plan.",
    "cidr": "Range of the services, which overlaps no subnet of the network.",
    "GcpGuard.pools": "Names of the accelerator pools that have an alert for idle nodes.",
    "GcpGuard.tags": _PART.format("tags"),
    "GcpNetwork.project": 'Id of the Google Cloud project; "" for the provider\'s.',
    "tags": "Tags of every resource, by key.",
    "GcpStorage.tags": _PART.format("tags"),
    "GcpCluster.tags": _PART.format("tags"),
    "GcpPool.tags": _PART.format("tags"),
    "GcpBox.tags": _PART.format("tags"),
    "GcpBox.guard": _PART.format("guard") + ", whose recipients get the alert; omit it if it is null.",
    "GcpBox.imageId": "An image instead of the plan's: projects/PROJECT/global/images/NAME.",
    "furtherSubnets": "Ids of the subnets of the interfaces after the first, in order.",
    "accountEmail": "Service account of the machine.",
    "network": _PART.format("network"),
    "networks": _PART.format("network.accelerator_networks"),
    "vpcs": "Names of the networks of the machines' further interfaces, in order.",
    "subnets": "Names of their subnets, in order.",
    "services": _PART.format("services"),
    "key": _PART.format("key"),
    "buckets": _PART.format("buckets"),
    "lustre": _PART.format("lustre") + "; omit it if it is null.",
    "identity": _PART.format("identities[i]"),
    "identities": _PART.format("identities"),
    "box": _PART.format("box"),
    "cluster": _PART.format("cluster"),
    "pool": _PART.format("pools[i]"),
    "addons": _PART.format("addons"),
    "namespaces": _PART.format("namespaces"),
    "releases": _PART.format("releases"),
    "manifests": _PART.format("manifests"),
    "refs": "Values of the Refs in releases and manifests, by name, such as `cluster.name`.",
    "protect": "Whether objects that hold data are protected.",
    "vpcId": "Id of the network.",
    "AwsNetwork.vpcId": "Id of an existing network instead of the plan's; only the security group of EFA interfaces is added to it.",
    "subnetId": "Id of the machines' subnet.",
    "subnetIds": "Ids of the subnets.",
    "AwsNetwork.subnetIds": "Ids of the existing network's subnets, in the plan's order.",
    "fabricGroupId": "Security group of EFA interfaces, which allows all traffic between its members.",
    "clientGroupIds": "Security groups of the machines that mount the file system.",
    "kmsKeyArn": "ARN of the KMS key.",
    "profileName": "Instance profile of the machine.",
    "bucketArns": "ARNs of buckets by their key in the plan.",
    "bucketNames": "Names of buckets by their key in the plan.",
    "prefixes": "Prefixes by bucket key in the plan; empty for the whole bucket.",
    "secretsPath": "Path of the secrets in the parameter store, such as `/<stack>`.",
    "clusterName": "Name of the cluster.",
    "clusterArn": "ARN of the cluster.",
    "clusterVersion": "Kubernetes version of the cluster.",
    "clusterGroupId": "Security group of the cluster.",
    "nodeRoleArn": "Role of the nodes.",
    "releaseVersion": "Release of the node image; default: the newest at creation.",
    "networkId": "Id of the network.",
    "zones": "Zones of the nodes.",
    "podsRange": "Name of the subnet's range for pods.",
    "servicesRange": "Name of the subnet's range for services.",
    "secretsKeyId": "Id of the KMS key of the cluster's secrets.",
    "diskKeyId": "Id of the KMS key of the nodes' disks.",
    "nodeAccount": "Email of the nodes' service account.",
    "guard": _PART.format("guard"),
    "deleteData": "Whether buckets with objects are deleted, and the file system without a final backup; default: `teardown`.",
    "stack": "Name of the plan, the value of the budget's tag filter.",
    "groups": "Auto Scaling groups with idle alarms, by pool name.",
    "workloadPool": "Workload identity pool of the cluster.",
    "boundaryArn": "ARN of the permissions boundary of every new role.",
    "builderArn": "ARN of the role that the provider assumes; the kubeconfig assumes it for the token.",
    "clusterEndpoint": "Address of the Kubernetes API, for custom images.",
    "clusterCertificate": "Certificate authority of the cluster (base64), for custom images.",
    "serviceCidr": "Service address range of the cluster, for custom images.",
    "karpenter": _PART.format("karpenter"),
    "pools": _PART.format("pools"),
    "groupNames": "Auto Scaling groups of autoscaled pools, by pool name.",
    "labelQueues": "Whether namespaces with queues get the label by which Kueue selects them. Default: false.",
    "draining": "Whether the stack is torn down: queues stop admitting jobs and drain.",
}
INPUTS |= {
    f"{blueprint}.{key}": text
    for blueprint in ("Box", "TrainingCluster", "InferenceFleet")
    for key, text in {
        "vpcId": "Id of an existing network instead of the plan's; AWS only, together with `subnetIds`.",
        "subnetIds": "Ids of the existing network's subnets, in the plan's order; AWS only.",
        "kmsKeyArn": "ARN of an existing KMS key instead of the plan's; AWS only.",
        "tags": "Further tags of AWS resources; the plan's tags take precedence.",
    }.items()
}
OUTPUTS = {
    "activateCommand": "Command that activates the stack tag for cost allocation; run it once in the payer account.",
    "bucketNames": "Names of buckets by their key in the plan.",
    "certificateAuthority": "Certificate authority of the cluster (base64).",
    "clusterArn": "ARN of the cluster.",
    "clusterId": "Id of the cluster.",
    "clusterName": "Name of the cluster.",
    "connectCommand": "Command that opens a session on the machine.",
    "machineName": "Name of the machine, or of its instance group with flex-start.",
    "dnsName": "DNS name of the file system.",
    "ipAddress": "Address of the file system.",
    "email": "Email of the service account.",
    "endpoint": "Address of the Kubernetes API.",
    "expectedFabric": "Fabric that a job must find: kind, interfaces per node, bandwidth; null means not published.",
    "fabricGroupId": "Security group of EFA interfaces; not set without EFA.",
    "groupId": "Security group of the file system.",
    "id": "Id of the file system.",
    "instanceId": "Id of the machine.",
    "keyArn": "ARN of the key.",
    "keyId": "Id of the key.",
    "kubeconfig": "Kubeconfig that gets its token from the cloud's CLI; a secret.",
    "kubeconfigCommand": "Command that writes a user's kubeconfig.",
    "lustre": "Values to mount the file system; not set without one.",
    "mountName": "Mount name of the file system.",
    "networkId": "Id of the network.",
    "nodeGroupName": "Name of the node group.",
    "nodeRoleArn": "Role of the nodes.",
    "nodeRoleName": "Name of the role of Karpenter's machines.",
    "oidcIssuer": "URL of the cluster's OIDC issuer.",
    "poolName": "Name of the node pool.",
    "project": "Id of the Google Cloud project.",
    "logGroupName": "Name of the log group of the pods.",
    "roleArn": "ARN of the role.",
    "scalingGroupName": "Auto Scaling group of the node group's machines.",
    "securityGroupId": "Security group of the cluster.",
    "slices": "TPU slices: pool, machine, topology, hosts, chips per host, zone.",
    "subnetIds": "Ids of the subnets, in the plan's order.",
    "vpcs": "Names of the networks, by their name in the plan.",
    "subnets": "Names of the subnets, by the network's name in the plan.",
    "topicArn": "ARN of the SNS topic of budget, alarms and reminders.",
    "vpcId": "Id of the network.",
    "workloadPool": "Workload identity pool of the cluster.",
}
ABOUT = {
    "description": "Infrastructure for AI workloads: machines, networks, storage and operators from rackwright plans.",
    "license": "Apache-2.0",
    "keywords": ["pulumi", "kind/component", "category/infrastructure", "gpu", "tpu", "training", "inference"],
}


def with_descriptions(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with descriptions, and the default of `teardown`."""
    for token, resource in schema["resources"].items():
        kind = token.rpartition(":")[2]
        resource["description"] = inspect.cleandoc(resource["description"])
        for key, prop in resource["inputProperties"].items():
            _describe(prop, INPUTS.get(f"{kind}.{key}", INPUTS.get(key)))
            if key == "teardown" and key not in resource["requiredInputs"]:
                prop["default"] = False
        for key, prop in resource["properties"].items():
            _describe(prop, OUTPUTS.get(key))
    for type_ in schema["types"].values():
        for key, prop in type_["properties"].items():
            _describe(prop, OUTPUTS.get(key))
    return {**schema, **ABOUT}


def _describe(prop: dict[str, Any], text: str | None) -> None:
    """Set a property's description if it has none, and remove the analyzer's copies on its items."""
    if text:
        prop.setdefault("description", text)
    for inner in ("items", "additionalProperties"):
        prop.get(inner, {}).pop("description", None)
