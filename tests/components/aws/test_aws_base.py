"""Key, network, storage and identities: private, encrypted, least privilege (recipes sections 3.1, 8.1, 12)."""

import json
from dataclasses import replace

import pytest
from rackwright.compile.wants import BucketWant, Grant, IdentityWant, KeyWant, LustreWant, NetworkWant, SubnetWant
from rackwright_pulumi.aws.identity import AwsIdentity
from rackwright_pulumi.aws.key import AwsKey
from rackwright_pulumi.aws.network import AwsNetwork
from rackwright_pulumi.aws.storage import AwsStorage
from rackwright_pulumi.testing import record
from rackwright_pulumi.testing.diff import compare
from rackwright_pulumi.unsupported import Unsupported

from tests.components.sdk import misfits, untagged

KEY_ARN = "arn:aws:kms:us-east-1:123456789012:key/k"
SUBNETS = (
    SubnetWant("public", "10.0.0.0/24", "us-east-1a", public=True, purpose="nat"),
    SubnetWant("control-1", "10.0.16.0/20", "us-east-1a", purpose="control"),
    SubnetWant("control-2", "10.0.32.0/20", "us-east-1b", purpose="control"),
    SubnetWant("nodes", "10.0.64.0/18", "us-east-1a"),
)
NETWORK = NetworkWant("10.0.0.0/16", SUBNETS, private_endpoints=("object-store", "registry", "keys"), fabric="efa", self_reachable=True)
BUCKETS = (BucketWant("data", "team", "sft", versioned=False), BucketWant("checkpoints"))
LUSTRE = LustreWant(4800, 500, "us-east-1a", imports=(("/data", "data"),))
TIERED = LustreWant(4000, 0, "us-east-1a", rdma=True, backup_days=0, kind="tiered", throughput_mb_s=8000, cache_gib=640, metadata_iops=6000)
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
    args = {"key": want or KeyWant(), "account": "123456789012", "region": "us-east-1", "tags": {"owner": "test"}, "teardown": False}
    return record(lambda: AwsKey("demo-key", args | more) and None)


def identity(**more):
    want = IdentityWant("trainer", (Grant("data"), Grant("checkpoints", "write")), "team-nlp", "trainer")
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


@pytest.fixture(params=ALL)
def graph(request):
    return ALL[request.param]()


def test_every_input_is_one_the_sdk_knows(graph):
    assert not misfits(graph)
    assert not graph.unregistered()


def test_whatever_takes_tags_has_the_owner_and_a_name(graph):
    assert not untagged(graph, "test")


