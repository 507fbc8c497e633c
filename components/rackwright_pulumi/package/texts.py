"""What inputs and outputs are, in one line each, by the name other languages see: the schema analyzer finds none in the argument types.

A text that holds for one component alone has the component's name before it.
"""

import inspect
from typing import Any

_PART = "JSON text of the plan's `{}`"
INPUTS = {
    "plan": "What to build: the whole text that `rackwright compile SPEC --json` prints, as one string.",
    "teardown": "True lifts every protection, so that the stack can be destroyed.",
    "secrets": "Values of the secrets the plan names, by that name; each may be an output and is kept as a secret.",
    "adminArns": "IAM principals that administer the cluster beside those of the plan.",
    "imageId": "A machine image (AMI) in place of the one the plan names.",
    "projectNumber": "Number of the Google Cloud project, in digits; the blueprints look it up when it is left out.",
    "account": "The AWS account, twelve digits.",
    "region": "Region of everything in the plan.",
    "project": "Id of the Google Cloud project.",
    "GcpNetwork.project": 'Id of the Google Cloud project; "" for the provider\'s own.',
    "tags": "Tags of every resource, by key.",
    "GcpStorage.tags": _PART.format("tags"),
    "GcpCluster.tags": _PART.format("tags"),
    "GcpPool.tags": _PART.format("tags"),
    "network": _PART.format("network"),
    "services": _PART.format("services"),
    "key": _PART.format("key"),
    "buckets": _PART.format("buckets"),
    "lustre": _PART.format("lustre") + "; left out where it is null.",
    "identity": _PART.format("identities[i]"),
    "identities": _PART.format("identities"),
    "box": _PART.format("box"),
    "cluster": _PART.format("cluster"),
    "pool": _PART.format("pools[i]"),
    "addons": _PART.format("addons"),
    "namespaces": _PART.format("namespaces"),
    "releases": _PART.format("releases"),
    "manifests": _PART.format("manifests"),
    "refs": "Values of the Refs in releases and manifests, by the Ref's name such as `cluster.name`.",
    "protect": "False lifts the protection of objects that hold data.",
    "vpcId": "The network the parts are in.",
    "AwsNetwork.vpcId": "A network that exists, in place of the one in the plan; nothing but the fabric's security group is added to it.",
    "subnetId": "Subnet of the machines.",
    "subnetIds": "Subnets, one by one.",
    "AwsNetwork.subnetIds": "Subnets of the network that exists, in the plan's order.",
    "fabricGroupId": "Security group whose members reach one another on every protocol.",
    "clientGroupIds": "Security groups of the machines that mount the file system.",
    "kmsKeyArn": "The key that encrypts.",
    "profileName": "Instance profile of the machine.",
    "bucketArns": "ARNs of buckets by their key in the plan.",
    "bucketNames": "Names of buckets by their key in the plan.",
    "prefixes": "Prefix inside each bucket by the bucket's key; empty for all of it.",
    "secretsPath": "Where the secrets are kept: `/<stack>`.",
    "clusterName": "Name of the cluster.",
    "clusterArn": "ARN of the cluster.",
    "clusterVersion": "Kubernetes version of the cluster.",
    "clusterGroupId": "Security group of the cluster.",
    "nodeRoleArn": "Role of the nodes.",
    "releaseVersion": "Release of the node image; the newest at creation when it is left out.",
    "networkId": "The network the parts are in.",
    "zones": "Zones of the nodes.",
    "podsRange": "Name of the subnet's range for pods.",
    "servicesRange": "Name of the subnet's range for services.",
    "secretsKeyId": "The key that encrypts the cluster's secrets.",
    "diskKeyId": "The key that encrypts the nodes' disks.",
    "nodeAccount": "Service account of the nodes, by email.",
    "guard": _PART.format("guard"),
    "deleteData": "Whether full buckets may be deleted, and the file system without a last backup; as `teardown` when left out.",
    "stack": "The plan's name, which is the value of the tag the budget counts by.",
    "groups": "Auto Scaling groups whose machines should not idle, by the pool's name.",
    "workloadPool": "Workload identity pool of the cluster.",
    "boundaryArn": "IAM policy that bounds every role that is made.",
    "builderArn": "Role that builds the stack, by which the kubeconfig asks for its token.",
    "clusterEndpoint": "Address of the Kubernetes API, for images of one's own.",
    "clusterCertificate": "Certificate authority of the cluster, base64, for images of one's own.",
    "serviceCidr": "Addresses of the cluster's services, for images of one's own.",
    "karpenter": _PART.format("karpenter"),
    "pools": _PART.format("pools"),
    "groupNames": "Auto Scaling groups the autoscaler moves, by the pool's name.",
    "draining": "True where the stack is taken down: queues stop and let their jobs go first.",
}
OUTPUTS = {
    "activateCommand": "Command by which the account that pays lets budgets count by the stack's tag; once for all stacks.",
    "bucketNames": "Names of buckets by their key in the plan.",
    "certificateAuthority": "Certificate authority of the cluster, base64.",
    "clusterArn": "ARN of the cluster.",
    "clusterId": "Id of the cluster.",
    "clusterName": "Name of the cluster.",
    "connectCommand": "Command that opens a session on the machine, without a port or a key.",
    "dnsName": "Name under which clients mount the file system.",
    "email": "The service account, by email.",
    "endpoint": "Address of the Kubernetes API.",
    "expectedFabric": "What a job must see of the fabric: kind, interfaces per node, bandwidth; null is not published.",
    "fabricGroupId": "Security group whose members reach one another on every protocol; left out where nothing needs it.",
    "groupId": "Security group of the file system.",
    "id": "Id of the file system.",
    "instanceId": "Id of the machine.",
    "keyArn": "ARN of the key.",
    "keyId": "Id of the key.",
    "kubeconfig": "Kubeconfig that asks the cloud's own command for a token; a secret.",
    "kubeconfigCommand": "Command that writes the kubeconfig of a person.",
    "lustre": "What a client needs to mount the file system; left out where the plan has none.",
    "mountName": "Name of the mount.",
    "networkId": "Id of the network.",
    "nodeGroupName": "Name of the node group.",
    "nodeRoleArn": "Role of the nodes.",
    "nodeRoleName": "Name of the role of the machines that Karpenter makes.",
    "oidcIssuer": "Address of the cluster's token issuer.",
    "poolName": "Name of the node pool.",
    "project": "Id of the Google Cloud project.",
    "roleArn": "ARN of the role.",
    "scalingGroupName": "Auto Scaling group of the node group's machines.",
    "securityGroupId": "Security group of the cluster.",
    "slices": "Each TPU slice: its pool, machine, topology, hosts, chips per host, zone.",
    "subnetIds": "Subnets, in the plan's order.",
    "topicArn": "The topic that budget, alarms and reminders tell; subscribe to it what should hear them.",
    "vpcId": "Id of the network.",
}
ABOUT = {
    "description": "Infrastructure for AI workloads: the machines, networks, storage and operators that rackwright plans.",
    "license": "Apache-2.0",
    "keywords": ["pulumi", "kind/component", "category/infrastructure", "gpu", "tpu", "training", "inference"],
}


def described(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with descriptions, and the default of the one input that has one."""
    for token, resource in schema["resources"].items():
        kind = token.rpartition(":")[2]
        resource["description"] = inspect.cleandoc(resource["description"])
        for key, prop in resource["inputProperties"].items():
            _describe(prop, INPUTS.get(f"{kind}.{key}", INPUTS.get(key)))
            if key == "teardown" and key not in resource["requiredInputs"]:
                prop["default"] = False
        for key, prop in resource["properties"].items():
            _describe(prop, OUTPUTS.get(key))
    for kept in schema["types"].values():
        for key, prop in kept["properties"].items():
            _describe(prop, OUTPUTS.get(key))
    return {**schema, **ABOUT}


def _describe(prop: dict[str, Any], text: str | None) -> None:
    """A property's own text stays; the analyzer repeats it on the items, where it says nothing."""
    if text:
        prop.setdefault("description", text)
    for inner in ("items", "additionalProperties"):
        prop.get(inner, {}).pop("description", None)
