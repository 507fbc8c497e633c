"""A small program on all three clouds, for every step of the engine with the simulated cloud."""

import json

import pulumi
from pulumi import ResourceOptions
from pulumi_aws import Provider as Aws
from pulumi_aws.ec2.subnet import Subnet
from pulumi_aws.ec2.vpc import Vpc
from pulumi_aws.eks import Cluster
from pulumi_aws.iam.role import Role
from pulumi_gcp import Provider as Gcp
from pulumi_gcp.storage import Bucket
from pulumi_kubernetes import Provider as Kubernetes
from pulumi_kubernetes.core.v1 import ConfigMap, Namespace
from pulumi_kubernetes.helm.v3 import Release

config = pulumi.Config()
aws = ResourceOptions(provider=Aws("aws", region="us-east-1"))
gcp = ResourceOptions(provider=Gcp("gcp", project="team", region="us-central1"))
trust = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "eks.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}

vpc = Vpc("net", cidr_block="10.0.0.0/16", tags={"env": config.get("env") or "one"}, opts=aws)
subnets = [
    Subnet(f"net-{z}", vpc_id=vpc.id, cidr_block=f"10.0.{i}.0/24", availability_zone=f"us-east-1{z}", opts=aws) for i, z in enumerate("ab")
]
role = Role("cluster", name=config.get("role"), path=config.get("path") or "/", assume_role_policy=json.dumps(trust), opts=aws)
cluster = Cluster("train", role_arn=role.arn, vpc_config={"subnet_ids": [s.id for s in subnets]}, opts=aws)
bucket = Bucket("data", location="US", opts=gcp)


def kubeconfig(endpoint: str, certificate: str) -> str:
    server = {"server": endpoint, "certificate-authority-data": certificate}
    return json.dumps({"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "c", "cluster": server}]})


inside = Kubernetes(
    "k8s", kubeconfig=pulumi.Output.all(cluster.endpoint, cluster.certificate_authority.data).apply(lambda found: kubeconfig(*found))
)
kubernetes = ResourceOptions(provider=inside)
namespace = Namespace("jobs", metadata={"name": "jobs"}, opts=kubernetes)
settings = ConfigMap("settings", metadata={"namespace": namespace.metadata.name}, data={"a": "b"}, opts=kubernetes)
kueue = Release(
    "kueue", chart="oci://registry.k8s.io/kueue/charts/kueue", version="0.19.2", namespace=namespace.metadata.name, opts=kubernetes
)

pulumi.export("vpc", vpc.id)
pulumi.export("endpoint", cluster.endpoint)
pulumi.export("bucket", bucket.url)
pulumi.export("settings", settings.metadata.name)
pulumi.export("release", kueue.status.status)
