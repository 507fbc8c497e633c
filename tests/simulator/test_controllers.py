"""Resources that controllers in a cluster create, their deletion, and resources that remain after a wrong order."""

import pytest

from tests.simulator.client import Refusal, kubeconfig

VPC, SUBNET, CLUSTER, NODES = "aws:ec2/vpc:Vpc", "aws:ec2/subnet:Subnet", "aws:eks/cluster:Cluster", "aws:eks/nodeGroup:NodeGroup"
ROLE, ATTACHED, GROUP = "aws:iam/role:Role", "aws:iam/rolePolicyAttachment:RolePolicyAttachment", "aws:ec2/securityGroup:SecurityGroup"
IDENTITY, ENTRY = "aws:eks/podIdentityAssociation:PodIdentityAssociation", "aws:eks/accessEntry:AccessEntry"
INSTANCE, BALANCER, INTERFACE = "aws:ec2/instance:Instance", "aws:lb/loadBalancer:LoadBalancer", "aws:ec2/networkInterface:NetworkInterface"
RELEASE, SERVICE, POOL = "kubernetes:helm.sh/v3:Release", "kubernetes:core/v1:Service", "kubernetes:karpenter.sh/v1:NodePool"
CLASS, ADDON, TEMPLATE = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass", "aws:eks/addon:Addon", "aws:ec2/launchTemplate:LaunchTemplate"
KARPENTER = {"name": "karpenter", "chart": "oci://public.ecr.aws/karpenter/karpenter", "version": "1.8.1", "namespace": "kube-system"}
NODE_CLASS = {"role": "nodes", "subnetSelectorTerms": [{"tags": {"discovery": "serve"}}]}
REQUIREMENTS = [{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["g6e.12xlarge"]}]
NODE_POOL = {"template": {"spec": {"nodeClassRef": {"name": "gpu"}, "requirements": REQUIREMENTS}}}


@pytest.fixture
def made(aws, connect):
    """A cluster with system machines and permissions of Karpenter: its parts by name; `inside` is its client."""
    parts = {"vpc": aws.create(VPC, "net", {"cidrBlock": "10.0.0.0/16"})}
    subnet = {"vpcId": parts["vpc"].id, "cidrBlock": "10.0.1.0/24", "availabilityZone": "us-east-1a", "tags": {"discovery": "serve"}}
    parts["subnet"] = aws.create(SUBNET, "a", subnet)
    for role in ("nodes", "karpenter"):
        parts[role] = aws.create(ROLE, role, {"name": role, "assumeRolePolicy": "{}"})
    parts["cni"] = aws.create(ATTACHED, "cni", {"role": "nodes", "policyArn": "arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy"})
    network = {"subnetIds": [parts["subnet"].id]}
    parts["cluster"] = aws.create(CLUSTER, "serve", {"name": "serve", "roleArn": "r", "vpcConfig": network})
    of = {"clusterName": "serve"}
    parts["addon"] = aws.create(ADDON, "cni", of | {"addonName": "vpc-cni"})
    scaling = {"scalingConfig": {"desiredSize": 2, "minSize": 2, "maxSize": 2}}
    parts["system"] = aws.create(NODES, "system", of | network | scaling | {"nodeRoleArn": parts["nodes"].state["arn"]})
    parts["entry"] = aws.create(ENTRY, "nodes", of | {"principalArn": parts["nodes"].state["arn"], "type": "EC2_LINUX"})
    identity = {"namespace": "kube-system", "serviceAccount": "karpenter", "roleArn": parts["karpenter"].state["arn"]}
    parts["identity"] = aws.create(IDENTITY, "karpenter", of | identity)
    parts["inside"] = connect("kubernetes", kubeconfig=kubeconfig(parts["cluster"].state["endpoint"]))
    return parts


@pytest.fixture
def karpenter(made):
    inside = made["inside"]
    made["release"] = inside.create(RELEASE, "karpenter", KARPENTER)
    made["class"] = inside.create(CLASS, "gpu", {"metadata": {"name": "gpu"}, "spec": NODE_CLASS})
    made["pool"] = inside.create(POOL, "gpu", {"metadata": {"name": "gpu"}, "spec": NODE_POOL})
    return made


def test_f26_a_load_balancer_is_deleted_only_with_its_service(aws, cloud, made):
    service = made["inside"].create(SERVICE, "web", {"metadata": {"name": "web"}, "spec": {"type": "LoadBalancer"}})
    assert [r.type for r in cloud.controlled()] == [BALANCER, INTERFACE]
    assert cloud.leftovers() == []
    made["inside"].delete(service)
    assert cloud.controlled() == []