class TestNetwork:
    def test_no_subnet_gives_public_addresses(self):
        assert {n.inputs["mapPublicIpOnLaunch"] for n in network().by_type("aws:ec2/subnet:Subnet")} == {False}

    def test_the_default_group_allows_nothing(self):
        inputs = network().one("aws:ec2/defaultSecurityGroup:DefaultSecurityGroup").inputs
        assert not inputs.get("ingress")
        assert not inputs.get("egress")

    def test_the_fabric_reaches_itself_in_both_directions(self):
        """Field C: EFA is matched by rules that name the group, not by 0.0.0.0/0."""
        graph = network()
        group = graph.one("aws:ec2/securityGroup:SecurityGroup", "demo-network-fabric")
        for rules in (graph.by_type(INGRESS), graph.by_type(EGRESS)):
            own = [n.inputs for n in rules if n.inputs.get("referencedSecurityGroupId") == group.id]
            assert [(n["securityGroupId"], n["ipProtocol"]) for n in own] == [(group.id, "-1")]

    def test_nothing_from_outside_may_call_in(self):
        assert {n.inputs.get("cidrIpv4") for n in network().by_type(INGRESS)} == {None, "10.0.0.0/16"}

    def test_without_a_fabric_there_is_no_such_group(self):
        graph = network(replace(NETWORK, fabric="none", self_reachable=False))
        assert not [n for n in graph.by_type("aws:ec2/securityGroup:SecurityGroup") if n.name.endswith("fabric")]

    def test_private_subnets_go_out_through_nat_and_the_nat_through_the_gateway(self):
        graph = network()
        routes = {n.name: n.inputs for n in graph.by_type("aws:ec2/route:Route")}
        assert "natGatewayId" in routes["demo-network-private-out"]
        assert "gatewayId" in routes["demo-network-public-out"]

    def test_f26_who_uses_a_subnet_depends_on_its_way_out(self):
        """On destroy no gateway goes before the machines that call out through it."""
        graph = network()
        for name, route in (("nodes", "private-out"), ("public", "public-out")):
            association = graph.one("aws:ec2/routeTableAssociation:RouteTableAssociation", f"demo-network-subnet-{name}")
            assert graph.one("aws:ec2/route:Route", f"demo-network-{route}").urn in association.depends_on
        endpoint = graph.one("aws:ec2/vpcEndpoint:VpcEndpoint", "demo-network-endpoint-kms")
        assert any("routeTableAssociation" in urn for urn in endpoint.property_dependencies["subnetIds"])

    def test_endpoints_are_private_and_in_one_subnet_per_zone(self):
        graph = network()
        found = {n.inputs["serviceName"]: n.inputs for n in graph.by_type("aws:ec2/vpcEndpoint:VpcEndpoint")}
        assert set(found) == {f"com.amazonaws.us-east-1.{s}" for s in ("s3", "ecr.api", "ecr.dkr", "kms")}
        assert found["com.amazonaws.us-east-1.s3"]["vpcEndpointType"] == "Gateway"
        kms = found["com.amazonaws.us-east-1.kms"]
        assert kms["privateDnsEnabled"] is True
        zones = {n.id: n.inputs["availabilityZone"] for n in graph.by_type("aws:ec2/subnet:Subnet")}
        assert sorted(zones[subnet] for subnet in kms["subnetIds"]) == ["us-east-1a", "us-east-1b"]
        public = graph.one("aws:ec2/subnet:Subnet", "demo-network-subnet-public")
        assert public.id not in kms["subnetIds"]

    def test_an_endpoint_aws_does_not_have_is_refused_by_name(self):
        with pytest.raises(Unsupported, match=r"private_endpoints: teleport cannot be built .* instead: cluster, compute, "):
            network(replace(NETWORK, private_endpoints=("teleport",)))

    def test_all_traffic_is_logged_encrypted(self):
        graph = network()
        assert graph.one("aws:ec2/flowLog:FlowLog").inputs["trafficType"] == "ALL"
        assert graph.one("aws:cloudwatch/logGroup:LogGroup").inputs["kmsKeyId"] == KEY_ARN

    def test_only_the_vpc_is_protected_and_teardown_lifts_that(self):
        assert [n.name for n in network().nodes.values() if n.protect] == ["demo-network-vpc"]
        assert not [n for n in network(teardown=True).nodes.values() if n.protect]

    def test_a_network_that_exists_only_gains_the_fabrics_group(self):
        want = NetworkWant("", (), self_reachable=True, existing_id="vpc-0abc", existing_subnet_ids=("subnet-0a", "subnet-0b"))
        graph = network(want)
        assert {n.type.rpartition(":")[2] for n in graph.nodes.values() if n.custom} == {
            "SecurityGroup",
            "SecurityGroupIngressRule",
            "SecurityGroupEgressRule",
        }
        outputs = graph.one("rackwright:index:AwsNetwork").outputs
        assert (outputs["vpcId"], outputs["subnetIds"]) == ("vpc-0abc", ["subnet-0a", "subnet-0b"])

    def test_a_network_known_only_at_deployment_wins_over_the_plans(self):
        outputs = network(vpc_id="vpc-live", subnet_ids=["s1", "s2", "s3", "s4"]).one("rackwright:index:AwsNetwork").outputs
        assert (outputs["vpcId"], outputs["subnetIds"]) == ("vpc-live", ["s1", "s2", "s3", "s4"])

    def test_machines_in_a_zone_without_a_subnet_are_refused(self):
        def program():
            args = {"network": NETWORK, "region": "us-east-1", "kms_key_arn": KEY_ARN, "tags": {}, "teardown": False}
            AwsNetwork("demo-network", args).machine_subnets(["us-east-1f"])

        with pytest.raises(Unsupported, match=r"machines in us-east-1f without a subnet there .* instead: machines in us-east-1a"):
            record(program)

    def test_existing_subnets_serve_machines_first_and_all_serve_the_control_plane(self):
        chosen = {}

        def program():
            want = NetworkWant("", (), existing_id="vpc-0abc", existing_subnet_ids=("subnet-0a", "subnet-0b"))
            args = {"network": want, "region": "us-east-1", "kms_key_arn": KEY_ARN, "tags": {}, "teardown": False}
            made = AwsNetwork("demo-network", args)
            chosen.update(machines=len(made.machine_subnets(["us-east-1a"])), control=len(made.control_subnets()))

        record(program)
        assert chosen == {"machines": 1, "control": 2}

    def test_flow_logs_may_look_for_their_group(self):
        """VPC flow logs check that the group is there, which IAM allows on all groups or on none."""
        statements = policy(network(), "aws:iam/rolePolicy:RolePolicy")
        actions = {action: s["Resource"] for s in statements for action in s["Action"]}
        assert actions["logs:PutLogEvents"].endswith(":*")
        assert actions["logs:DescribeLogGroups"] == "*"


