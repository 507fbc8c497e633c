"""Errors of the clouds for valid inputs: names, dependencies, references, reachability."""

import pytest

from tests.simulator.client import Refusal, kubeconfig

VPC, SUBNET, ROLE, CLUSTER = "aws:ec2/vpc:Vpc", "aws:ec2/subnet:Subnet", "aws:iam/role:Role", "aws:eks/cluster:Cluster"
NODES, BUCKET, GROUP = "aws:eks/nodeGroup:NodeGroup", "aws:s3/bucket:Bucket", "aws:ec2/securityGroup:SecurityGroup"
RULE, ATTACHMENT = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule", "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
GKE, NETWORK, GCS = "gcp:container/cluster:Cluster", "gcp:compute/network:Network", "gcp:storage/bucket:Bucket"
NAMESPACE, CONFIG, RELEASE = "kubernetes:core/v1:Namespace", "kubernetes:core/v1:ConfigMap", "kubernetes:helm.sh/v3:Release"
QUEUE = "kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue"
TRUST = {"assumeRolePolicy": "{}"}
EKS = {"roleArn": "arn:aws:iam::123456789012:role/c", "vpcConfig": {"subnetIds": ["subnet-1", "subnet-2"]}}


def inside(connect, cluster):
    return connect("kubernetes", kubeconfig=kubeconfig(cluster.state["endpoint"]))


@pytest.mark.parametrize(
    ("package", "token", "inputs", "word"),
    [
        ("aws", ROLE, {**TRUST, "name": "node"}, "EntityAlreadyExists"),
        ("aws", CLUSTER, {**EKS, "name": "train"}, "ResourceInUseException"),
        ("aws", BUCKET, {"bucket": "data"}, "BucketAlreadyExists"),
        ("aws", "aws:cloudwatch/logGroup:LogGroup", {"name": "/aws/eks/train"}, "ResourceAlreadyExistsException"),
        ("gcp", NETWORK, {"name": "net"}, "Error 409"),
        ("gcp", GKE, {"name": "serve"}, "Error 409"),
        ("kubernetes", NAMESPACE, {"metadata": {"name": "jobs"}}, 'namespaces "jobs" already exists'),
    ],
)
def test_a_fixed_name_is_unique(connect, package, token, inputs, word):
    client = connect(package, region="us-east-1")
    first = client.create(token, "one", inputs)
    with pytest.raises(Refusal, match=word):
        client.create(token, "two", inputs)
    client.delete(first) if token != GKE else client.delete(client.update(first, {**inputs, "deletionProtection": False}))
    client.create(token, "two", inputs)


def test_regional_names_can_repeat_in_other_regions_and_bucket_names_cannot(connect):
    east, west = connect("aws", region="us-east-1"), connect("aws", region="us-west-2")
    assert east.create(CLUSTER, "c", {**EKS, "name": "train"}).id == west.create(CLUSTER, "c2", {**EKS, "name": "train"}).id
    east.create(BUCKET, "b", {"bucket": "data"})
    with pytest.raises(Refusal, match="BucketAlreadyExists"):
        west.create(BUCKET, "b2", {"bucket": "data"})


def test_names_of_deleted_key_rings_stay_reserved(gcp):
    ring = gcp.create("gcp:kms/keyRing:KeyRing", "ring", {"name": "ring", "location": "us-central1"})
    gcp.delete(ring)
    with pytest.raises(Refusal, match="Error 409"):
        gcp.create("gcp:kms/keyRing:KeyRing", "ring", {"name": "ring", "location": "us-central1"})


def test_a_network_cannot_be_deleted_before_its_resources(aws):
    vpc = aws.create(VPC, "net", {"cidrBlock": "10.0.0.0/16"})
    subnet = aws.create(SUBNET, "a", {"vpcId": vpc.id, "cidrBlock": "10.0.0.0/24"})
    with pytest.raises(Refusal, match=rf"DependencyViolation.*{vpc.id} is in use by Subnet {subnet.id}"):
        aws.delete(vpc)
    aws.delete(subnet)
    aws.delete(vpc)


def test_a_role_cannot_be_deleted_before_its_policies(aws):
    role = aws.create(ROLE, "node", TRUST)
    attached = aws.create(ATTACHMENT, "ssm", {"role": role.id, "policyArn": "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"})
    with pytest.raises(Refusal, match="DeleteConflict"):
        aws.delete(role)
    aws.delete(attached)
    aws.delete(role)


def test_a_rule_that_refers_to_its_own_group_is_deleted_with_it(aws, cloud):
    group = aws.create(GROUP, "efa", {})
    aws.create(RULE, "self", {"securityGroupId": group.id, "referencedSecurityGroupId": group.id, "ipProtocol": "-1"})
    aws.delete(group)
    assert cloud.is_empty()


