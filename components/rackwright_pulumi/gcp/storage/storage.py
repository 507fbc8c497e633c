"""KMS key, private, encrypted buckets, and the shared file system."""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

import pulumi
from pulumi import Input, InvokeOutputOptions, Output, ResourceOptions
from pulumi_gcp.kms import CryptoKey, CryptoKeyIAMMember, KeyRing
from pulumi_gcp.projects import ServiceIdentity
from pulumi_gcp.storage import (
    Bucket,
    BucketEncryptionArgs,
    BucketHierarchicalNamespaceArgs,
    BucketLifecycleRuleActionArgs,
    BucketLifecycleRuleArgs,
    BucketLifecycleRuleConditionArgs,
    BucketSoftDeletePolicyArgs,
    BucketVersioningArgs,
    get_project_service_account_output,
)
from rackwright.stackplan import BucketPlan, KeyPlan, LustrePlan

from rackwright_pulumi.args import Part, part
from rackwright_pulumi.check_args import check_args
from rackwright_pulumi.gcp.labels import gcp_labels, guard
from rackwright_pulumi.gcp.storage.lustre import LustreSettings, ManagedLustre, lustre
from rackwright_pulumi.naming import child
from rackwright_pulumi.unsupported import Unsupported
from rackwright_pulumi.upstream import StackReferences

DAY_S = 86_400
UNDELETE_S = 7 * DAY_S
"""Seconds in which a deleted object can be restored; the default of https://cloud.google.com/storage/docs/soft-delete"""
USE_KEY = "roles/cloudkms.cryptoKeyEncrypterDecrypter"
AGENTS = {"disks": "compute-system", "cluster": "container-engine-robot"}
"""Purpose of a key to the service agent that uses it: https://cloud.google.com/iam/docs/service-agents"""
LUSTRE_API = "lustre.googleapis.com"


class GcpStorageArgs(TypedDict):
    """key: a KeyPlan. buckets: tuple of BucketPlan. tags: pairs. project_number: of the project, in digits.

    lustre: a LustrePlan. network_id: of the file system, known after its private services access exists.
    """

    key: Part[KeyPlan]
    buckets: Part[Sequence[BucketPlan]]
    tags: Part[Sequence[tuple[str, str]]]
    project: Input[str]
    project_number: Input[str]
    region: str
    teardown: bool
    lustre: NotRequired[Part[LustrePlan] | None]
    network_id: NotRequired[Input[str]]


