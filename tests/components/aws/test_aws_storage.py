"""Buckets and file systems are private, encrypted and protected (recipes sections 3.1, 12)."""

import json
from dataclasses import replace

from rackwright.stackplan import BucketPlan
from rackwright_pulumi.aws.storage.storage import AwsStorage
from rackwright_pulumi.testing import record
from rackwright_pulumi.testing.diff import compare

from tests.components.aws.parts import (
    ALL,
    INGRESS,
    KEY_ARN,
    LUSTRE,
    TIERED,
    storage,
)


class TestBuckets:
    def test_an_existing_bucket_is_not_changed(self):
        graph = storage()
        assert [n.name for n in graph.by_type("aws:s3/bucket:Bucket")] == ["demo-storage-checkpoints"]
        assert graph.one("rackwright:index:AwsStorage").outputs["bucketNames"]["data"] == "team"

    def test_every_bucket_is_private_encrypted_versioned_and_requires_tls(self):
        graph = storage((BucketPlan("a"), BucketPlan("b")))
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

    def test_only_incomplete_uploads_and_old_versions_expire(self):
        uploads, old = storage().one("aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration").inputs["rules"]
        assert uploads["abortIncompleteMultipartUpload"] == {"daysAfterInitiation": 7}
        assert "expiration" not in uploads
        assert old["noncurrentVersionExpiration"] == {"noncurrentDays": 30}
        assert old["expiration"] == {"expiredObjectDeleteMarker": True}

    def test_a_bucket_without_versioning_has_no_expiry_of_versions(self):
        graph = storage((BucketPlan("data", versioned=False),))
        assert len(graph.one("aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration").inputs["rules"]) == 1

    def test_disabled_protection_deletes_no_objects(self):
        """Only a teardown empties a bucket: S3 refuses to delete a bucket with objects."""
        bucket = storage(teardown=True, delete_data=False).one("aws:s3/bucket:Bucket")
        assert (bucket.protect, bucket.inputs["forceDestroy"]) == (False, False)

    def test_objects_are_deleted_only_by_a_teardown(self):
        assert storage().one("aws:s3/bucket:Bucket").inputs["forceDestroy"] is False
        lifted = storage(teardown=True).one("aws:s3/bucket:Bucket")
        assert lifted.inputs["forceDestroy"] is True
        assert not lifted.protect

    def test_only_the_bucket_itself_is_protected(self):
        assert [n.type for n in storage().nodes.values() if n.protect] == ["aws:s3/bucket:Bucket"]

    def test_a_long_name_leaves_room_for_the_unique_suffix(self):
        long = record(
            lambda: (
                AwsStorage("a" * 50, {"buckets": (BucketPlan("checkpoints"),), "kms_key_arn": KEY_ARN, "tags": {}, "teardown": True})
                and None
            )
        )
        assert len(long.one("aws:s3/bucket:Bucket").inputs["bucketPrefix"]) == 37


