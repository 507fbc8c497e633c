"""A bucket with everything that keeps it private and encrypted."""

from dataclasses import dataclass

from pulumi import Input, Output
from pulumi_aws.s3.bucket import Bucket
from pulumi_aws.s3.bucket_lifecycle_configuration import (
    BucketLifecycleConfiguration,
    BucketLifecycleConfigurationRuleAbortIncompleteMultipartUploadArgs,
    BucketLifecycleConfigurationRuleArgs,
    BucketLifecycleConfigurationRuleExpirationArgs,
    BucketLifecycleConfigurationRuleFilterArgs,
    BucketLifecycleConfigurationRuleNoncurrentVersionExpirationArgs,
)
from pulumi_aws.s3.bucket_policy import BucketPolicy
from pulumi_aws.s3.bucket_public_access_block import BucketPublicAccessBlock
from pulumi_aws.s3.bucket_server_side_encryption_configuration import (
    BucketServerSideEncryptionConfiguration,
    BucketServerSideEncryptionConfigurationRuleApplyServerSideEncryptionByDefaultArgs,
    BucketServerSideEncryptionConfigurationRuleArgs,
)
from pulumi_aws.s3.bucket_versioning import BucketVersioning, BucketVersioningVersioningConfigurationArgs
from rackwright.compile.wants import BucketWant

from rackwright_pulumi.aws.policies import tls_only
from rackwright_pulumi.aws.tags import Kin, fitting

NAME_LIMIT = 63


@dataclass(frozen=True)
class Place:
    """Where objects of one key live: bucket and prefix."""

    name: Output[str]
    arn: Output[str]
    prefix: str

    @property
    def url(self) -> Output[str]:
        return Output.concat("s3://", self.name, f"/{self.prefix}" if self.prefix else "")


def bucket(kin: Kin, want: BucketWant, kms_key_arn: Input[str], protect: bool, delete_data: bool) -> Place:
    """An existing bucket is used as it is; a new one starts private, versioned and encrypted."""
    if want.existing_name:
        return Place(Output.from_input(want.existing_name), Output.from_input(f"arn:aws:s3:::{want.existing_name}"), want.prefix)
    made = Bucket(
        kin.name(want.key),
        force_destroy=delete_data,
        tags=kin.tagged(want.key),
        opts=kin.opts(protect=protect, retain_on_delete=protect),
        **fitting("bucket", kin.name(want.key), NAME_LIMIT),
    )
    _privacy(kin, want, made)
    _encryption(kin, want, made, kms_key_arn)
    if want.versioned:
        enabled = BucketVersioningVersioningConfigurationArgs(status="Enabled")
        BucketVersioning(kin.name(want.key, "versions"), bucket=made.bucket, versioning_configuration=enabled, opts=kin.opts())
    _lifecycle(kin, want, made)
    return Place(made.bucket, made.arn, want.prefix)


def _privacy(kin: Kin, want: BucketWant, made: Bucket) -> None:
    block = BucketPublicAccessBlock(
        kin.name(want.key, "private"),
        bucket=made.bucket,
        block_public_acls=True,
        block_public_policy=True,
        ignore_public_acls=True,
        restrict_public_buckets=True,
        opts=kin.opts(),
    )
    # S3 refuses two changes of a bucket's access settings at the same time (OperationAborted).
    BucketPolicy(kin.name(want.key, "tls"), bucket=made.bucket, policy=tls_only(made.arn), opts=kin.opts(depends_on=[block]))


def _encryption(kin: Kin, want: BucketWant, made: Bucket, kms_key_arn: Input[str]) -> None:
    by_key = BucketServerSideEncryptionConfigurationRuleApplyServerSideEncryptionByDefaultArgs(
        sse_algorithm="aws:kms", kms_master_key_id=kms_key_arn
    )
    rule = BucketServerSideEncryptionConfigurationRuleArgs(apply_server_side_encryption_by_default=by_key, bucket_key_enabled=True)
    BucketServerSideEncryptionConfiguration(kin.name(want.key, "encryption"), bucket=made.bucket, rules=[rule], opts=kin.opts())


def _lifecycle(kin: Kin, want: BucketWant, made: Bucket) -> None:
    """Nothing that is current is ever removed. A delete marker without versions behind it only slows listings down."""
    everything = BucketLifecycleConfigurationRuleFilterArgs(prefix="")
    abort = BucketLifecycleConfigurationRuleAbortIncompleteMultipartUploadArgs(days_after_initiation=want.abort_upload_days)
    rules = [
        BucketLifecycleConfigurationRuleArgs(
            id="abort-uploads", status="Enabled", filter=everything, abort_incomplete_multipart_upload=abort
        )
    ]
    if want.versioned:
        old = BucketLifecycleConfigurationRuleNoncurrentVersionExpirationArgs(noncurrent_days=want.old_versions_days)
        markers = BucketLifecycleConfigurationRuleExpirationArgs(expired_object_delete_marker=True)
        rules.append(
            BucketLifecycleConfigurationRuleArgs(
                id="old-versions", status="Enabled", filter=everything, noncurrent_version_expiration=old, expiration=markers
            )
        )
    BucketLifecycleConfiguration(kin.name(want.key, "lifecycle"), bucket=made.bucket, rules=rules, opts=kin.opts())
