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
from rackwright.stackplan import BucketPlan

from rackwright_pulumi.aws.identity.policy_documents import tls_only
from rackwright_pulumi.aws.tags import ChildContext, fitting

NAME_LIMIT = 63


@dataclass(frozen=True)
class BucketSite:
    """Where objects of one key live: bucket and prefix."""

    name: Output[str]
    arn: Output[str]
    prefix: str

    @property
    def url(self) -> Output[str]:
        return Output.concat("s3://", self.name, f"/{self.prefix}" if self.prefix else "")


def bucket(child: ChildContext, plan: BucketPlan, kms_key_arn: Input[str], protect: bool, delete_data: bool) -> BucketSite:
    """An existing bucket is used as it is; a new one starts private, versioned and encrypted."""
    if plan.existing_name:
        return BucketSite(Output.from_input(plan.existing_name), Output.from_input(f"arn:aws:s3:::{plan.existing_name}"), plan.prefix)
    made = Bucket(
        child.name(plan.key),
        force_destroy=delete_data,
        tags=child.tagged(plan.key),
        opts=child.opts(protect=protect, retain_on_delete=protect),
        **fitting("bucket", child.name(plan.key), NAME_LIMIT),
    )
    _privacy(child, plan, made)
    _encryption(child, plan, made, kms_key_arn)
    if plan.versioned:
        enabled = BucketVersioningVersioningConfigurationArgs(status="Enabled")
        BucketVersioning(child.name(plan.key, "versions"), bucket=made.bucket, versioning_configuration=enabled, opts=child.opts())
    _lifecycle(child, plan, made)
    return BucketSite(made.bucket, made.arn, plan.prefix)


def _privacy(child: ChildContext, plan: BucketPlan, made: Bucket) -> None:
    block = BucketPublicAccessBlock(
        child.name(plan.key, "private"),
        bucket=made.bucket,
        block_public_acls=True,
        block_public_policy=True,
        ignore_public_acls=True,
        restrict_public_buckets=True,
        opts=child.opts(),
    )
    # S3 refuses two changes of a bucket's access settings at the same time (OperationAborted).
    BucketPolicy(child.name(plan.key, "tls"), bucket=made.bucket, policy=tls_only(made.arn), opts=child.opts(depends_on=[block]))


def _encryption(child: ChildContext, plan: BucketPlan, made: Bucket, kms_key_arn: Input[str]) -> None:
    by_key = BucketServerSideEncryptionConfigurationRuleApplyServerSideEncryptionByDefaultArgs(
        sse_algorithm="aws:kms", kms_master_key_id=kms_key_arn
    )
    rule = BucketServerSideEncryptionConfigurationRuleArgs(apply_server_side_encryption_by_default=by_key, bucket_key_enabled=True)
    BucketServerSideEncryptionConfiguration(child.name(plan.key, "encryption"), bucket=made.bucket, rules=[rule], opts=child.opts())


def _lifecycle(child: ChildContext, plan: BucketPlan, made: Bucket) -> None:
    """Nothing that is current is ever removed. A delete marker without versions behind it only slows listings down."""
    everything = BucketLifecycleConfigurationRuleFilterArgs(prefix="")
    abort = BucketLifecycleConfigurationRuleAbortIncompleteMultipartUploadArgs(days_after_initiation=plan.abort_upload_days)
    rules = [
        BucketLifecycleConfigurationRuleArgs(
            id="abort-uploads", status="Enabled", filter=everything, abort_incomplete_multipart_upload=abort
        )
    ]
    if plan.versioned:
        old = BucketLifecycleConfigurationRuleNoncurrentVersionExpirationArgs(noncurrent_days=plan.old_versions_days)
        markers = BucketLifecycleConfigurationRuleExpirationArgs(expired_object_delete_marker=True)
        rules.append(
            BucketLifecycleConfigurationRuleArgs(
                id="old-versions", status="Enabled", filter=everything, noncurrent_version_expiration=old, expiration=markers
            )
        )
    BucketLifecycleConfiguration(child.name(plan.key, "lifecycle"), bucket=made.bucket, rules=rules, opts=child.opts())