class TestLustre:
    def test_it_is_persistent_ssd_encrypted_and_in_one_subnet(self):
        inputs = storage(lustre=LUSTRE).one("aws:fsx/lustreFileSystem:LustreFileSystem").inputs
        assert (inputs["deploymentType"], inputs["storageType"], inputs["fileSystemTypeVersion"]) == ("PERSISTENT_2", "SSD", "2.15")
        assert (inputs["storageCapacity"], inputs["perUnitStorageThroughput"]) == (4800, 500)
        assert inputs["subnetIds"] == "subnet-a"
        assert inputs["kmsKeyId"] == KEY_ARN
        assert inputs["logConfiguration"]["level"] == "WARN_ERROR"

    def test_f10_lustre_ports_are_open_between_servers_and_clients(self):
        graph = storage(lustre=LUSTRE)
        group = graph.one("aws:ec2/securityGroup:SecurityGroup").id
        opened = {
            (n.inputs["securityGroupId"], n.inputs["referencedSecurityGroupId"], n.inputs["fromPort"], n.inputs["toPort"])
            for n in graph.by_type(INGRESS)
        }
        pairs = [(group, group), (group, "sg-cluster"), ("sg-cluster", group)]
        assert opened == {(*pair, *ports) for pair in pairs for ports in ((988, 988), (1018, 1023))}

    def test_f10_ports_between_servers_are_open_before_its_creation(self):
        graph = storage(lustre=LUSTRE)
        waits = {graph.nodes[urn].name for urn in graph.one("aws:fsx/lustreFileSystem:LustreFileSystem").depends_on}
        assert {"demo-storage-lustre-self-988", "demo-storage-lustre-self-1018", "demo-storage-lustre-out"} <= waits
        assert not {name for name in waits if "client" in name}

    def test_a_linked_file_system_has_no_backups_because_fsx_refuses_them(self):
        linked = storage(lustre=LUSTRE).one("aws:fsx/lustreFileSystem:LustreFileSystem").inputs
        alone = storage(lustre=replace(LUSTRE, imports=())).one("aws:fsx/lustreFileSystem:LustreFileSystem").inputs
        assert (linked["automaticBackupRetentionDays"], linked["skipFinalBackup"]) == (0, True)
        assert (alone["automaticBackupRetentionDays"], alone["skipFinalBackup"]) == (7, False)

    def test_an_import_of_a_bucket_exports_no_changes(self):
        inputs = storage(lustre=LUSTRE).one("aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation").inputs
        assert (inputs["fileSystemPath"], inputs["dataRepositoryPath"]) == ("/data", "s3://team/sft")
        assert inputs["s3"] == {"autoImportPolicy": {"events": ["NEW", "CHANGED", "DELETED"]}}

    def test_l1_written_files_are_exported_to_the_bucket(self):
        both = replace(LUSTRE, exports=(("/checkpoints", "checkpoints"),))
        graph = storage(lustre=both)
        out = graph.one("aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation", "demo-storage-lustre-checkpoints").inputs
        assert out["fileSystemPath"] == "/checkpoints"
        assert out["s3"] == {"autoExportPolicy": {"events": ["NEW", "CHANGED", "DELETED"]}}
        assert out["dataRepositoryPath"].startswith("s3://demo-storage-checkpoints-")
        assert graph.one("aws:fsx/lustreFileSystem:LustreFileSystem").inputs["automaticBackupRetentionDays"] == 0

    def test_v54_intelligent_tiering_has_throughput_cache_and_metadata_but_no_capacity(self):
        inputs = storage(lustre=TIERED).one("aws:fsx/lustreFileSystem:LustreFileSystem").inputs
        assert (inputs["storageType"], inputs["throughputCapacity"], inputs["efaEnabled"]) == ("INTELLIGENT_TIERING", 8000, True)
        assert inputs["dataReadCacheConfiguration"] == {"sizingMode": "USER_PROVISIONED", "size": 640}
        assert inputs["metadataConfiguration"] == {"mode": "USER_PROVISIONED", "iops": 6000}
        assert not {"storageCapacity", "perUnitStorageThroughput"} & set(inputs)
        without = storage(lustre=replace(TIERED, cache_gib=0)).one("aws:fsx/lustreFileSystem:LustreFileSystem").inputs
        assert without["dataReadCacheConfiguration"] == {"sizingMode": "NO_CACHE"}

    def test_f30_another_throughput_with_efa_is_a_replacement_that_protection_refuses(self):
        """FSx cannot change the throughput of a file system with EFA; without EFA, an update changes it."""

        def change(rdma: bool):
            before, after = (storage(lustre=replace(LUSTRE, rdma=rdma, throughput_mb_s_per_tib=tier)).as_json() for tier in (500, 1000))
            (found,) = [c for c in compare(before, after) if c.type == "aws:fsx/lustreFileSystem:LustreFileSystem"]
            return found.operation, found.protected, found.because

        assert change(rdma=True) == ("replace", True, ("perUnitStorageThroughput",))
        assert change(rdma=False) == ("update", True, ("perUnitStorageThroughput",))

    def test_v51_rdma_requires_metadata_and_the_fabric_group(self):
        inputs = ALL["rdma"]().one("aws:fsx/lustreFileSystem:LustreFileSystem").inputs
        assert inputs["efaEnabled"] is True
        assert inputs["metadataConfiguration"] == {"mode": "AUTOMATIC"}
        assert "sg-fabric" in inputs["securityGroupIds"]
        assert "sg-fabric" not in storage(lustre=LUSTRE).one("aws:fsx/lustreFileSystem:LustreFileSystem").inputs["securityGroupIds"]

    def test_it_is_protected_until_a_teardown(self):
        kind = "aws:fsx/lustreFileSystem:LustreFileSystem"
        assert storage(lustre=LUSTRE).one(kind).protect
        assert not storage(lustre=LUSTRE, teardown=True).one(kind).protect
