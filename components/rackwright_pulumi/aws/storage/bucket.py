"""A private, encrypted, versioned bucket."""

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
from rackwright_pulumi.aws.tags import ChildContext, name_or_prefix

NAME_LIMIT = 63


@dataclass(frozen=True)
class BucketLocation:
    """Bucket and prefix of one key."""

    name: Output[str]
    arn: Output[str]
    prefix: str

    @property
    def url(self) -> Output[str]:
        return Output.concat("s3://", self.name, f"/{self.prefix}" if self.prefix else "")


def bucket(child: ChildContext, plan: BucketPlan, kms_key_arn: Input[str], protect: bool, delete_data: bool) -> BucketLocation:
    """An existing bucket without changes, or a new one that is private, encrypted and, by the plan, versioned."""
    if plan.existing_name:
        return BucketLocation(Output.from_input(plan.existing_name), Output.from_input(f"arn:aws:s3:::{plan.existing_name}"), plan.prefix)
    new = Bucket(
        child.name(plan.key),
        force_destroy=delete_data,
        tags=child.tagged(plan.key),
        opts=child.opts(protect=protect, retain_on_delete=protect),
        **name_or_prefix("bucket", child.name(plan.key), NAME_LIMIT),
    )
    _privacy(child, plan, new)
    by_key = BucketServerSideEncryptionConfigurationRuleApplyServerSideEncryptionByDefaultArgs(
        sse_algorithm="aws:kms", kms_master_key_id=kms_key_arn
    )
    rule = BucketServerSideEncryptionConfigurationRuleArgs(apply_server_side_encryption_by_default=by_key, bucket_key_enabled=True)
    BucketServerSideEncryptionConfiguration(child.name(plan.key, "encryption"), bucket=new.bucket, rules=[rule], opts=child.opts())
    if plan.versioned:
        enabled = BucketVersioningVersioningConfigurationArgs(status="Enabled")
        BucketVersioning(child.name(plan.key, "versions"), bucket=new.bucket, versioning_configuration=enabled, opts=child.opts())
    _lifecycle(child, plan, new)
    return BucketLocation(new.bucket, new.arn, plan.prefix)


def _privacy(child: ChildContext, plan: BucketPlan, new: Bucket) -> None:
    block = BucketPublicAccessBlock(
        child.name(plan.key, "private"),
        bucket=new.bucket,
        block_public_acls=True,
        block_public_policy=True,
        ignore_public_acls=True,
        restrict_public_buckets=True,
        opts=child.opts(),
    )
    # S3 rejects concurrent changes of a bucket's access settings (OperationAborted).
    BucketPolicy(child.name(plan.key, "tls"), bucket=new.bucket, policy=tls_only(new.arn), opts=child.opts(depends_on=[block]))


def _lifecycle(child: ChildContext, plan: BucketPlan, new: Bucket) -> None:
    """Delete old versions, unfinished uploads and delete markers without versions; current objects are never deleted."""
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
    BucketLifecycleConfiguration(child.name(plan.key, "lifecycle"), bucket=new.bucket, rules=rules, opts=child.opts())