class TestBuckets:
    def test_a_bucket_that_exists_is_left_alone(self):
        graph = storage()
        assert [n.name for n in graph.by_type("aws:s3/bucket:Bucket")] == ["demo-storage-checkpoints"]
        assert graph.one("rackwright:index:AwsStorage").outputs["bucketNames"]["data"] == "team"

    def test_every_bucket_is_closed_encrypted_versioned_and_reached_by_tls_only(self):
        graph = storage((BucketWant("a"), BucketWant("b")))
        buckets = {n.id for n in graph.by_type("aws:s3/bucket:Bucket")}
        blocks = graph.by_type("aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock")
        flags = ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets")
        assert {n.inputs["bucket"] for n in blocks} == buckets
        assert all(n.inputs[flag] is True for n in blocks for flag in flags)
        for node in graph.by_type("aws:s3/bucketPolicy:BucketPolicy"):
            (deny,) = json.loads(node.inputs["policy"])["Statement"]
            assert (deny["Effect"], deny["Principal"], deny["Action"]) == ("Deny", "*", "s3:*")
            assert deny["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
            assert deny["Resource"] == [f"arn:aws:s3:::{node.inputs['bucket']}", f"arn:aws:s3:::{node.inputs['bucket']}/*"]
        for kind in ("bucketPolicy:BucketPolicy", "bucketVersioning:BucketVersioning"):
            assert {n.inputs["bucket"] for n in graph.by_type(f"aws:s3/{kind}")} == buckets
        kind = "BucketServerSideEncryptionConfiguration"
        for node in graph.by_type(f"aws:s3/{kind[0].lower()}{kind[1:]}:{kind}"):
            (rule,) = node.inputs["rules"]
            assert rule["bucketKeyEnabled"] is True
            assert rule["applyServerSideEncryptionByDefault"] == {"sseAlgorithm": "aws:kms", "kmsMasterKeyId": KEY_ARN}

    def test_uploads_that_never_end_and_versions_that_are_over_are_cleaned_up_and_nothing_else_is(self):
        uploads, old = storage().one("aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration").inputs["rules"]
        assert uploads["abortIncompleteMultipartUpload"] == {"daysAfterInitiation": 7}
        assert "expiration" not in uploads
        assert old["noncurrentVersionExpiration"] == {"noncurrentDays": 30}
        assert old["expiration"] == {"expiredObjectDeleteMarker": True}

    def test_a_bucket_without_versions_has_none_to_expire(self):
        graph = storage((BucketWant("data", versioned=False),))
        assert len(graph.one("aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration").inputs["rules"]) == 1

    def test_protection_that_is_off_deletes_no_objects(self):
        """Only a teardown empties a bucket: what is left unprotected is still full, and S3 refuses to delete it."""
        bucket = storage(teardown=True, delete_data=False).one("aws:s3/bucket:Bucket")
        assert (bucket.protect, bucket.inputs["forceDestroy"]) == (False, False)

    def test_objects_are_deleted_only_by_a_teardown(self):
        assert storage().one("aws:s3/bucket:Bucket").inputs["forceDestroy"] is False
        lifted = storage(teardown=True).one("aws:s3/bucket:Bucket")
        assert lifted.inputs["forceDestroy"] is True
        assert not lifted.protect

    def test_only_the_bucket_itself_is_protected(self):
        assert [n.type for n in storage().nodes.values() if n.protect] == ["aws:s3/bucket:Bucket"]

    def test_a_long_name_leaves_room_for_what_makes_it_unique(self):
        long = record(
            lambda: (
                AwsStorage("a" * 50, {"buckets": (BucketWant("checkpoints"),), "kms_key_arn": KEY_ARN, "tags": {}, "teardown": True})
                and None
            )
        )
        assert len(long.one("aws:s3/bucket:Bucket").inputs["bucketPrefix"]) == 37


class TestLustre:
    def test_it_is_fast_persistent_encrypted_and_in_one_subnet(self):
        inputs = storage(lustre=LUSTRE).one("aws:fsx/lustreFileSystem:LustreFileSystem").inputs
        assert (inputs["deploymentType"], inputs["storageType"], inputs["fileSystemTypeVersion"]) == ("PERSISTENT_2", "SSD", "2.15")
        assert (inputs["storageCapacity"], inputs["perUnitStorageThroughput"]) == (4800, 500)
        assert inputs["subnetIds"] == "subnet-a"
        assert inputs["kmsKeyId"] == KEY_ARN
        assert inputs["logConfiguration"]["level"] == "WARN_ERROR"

    def test_f10_servers_and_clients_may_speak_lustre(self):
        graph = storage(lustre=LUSTRE)
        group = graph.one("aws:ec2/securityGroup:SecurityGroup").id
        opened = {
            (n.inputs["securityGroupId"], n.inputs["referencedSecurityGroupId"], n.inputs["fromPort"], n.inputs["toPort"])
            for n in graph.by_type(INGRESS)
        }
        pairs = [(group, group), (group, "sg-cluster"), ("sg-cluster", group)]
        assert opened == {(*pair, *ports) for pair in pairs for ports in ((988, 988), (1018, 1023))}

    def test_f10_its_own_ports_are_open_before_it_is_made(self):
        graph = storage(lustre=LUSTRE)
        waits = {graph.nodes[urn].name for urn in graph.one("aws:fsx/lustreFileSystem:LustreFileSystem").depends_on}
        assert {"demo-storage-lustre-self-988", "demo-storage-lustre-self-1018", "demo-storage-lustre-out"} <= waits
        assert not {name for name in waits if "client" in name}

    def test_a_linked_file_system_has_no_backups_because_fsx_refuses_them(self):
        linked = storage(lustre=LUSTRE).one("aws:fsx/lustreFileSystem:LustreFileSystem").inputs
        alone = storage(lustre=replace(LUSTRE, imports=())).one("aws:fsx/lustreFileSystem:LustreFileSystem").inputs
        assert (linked["automaticBackupRetentionDays"], linked["skipFinalBackup"]) == (0, True)
        assert (alone["automaticBackupRetentionDays"], alone["skipFinalBackup"]) == (7, False)

    def test_it_shows_the_buckets_objects_and_writes_nothing_back(self):
        inputs = storage(lustre=LUSTRE).one("aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation").inputs
        assert (inputs["fileSystemPath"], inputs["dataRepositoryPath"]) == ("/data", "s3://team/sft")
        assert inputs["s3"] == {"autoImportPolicy": {"events": ["NEW", "CHANGED", "DELETED"]}}

    def test_l1_what_is_written_comes_back_to_its_bucket(self):
        both = replace(LUSTRE, exports=(("/checkpoints", "checkpoints"),))
        graph = storage(lustre=both)
        out = graph.one("aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation", "demo-storage-lustre-checkpoints").inputs
        assert out["fileSystemPath"] == "/checkpoints"
        assert out["s3"] == {"autoExportPolicy": {"events": ["NEW", "CHANGED", "DELETED"]}}
        assert out["dataRepositoryPath"].startswith("s3://demo-storage-checkpoints-")
        assert graph.one("aws:fsx/lustreFileSystem:LustreFileSystem").inputs["automaticBackupRetentionDays"] == 0

    def test_v54_tiers_buy_servers_cache_and_metadata_and_no_capacity(self):
        inputs = storage(lustre=TIERED).one("aws:fsx/lustreFileSystem:LustreFileSystem").inputs
        assert (inputs["storageType"], inputs["throughputCapacity"], inputs["efaEnabled"]) == ("INTELLIGENT_TIERING", 8000, True)
        assert inputs["dataReadCacheConfiguration"] == {"sizingMode": "USER_PROVISIONED", "size": 640}
        assert inputs["metadataConfiguration"] == {"mode": "USER_PROVISIONED", "iops": 6000}
        assert not {"storageCapacity", "perUnitStorageThroughput"} & set(inputs)
        without = storage(lustre=replace(TIERED, cache_gib=0)).one("aws:fsx/lustreFileSystem:LustreFileSystem").inputs
        assert without["dataReadCacheConfiguration"] == {"sizingMode": "NO_CACHE"}

    def test_f30_another_throughput_over_efa_is_a_replacement_that_protection_stops(self):
        """FSx fixes the throughput of a file system on EFA when it makes it; without EFA the throughput just changes."""

        def change(rdma: bool):
            before, after = (storage(lustre=replace(LUSTRE, rdma=rdma, throughput_mb_s_per_tib=tier)).as_json() for tier in (500, 1000))
            (found,) = [c for c in compare(before, after) if c.type == "aws:fsx/lustreFileSystem:LustreFileSystem"]
            return found.operation, found.protected, found.because

        assert change(rdma=True) == ("replace", True, ("perUnitStorageThroughput",))
        assert change(rdma=False) == ("update", True, ("perUnitStorageThroughput",))

    def test_v51_rdma_needs_metadata_and_the_fabrics_group(self):
        inputs = ALL["rdma"]().one("aws:fsx/lustreFileSystem:LustreFileSystem").inputs
        assert inputs["efaEnabled"] is True
        assert inputs["metadataConfiguration"] == {"mode": "AUTOMATIC"}
        assert "sg-fabric" in inputs["securityGroupIds"]
        assert "sg-fabric" not in storage(lustre=LUSTRE).one("aws:fsx/lustreFileSystem:LustreFileSystem").inputs["securityGroupIds"]

    def test_it_is_protected_until_a_teardown(self):
        kind = "aws:fsx/lustreFileSystem:LustreFileSystem"
        assert storage(lustre=LUSTRE).one(kind).protect
        assert not storage(lustre=LUSTRE, teardown=True).one(kind).protect


class TestKey:
    def test_it_rotates_and_waits_before_it_dies(self):
        inputs = key().one("aws:kms/key:Key").inputs
        assert (inputs["enableKeyRotation"], inputs["rotationPeriodInDays"], inputs["deletionWindowInDays"]) == (True, 90, 30)
        assert key().one("aws:kms/alias:Alias").inputs["name"] == "alias/demo-key"

    def test_administration_and_use_are_apart(self):
        administer, use, *_ = policy(key(), "aws:kms/key:Key")
        assert not [a for a in administer["Action"] if a.startswith(("kms:Decrypt", "kms:Encrypt", "kms:GenerateDataKey"))]
        assert not [a for a in use["Action"] if a.startswith(("kms:Put", "kms:Schedule", "kms:Delete"))]

    def test_grants_are_for_services_alone_unless_eks_needs_the_key(self):
        """EKS does not support the condition: with it CreateCluster is refused (recipes 3.1.1; EKS user guide, secrets encryption)."""
        for serves, sid, condition in (
            (("disks",), "GrantToServices", {"Bool": {"kms:GrantIsForAWSResource": "true"}}),
            (("cluster",), "GrantByIamPolicy", None),
        ):
            granting = [s for s in policy(key(KeyWant(serves=serves)), "aws:kms/key:Key") if s["Principal"] != {"AWS": "*"}]
            found = [(s["Sid"], s.get("Condition")) for s in granting if {"kms:CreateGrant", "kms:Create*", "kms:*"} & {*s["Action"]}]
            assert found == [(sid, condition)]

    def test_auto_scaling_and_spot_may_use_it_for_disks_and_hand_it_on(self):
        """Without this the machines of a node group die with Client.InternalError (recipes 3.1.1)."""
        named = {s["Sid"]: s for s in policy(key(), "aws:kms/key:Key")}
        roles = named["Launchers"]["Condition"]["ArnLike"]["aws:PrincipalArn"]
        assert [role.rpartition("/")[2] for role in roles] == ["AWSServiceRoleForAutoScaling", "AWSServiceRoleForEC2Spot"]
        assert all(role.startswith("arn:aws:iam::123456789012:role/aws-service-role/") for role in roles)
        assert named["LaunchersGrants"]["Condition"]["Bool"] == {"kms:GrantIsForAWSResource": "true"}
        assert all("Condition" in s for s in named.values() if s["Principal"] == {"AWS": "*"})

    def test_logs_of_this_account_alone_are_encrypted_with_it(self):
        (logs,) = [s for s in policy(key(), "aws:kms/key:Key") if s["Sid"] == "Logs"]
        assert logs["Principal"] == {"Service": "logs.us-east-1.amazonaws.com"}
        group = "arn:aws:logs:us-east-1:123456789012:log-group:*"
        assert logs["Condition"] == {"ArnLike": {"kms:EncryptionContext:aws:logs:arn": group}}

    def test_it_serves_only_what_the_plan_names(self):
        sids = {s["Sid"] for s in policy(key(KeyWant(serves=("buckets",))), "aws:kms/key:Key")}
        assert sids == {"Administer", "UseByIamPolicy", "GrantToServices"}

    def test_it_is_protected_until_a_teardown(self):
        assert key().one("aws:kms/key:Key").protect
        assert not key(teardown=True).one("aws:kms/key:Key").protect


class TestIdentity:
    def test_reading_and_writing_stay_below_their_prefixes_and_nothing_is_deleted(self):
        statements = policy(identity(**POD), "aws:iam/rolePolicy:RolePolicy")
        objects = {s["Resource"]: s["Action"] for s in statements if "s3:GetObject" in s["Action"]}
        assert objects == {
            "arn:aws:s3:::team/sft/*": ["s3:GetObject"],
            "arn:aws:s3:::ckpt/*": ["s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload"],
        }
        listing = {s["Resource"]: s.get("Condition") for s in statements if "s3:ListBucket" in s["Action"]}
        assert listing["arn:aws:s3:::team"] == {"StringLike": {"s3:prefix": ["sft/*", "sft"]}}
        assert not [a for s in statements for a in s["Action"] if "Delete" in a or a.endswith(":*")]

    def test_the_key_is_used_through_s3_only(self):
        (use,) = [s for s in policy(identity(**POD), "aws:iam/rolePolicy:RolePolicy") if "kms:Decrypt" in s["Action"]]
        assert use["Resource"] == KEY_ARN
        assert use["Condition"] == {"StringEquals": {"kms:ViaService": "s3.us-east-1.amazonaws.com"}}

    def test_only_pods_of_this_cluster_may_take_the_role(self):
        graph = identity(**POD)
        (trust,) = policy(graph, "aws:iam/role:Role", "assumeRolePolicy")
        assert trust["Principal"] == {"Service": "pods.eks.amazonaws.com"}
        assert trust["Action"] == ["sts:AssumeRole", "sts:TagSession"]
        assert trust["Condition"] == {
            "StringEquals": {"aws:SourceAccount": "123456789012"},
            "ArnEquals": {"aws:SourceArn": POD["cluster_arn"]},
        }
        pods = graph.one("aws:eks/podIdentityAssociation:PodIdentityAssociation").inputs
        assert (pods["namespace"], pods["serviceAccount"]) == ("team-nlp", "trainer")

    def test_a_machine_is_reached_by_session_manager_and_waits_for_its_rights(self):
        graph = identity()
        attached = graph.one("aws:iam/rolePolicyAttachment:RolePolicyAttachment")
        assert attached.inputs["policyArn"] == "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"
        profile = graph.one("aws:iam/instanceProfile:InstanceProfile")
        assert {attached.urn, graph.one("aws:iam/rolePolicy:RolePolicy").urn} <= set(profile.depends_on)

    def test_secrets_are_encrypted_and_readable_by_the_machine_alone(self):
        graph = identity(secrets={"hf-token": "hf_abc"}, secrets_path="/demo")
        stored = graph.one("aws:ssm/parameter:Parameter")
        assert stored.inputs["name"] == "/demo/hf-token"
        assert stored.inputs["type"] == "SecureString"
        assert stored.inputs["keyId"] == KEY_ARN
        assert "value" in stored.secret_inputs
        (read,) = [s for s in policy(graph, "aws:iam/rolePolicy:RolePolicy") if "ssm:GetParameter" in s["Action"]]
        assert read["Resource"] == [stored.state["arn"]]
        assert "hf_abc" not in json.dumps(graph.as_json())