class GcpStorage(pulumi.ComponentResource):
    """Key ring, key, key permissions, buckets and the file system.

    Key rings and keys cannot be deleted: a destroy removes them from the state, and their names stay in use. Therefore the engine appends a
    random suffix to both names.
    https://cloud.google.com/kms/docs/resource-hierarchy
    """

    key_id: Output[str]
    key_for: Mapping[str, Output[str]]
    """The key id by purpose (`disks`, `buckets`, `cluster`), known after the service agent may use the key."""
    bucket_names: Mapping[str, Output[str]]
    """By key of the BucketPlan."""
    lustre: ManagedLustre | None

    def __init__(self, name: str, args: GcpStorageArgs, opts: ResourceOptions | None = None):
        check_args(GcpStorageArgs, args)
        super().__init__("rackwright:index:GcpStorage", name, None, opts)
        plan = part(KeyPlan, args["key"])
        uses = [use for use in plan.serves if use in (*AGENTS, "buckets")]
        key = None if plan.existing_arn else self._key(name, plan, args)
        if key is None:  # its policy must allow the service agents: R-28
            self.key_id = Output.from_input(StackReferences(self, name).value(plan.existing_arn))
            self.key_for = dict.fromkeys(uses, self.key_id)
        else:
            self.key_id = key.id
            self.key_for = {use: self._grant(name, use, key, args) for use in uses}
        self.bucket_names = {
            bucket.key: Output.from_input(bucket.existing_name) if bucket.existing_name else self._bucket(name, bucket, args)
            for bucket in part(tuple[BucketPlan, ...], args["buckets"])
        }
        self.lustre = self._lustre(name, key, args)
        more = {"lustre": self.lustre.outputs} if self.lustre else {}
        self.register_outputs({"keyId": self.key_id, "bucketNames": dict(self.bucket_names), **more})

    def _lustre(self, name: str, key: CryptoKey | None, args: GcpStorageArgs) -> ManagedLustre | None:
        """None without a file system. key: None for a key that exists. Raises Unsupported for a file system without a network."""
        plan, network_id = part(LustrePlan, args.get("lustre")), args.get("network_id")
        if plan is None:
            return None
        if network_id is None:
            raise Unsupported("a file system without a network", "lustre", "network_id")
        labels = gcp_labels(part(tuple[tuple[str, str], ...], args["tags"]))
        key_id = self._grant(name, "filesystem", key, args) if key else self.key_id
        return lustre(self, name, plan, LustreSettings(args["project"], network_id, key_id, labels, args["teardown"]))

    def _key(self, name: str, plan: KeyPlan, args: GcpStorageArgs) -> CryptoKey:
        kept = ResourceOptions(parent=self, protect=not args["teardown"])
        ring = KeyRing(child(name, "ring"), project=args["project"], location=args["region"], opts=kept)
        return CryptoKey(
            child(name, "key"),
            key_ring=ring.id,
            purpose="ENCRYPT_DECRYPT",
            rotation_period=f"{plan.rotation_days * DAY_S}s",
            destroy_scheduled_duration=f"{plan.deletion_window_days * DAY_S}s",
            labels=gcp_labels(part(tuple[tuple[str, str], ...], args["tags"])),
            deletion_policy=guard(args["teardown"]),
            opts=kept,
        )

    def _grant(self, name: str, use: str, key: CryptoKey, args: GcpStorageArgs) -> Output[str]:
        """Cloud Storage creates its service agent at the first look-up, Managed Lustre when it is generated:

        https://cloud.google.com/storage/docs/projects#service-agents
        https://docs.cloud.google.com/service-usage/docs/service-agents#create-service-agent
        """
        if use == "buckets":
            agent = get_project_service_account_output(project=args["project"], opts=InvokeOutputOptions(parent=self)).email_address
        elif use == "filesystem":
            identity = ServiceIdentity(
                child(name, "lustre-agent"), project=args["project"], service=LUSTRE_API, opts=ResourceOptions(parent=self)
            )
            agent = identity.email
        else:
            agent = Output.concat("service-", args["project_number"], f"@{AGENTS[use]}.iam.gserviceaccount.com")
        grant = CryptoKeyIAMMember(
            child(name, "key", use),
            crypto_key_id=key.id,
            role=USE_KEY,
            member=Output.concat("serviceAccount:", agent),
            opts=ResourceOptions(parent=self),
        )
        return Output.all(key.id, grant.id).apply(lambda ids: ids[0])

    def _bucket(self, name: str, plan: BucketPlan, args: GcpStorageArgs) -> Output[str]:
        """A hierarchical bucket has no versions; soft deletion covers both kinds (https://cloud.google.com/storage/docs/hns-overview)."""
        abort = BucketLifecycleRuleArgs(
            action=BucketLifecycleRuleActionArgs(type="AbortIncompleteMultipartUpload"),
            condition=BucketLifecycleRuleConditionArgs(age=plan.abort_upload_days),
        )
        return Bucket(
            child(name, plan.key),
            project=args["project"],
            location=args["region"],
            uniform_bucket_level_access=True,
            public_access_prevention="enforced",
            encryption=BucketEncryptionArgs(default_kms_key_name=self.key_for["buckets"]),
            versioning=None if plan.hierarchical else BucketVersioningArgs(enabled=plan.versioned),
            hierarchical_namespace=BucketHierarchicalNamespaceArgs(enabled=True) if plan.hierarchical else None,
            soft_delete_policy=BucketSoftDeletePolicyArgs(retention_duration_seconds=UNDELETE_S),
            lifecycle_rules=[abort],
            labels=gcp_labels(part(tuple[tuple[str, str], ...], args["tags"])),
            force_destroy=args["teardown"],
            deletion_policy=guard(args["teardown"]),
            opts=ResourceOptions(parent=self, protect=not args["teardown"]),
        ).name