def test_references_to_deleted_resources_are_errors_and_to_unknown_ids_are_not(aws):
    vpc = aws.create(VPC, "net", {"cidrBlock": "10.0.0.0/16"})
    aws.delete(vpc)
    with pytest.raises(Refusal, match=rf"Vpc '{vpc.id}' in vpcId does not exist"):
        aws.create(SUBNET, "a", {"vpcId": vpc.id, "cidrBlock": "10.0.0.0/24"})
    aws.create(SUBNET, "a", {"vpcId": "vpc-0fromelsewhere", "cidrBlock": "10.0.0.0/24"})


def test_an_interface_endpoint_has_one_subnet_per_zone_however_the_zone_is_named(aws):
    vpc = aws.create(VPC, "net", {"cidrBlock": "10.0.0.0/16"})
    zones = {"availabilityZone": "us-east-1b"}, {"availabilityZoneId": "use1-az2"}, {"availabilityZoneId": "use1-az1"}
    ids = [aws.create(SUBNET, str(i), {"vpcId": vpc.id, "cidrBlock": f"10.0.{i}.0/24"} | zone).id for i, zone in enumerate(zones)]
    fixed = {"vpcId": vpc.id, "serviceName": "com.amazonaws.us-east-1.sts", "vpcEndpointType": "Interface"}
    with pytest.raises(Refusal, match="DuplicateSubnetsInSameZone"):
        aws.create("aws:ec2/vpcEndpoint:VpcEndpoint", "sts", fixed | {"subnetIds": ids})
    aws.create("aws:ec2/vpcEndpoint:VpcEndpoint", "sts", fixed | {"subnetIds": ids[1:]})


def test_subnets_lie_in_their_network_without_overlap(aws):
    vpc = aws.create(VPC, "net", {"cidrBlock": "10.0.0.0/16"})
    aws.create(SUBNET, "a", {"vpcId": vpc.id, "cidrBlock": "10.0.0.0/20"})
    with pytest.raises(Refusal, match=r"InvalidSubnet.Conflict"):
        aws.create(SUBNET, "b", {"vpcId": vpc.id, "cidrBlock": "10.0.8.0/24"})
    with pytest.raises(Refusal, match=r"InvalidSubnet.Range"):
        aws.create(SUBNET, "c", {"vpcId": vpc.id, "cidrBlock": "10.1.0.0/24"})


@pytest.mark.parametrize(
    ("package", "token", "inputs", "lifted"),
    [
        ("aws", CLUSTER, {**EKS, "deletionProtection": True}, {**EKS, "deletionProtection": False}),
        ("aws", "aws:ec2/instance:Instance", {"ami": "ami-1", "disableApiTermination": True}, {"ami": "ami-1"}),
        ("gcp", GKE, {}, {"deletionProtection": False}),  # protected unless the program says otherwise
        ("gcp", GCS, {"location": "US", "deletionPolicy": "PREVENT"}, {"location": "US", "deletionPolicy": "DELETE"}),
    ],
)
def test_deletion_protection_must_be_lifted_first(connect, package, token, inputs, lifted):
    client = connect(package)
    made = client.create(token, "kept", inputs)
    with pytest.raises(Refusal, match="before deleting"):
        client.delete(made)
    client.delete(client.update(made, lifted))


def test_a_bucket_with_objects_cannot_be_deleted(aws, cloud):
    bucket = aws.create(BUCKET, "data", {})
    cloud.fill(bucket.id)
    with pytest.raises(Refusal, match="BucketNotEmpty"):
        aws.delete(bucket)
    aws.delete(aws.update(bucket, {"forceDestroy": True}))


def test_objects_are_deleted_with_their_cluster(aws, connect, cloud):
    cluster = aws.create(CLUSTER, "train", EKS)
    client = inside(connect, cluster)
    client.create(NAMESPACE, "jobs", {"metadata": {"name": "jobs"}})
    made = client.create(CONFIG, "settings", {"metadata": {"namespace": "jobs"}, "data": {"a": "b"}})
    assert made.id.startswith("jobs/settings-")
    aws.delete(cluster)
    assert cloud.is_empty()
    with pytest.raises(Refusal, match=r"unreachable.*no such host"):
        client.read(made)


def test_objects_of_a_missing_cluster_are_errors(connect):
    client = connect("kubernetes", kubeconfig=kubeconfig("https://0123456789ABCDEF.gr7.us-east-1.eks.amazonaws.com"))
    with pytest.raises(Refusal, match="no such host"):
        client.create(NAMESPACE, "jobs", {})


def test_a_private_endpoint_is_reachable_only_inside(aws, connect, cloud):
    private = {**EKS, "vpcConfig": {**EKS["vpcConfig"], "endpointPublicAccess": False, "endpointPrivateAccess": True}}
    client = inside(connect, aws.create(CLUSTER, "train", private))
    client.create(NAMESPACE, "jobs", {})
    cloud.runner = "outside"
    with pytest.raises(Refusal, match="i/o timeout"):
        client.create(NAMESPACE, "more", {})


