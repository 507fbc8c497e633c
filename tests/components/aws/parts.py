"""The AWS parts of every stack, each recorded alone with arguments that a test can change."""

import json
from dataclasses import replace

from rackwright.stackplan import BucketPlan, Grant, IdentityPlan, KeyPlan, LustrePlan, NetworkPlan, SubnetPlan
from rackwright_pulumi.aws.identity.identity import AwsIdentity
from rackwright_pulumi.aws.key import AwsKey
from rackwright_pulumi.aws.network.network import AwsNetwork
from rackwright_pulumi.aws.storage.storage import AwsStorage
from rackwright_pulumi.testing import record

KEY_ARN = "arn:aws:kms:us-east-1:123456789012:key/k"
SUBNETS = (
    SubnetPlan("public", "10.0.0.0/24", "us-east-1a", public=True, purpose="nat"),
    SubnetPlan("control-1", "10.0.16.0/20", "us-east-1a", purpose="control"),
    SubnetPlan("control-2", "10.0.32.0/20", "us-east-1b", purpose="control"),
    SubnetPlan("nodes", "10.0.64.0/18", "us-east-1a"),
)
NETWORK = NetworkPlan("10.0.0.0/16", SUBNETS, private_endpoints=("object-store", "registry", "keys"), fabric="efa", self_reachable=True)
BUCKETS = (BucketPlan("data", "team", "sft", versioned=False), BucketPlan("checkpoints"))
LUSTRE = LustrePlan(4800, 500, "us-east-1a", imports=(("/data", "data"),))
TIERED = LustrePlan(4000, 0, "us-east-1a", rdma=True, backup_days=0, kind="tiered", throughput_mb_s=8000, cache_gib=640, metadata_iops=6000)
RULE = "aws:vpc/securityGroup{}Rule:SecurityGroup{}Rule"
INGRESS, EGRESS = RULE.format("Ingress", "Ingress"), RULE.format("Egress", "Egress")


def network(want=NETWORK, **more):
    args = {"network": want, "region": "us-east-1", "kms_key_arn": KEY_ARN, "tags": {"owner": "test"}, "teardown": False}
    return record(lambda: AwsNetwork("demo-network", args | more) and None)


def storage(buckets=BUCKETS, lustre=None, **more):
    args = {"buckets": buckets, "lustre": lustre, "kms_key_arn": KEY_ARN, "tags": {"owner": "test"}, "teardown": False}
    place = {"vpc_id": "vpc-1", "subnet_ids": ["subnet-a"], "fabric_group_id": "sg-fabric", "client_group_ids": ["sg-cluster"]}
    return record(lambda: AwsStorage("demo-storage", args | place | more) and None)


def key(want=None, **more):
    args = {"key": want or KeyPlan(), "account": "123456789012", "region": "us-east-1", "tags": {"owner": "test"}, "teardown": False}
    return record(lambda: AwsKey("demo-key", args | more) and None)


def identity(**more):
    want = IdentityPlan("trainer", (Grant("data"), Grant("checkpoints", "write")), "team-nlp", "trainer")
    args = {
        "identity": want,
        "region": "us-east-1",
        "account": "123456789012",
        "kms_key_arn": KEY_ARN,
        "bucket_arns": {"data": "arn:aws:s3:::team", "checkpoints": "arn:aws:s3:::ckpt"},
        "prefixes": {"data": "sft", "checkpoints": ""},
        "tags": {"owner": "test"},
    }
    return record(lambda: AwsIdentity("demo-identity", args | more) and None)


POD = {"cluster_name": "demo", "cluster_arn": "arn:aws:eks:us-east-1:123456789012:cluster/demo"}
ALL = {
    "network": network,
    "storage": lambda: storage(lustre=LUSTRE),
    "rdma": lambda: storage(lustre=replace(LUSTRE, rdma=True, imports=())),
    "exports": lambda: storage(lustre=replace(LUSTRE, exports=(("/checkpoints", "checkpoints"),))),
    "tiered": lambda: storage(lustre=TIERED),
    "key": key,
    "pods": lambda: identity(**POD),
    "machine": lambda: identity(secrets={"hf-token": "x"}),
}


def policy(graph, type_token: str, field: str = "policy", name: str | None = None) -> list[dict]:
    return json.loads(graph.one(type_token, name).inputs[field])["Statement"]