def test_deleting_a_cluster_before_its_service_leaves_the_load_balancer(aws, cloud, made):
    made["inside"].create(SERVICE, "web", {"metadata": {"name": "web"}, "spec": {"type": "LoadBalancer"}})
    for part in ("system", "cluster"):
        aws.delete(made[part])
    assert [r.type for r in cloud.leftovers()] == [BALANCER, INTERFACE]
    with pytest.raises(Refusal, match=r"DependencyViolation: Subnet .* is in use by (NetworkInterface|LoadBalancer)"):
        aws.delete(made["subnet"])
    assert not cloud.is_empty()


def test_a_load_balancer_class_needs_its_controller(made, cloud):
    inside, spec = made["inside"], {"type": "LoadBalancer", "loadBalancerClass": "service.k8s.aws/nlb"}
    waiting = inside.create(SERVICE, "early", {"metadata": {"name": "early"}, "spec": spec})
    assert cloud.controlled() == []
    inside.delete(waiting)
    release = inside.create(RELEASE, "lbc", {"chart": "aws-load-balancer-controller", "version": "1.14.0", "namespace": "kube-system"})
    service = inside.create(SERVICE, "web", {"metadata": {"name": "web"}, "spec": spec})
    assert len(cloud.controlled()) == 2
    inside.delete(release)
    with pytest.raises(Refusal, match="timed out waiting for its finalizers: its load balancer needs the release"):
        inside.delete(service)


def test_karpenter_terminates_its_machines_before_it_is_deleted(aws, cloud, karpenter):
    machine = cloud.controlled(INSTANCE)[0]
    assert machine.state["instanceType"] == "g6e.12xlarge"
    assert machine.state["subnetId"] == karpenter["subnet"].id
    with pytest.raises(Refusal, match="machines of NodePool gpu use it"):
        karpenter["inside"].delete(karpenter["class"])
    for part in ("pool", "class", "release"):
        karpenter["inside"].delete(karpenter[part])
    assert cloud.controlled() == []
    for part in ("identity", "entry", "system", "addon", "cluster", "cni", "karpenter", "nodes", "subnet", "vpc"):
        aws.delete(karpenter[part])
    assert cloud.is_empty()


@pytest.mark.parametrize("first", ["identity", "entry", "cni", "system"])
def test_machines_remain_if_karpenter_lacks_a_requirement(aws, karpenter, first):
    aws.delete(karpenter[first])
    with pytest.raises(Refusal, match="Karpenter cannot terminate its machines without"):
        karpenter["inside"].delete(karpenter["pool"])


def test_machines_remain_if_release_and_cluster_are_deleted_first(aws, cloud, karpenter):
    karpenter["inside"].delete(karpenter["release"])
    with pytest.raises(Refusal, match="without its release"):
        karpenter["inside"].delete(karpenter["pool"])
    aws.delete(karpenter["system"])
    aws.delete(karpenter["cluster"])
    assert [r.type for r in cloud.leftovers()] == [INSTANCE]
    with pytest.raises(Refusal, match="DependencyViolation: Subnet"):
        aws.delete(karpenter["subnet"])


def test_karpenter_starts_no_machine_without_capacity(cloud, made):
    cloud.capacity = {"g6e.12xlarge": {"us-east-1a": 0}}
    inside = made["inside"]
    inside.create(RELEASE, "karpenter", KARPENTER)
    inside.create(POOL, "gpu", {"metadata": {"name": "gpu"}, "spec": NODE_POOL})
    assert cloud.controlled() == []  # no class yet
    inside.create(CLASS, "gpu", {"metadata": {"name": "gpu"}, "spec": NODE_CLASS})
    assert cloud.controlled() == []  # and no machine
    cloud.capacity = {}
    inside.create("kubernetes:core/v1:ConfigMap", "later", {"metadata": {"name": "later"}})
    assert len(cloud.controlled(INSTANCE)) == 1


@pytest.mark.parametrize("first", ["addon", "cni"])
def test_deleting_the_pod_network_before_its_machines_leaves_interfaces(aws, cloud, made, first):
    aws.delete(made[first])
    aws.delete(made["system"])
    assert [r.type for r in cloud.leftovers()] == [INTERFACE]
    aws.delete(made["cluster"])
    with pytest.raises(Refusal, match="DependencyViolation"):
        aws.delete(made["subnet"])


def test_machines_block_the_security_group_of_their_template(aws):
    group = aws.create(GROUP, "fabric", {"vpcId": "vpc-1"})
    template = aws.create(TEMPLATE, "gpu", {"networkInterfaces": [{"deviceIndex": 0, "securityGroups": [group.id]}]})
    nodes = {"clusterName": "c", "nodeRoleArn": "r", "subnetIds": ["subnet-1"], "launchTemplate": {"id": template.id, "version": "1"}}
    pool = aws.create(NODES, "gpu", nodes | {"scalingConfig": {"desiredSize": 1, "minSize": 1, "maxSize": 1}})
    with pytest.raises(Refusal, match=r"SecurityGroup .* is in use by NodeGroup"):
        aws.delete(group)
    aws.delete(pool)
    aws.delete(group)