def test_gke_is_reachable_at_its_dns_endpoint_without_the_ip_endpoint(gcp, connect):
    endpoints = {"dnsEndpointConfig": {"allowExternalTraffic": True}, "ipEndpointsConfig": {"enabled": False}}
    cluster = gcp.create(GKE, "serve", {"location": "us-central1", "controlPlaneEndpointsConfig": endpoints})
    dns = cluster.state["controlPlaneEndpointsConfig"]["dnsEndpointConfig"]
    assert dns["allowExternalTraffic"] is True
    connect("kubernetes", kubeconfig=kubeconfig(f"https://{dns['endpoint']}")).create(NAMESPACE, "jobs", {})
    by_ip = connect("kubernetes", kubeconfig=kubeconfig(f"https://{cluster.state['endpoint']}"))
    with pytest.raises(Refusal, match="is disabled"):
        by_ip.create(NAMESPACE, "more", {})


def test_an_object_needs_its_namespace(aws, connect):
    client = inside(connect, aws.create(CLUSTER, "train", EKS))
    with pytest.raises(Refusal, match='namespaces "jobs" not found'):
        client.create(CONFIG, "settings", {"metadata": {"namespace": "jobs"}})
    client.create(CONFIG, "settings", {"metadata": {"namespace": "kube-system"}})


def test_a_custom_resource_needs_its_definition(aws, connect):
    client = inside(connect, aws.create(CLUSTER, "train", EKS))
    with pytest.raises(Refusal, match=r'no matches for kind "ClusterQueue".*chart kueue'):
        client.create(QUEUE, "gpu", {"metadata": {"name": "gpu"}, "spec": {}})
    client.create(RELEASE, "kueue", {"chart": f"oci://registry.k8s.io/kueue/charts/kueue@sha256:{0:064}", "version": "0.19.2"})
    assert client.create(QUEUE, "gpu", {"metadata": {"name": "gpu"}, "spec": {}}).id == "gpu"


def test_a_chart_needs_a_version(aws, connect):
    client = inside(connect, aws.create(CLUSTER, "train", EKS))
    with pytest.raises(Refusal, match="no version"):
        client.create(RELEASE, "keda", {"chart": "keda"})


def test_gke_installs_definitions(gcp, connect):
    cluster = gcp.create(GKE, "serve", {"location": "us-central1"})
    client = inside(connect, type(cluster)(**{**cluster.__dict__, "state": {"endpoint": f"https://{cluster.state['endpoint']}"}}))
    client.create("kubernetes:cloud.google.com/v1:ComputeClass", "l4", {"metadata": {"name": "l4"}, "spec": {}})


def test_node_groups_block_their_cluster_and_addons_are_deleted_with_it(aws, cloud):
    cluster = aws.create(CLUSTER, "train", {**EKS, "name": "train"})
    nodes = {"clusterName": "train", "nodeRoleArn": "r", "subnetIds": ["subnet-1"]}
    group = aws.create(NODES, "gpu", {**nodes, "scalingConfig": {"desiredSize": 1, "minSize": 1, "maxSize": 1}})
    aws.create("aws:eks/addon:Addon", "cni", {"clusterName": "train", "addonName": "vpc-cni"})
    with pytest.raises(Refusal, match=r"ResourceInUseException.*NodeGroup"):
        aws.delete(cluster)
    aws.delete(group)
    aws.delete(cluster)
    assert cloud.is_empty()


def test_tags_and_schedules_of_a_scaling_group_are_deleted_with_the_node_group(aws, cloud):
    fixed = {"clusterName": "c", "nodeRoleArn": "r", "subnetIds": ["subnet-1"]}
    nodes = aws.create(NODES, "gpu", fixed | {"scalingConfig": {"desiredSize": 0, "minSize": 0, "maxSize": 2}})
    group = nodes.state["resources"][0]["autoscalingGroups"][0]["name"]
    tag = {"key": "k8s.io/cluster-autoscaler/enabled", "value": "true", "propagateAtLaunch": False}
    assert aws.create("aws:autoscaling/tag:Tag", "gpu-tag", {"autoscalingGroupName": group, "tag": tag}).id == f"{group},{tag['key']}"
    aws.delete(nodes)
    assert cloud.is_empty()


def test_a_service_linked_role_is_unique_in_an_account(aws):
    role = {"awsServiceName": "spot.amazonaws.com"}
    assert aws.create("aws:iam/serviceLinkedRole:ServiceLinkedRole", "spot", role).state["arn"].endswith("/AWSServiceRoleFor_spot")
    with pytest.raises(Refusal, match="has been taken in this account"):
        aws.create("aws:iam/serviceLinkedRole:ServiceLinkedRole", "again", role)
