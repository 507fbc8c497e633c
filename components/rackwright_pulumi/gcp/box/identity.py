"""Service account of a box, its roles, its access to buckets, and the secrets that it may read."""

from collections.abc import Mapping
from typing import NotRequired, TypedDict

import pulumi
from pulumi import Input, Output, ResourceOptions
from pulumi_gcp.projects import IAMMember
from pulumi_gcp.secretmanager import (
    Secret,
    SecretIamMember,
    SecretReplicationArgs,
    SecretReplicationUserManagedArgs,
    SecretReplicationUserManagedReplicaArgs,
    SecretVersion,
)
from pulumi_gcp.serviceaccount import Account
from pulumi_gcp.storage import BucketIAMMember
from rackwright.stackplan import IdentityPlan

from rackwright_pulumi.args import Part, part
from rackwright_pulumi.check_args import check_args
from rackwright_pulumi.gcp.identity import ACCOUNT_ID_LENGTH, BUCKET_ROLES
from rackwright_pulumi.naming import child, physical

MACHINE_ROLES = {"logs": "roles/logging.logWriter", "metrics": "roles/monitoring.metricWriter", "images": "roles/artifactregistry.reader"}
"""https://docs.cloud.google.com/compute/docs/access/service-accounts#service_account_permissions"""
READ_SECRET = "roles/secretmanager.secretAccessor"


class GcpBoxIdentityArgs(TypedDict):
    """identity: IdentityPlan. bucket_names: by bucket key. secrets: values that the machine may read, by name."""

    identity: Part[IdentityPlan]
    project: Input[str]
    region: str
    bucket_names: Mapping[str, Input[str]]
    secrets: NotRequired[Mapping[str, Input[str]]]


class GcpBoxIdentity(pulumi.ComponentResource):
    """Service account that writes logs and metrics, reads images, and reaches the granted buckets and the secrets of the stack."""

    email: Output[str]

    def __init__(self, name: str, args: GcpBoxIdentityArgs, opts: ResourceOptions | None = None):
        check_args(GcpBoxIdentityArgs, args)
        super().__init__("rackwright:index:GcpBoxIdentity", name, None, opts)
        account_id, child_of = physical(name, ACCOUNT_ID_LENGTH), ResourceOptions(parent=self)
        account = Account(
            child(name, "account"),
            project=args["project"],
            account_id=account_id,
            display_name=f"Machine of {name}",
            opts=ResourceOptions(parent=self, delete_before_replace=True),
        )
        member = Output.concat("serviceAccount:", account.email)
        roles = [
            IAMMember(child(name, key), project=args["project"], role=role, member=member, opts=child_of)
            for key, role in MACHINE_ROLES.items()
        ]
        buckets = [
            BucketIAMMember(
                child(name, grant.bucket, grant.access),
                bucket=args["bucket_names"][grant.bucket],
                role=BUCKET_ROLES[grant.access],
                member=member,
                opts=child_of,
            )
            for grant in part(IdentityPlan, args["identity"]).grants
        ]
        secrets = [self._secret(name, key, value, member, args) for key, value in args.get("secrets", {}).items()]
        granted = [grant.id for grant in (*roles, *buckets, *secrets)]
        self.email = Output.all(account.email, *granted).apply(lambda values: values[0])
        self.register_outputs({"email": self.email})

    def _secret(self, name: str, key: str, value: Input[str], member: Output[str], args: GcpBoxIdentityArgs) -> SecretIamMember:
        """A secret in the region of the stack. On the machine: `gcloud secrets versions access latest --secret <stack>-<name>`."""
        stack = name.removesuffix("-identity")
        region = SecretReplicationUserManagedReplicaArgs(location=args["region"])
        secret = Secret(
            child(name, "secret", key),
            project=args["project"],
            secret_id=f"{stack}-{key}",
            replication=SecretReplicationArgs(user_managed=SecretReplicationUserManagedArgs(replicas=[region])),
            opts=ResourceOptions(parent=self, delete_before_replace=True),
        )
        SecretVersion(child(name, "secret", key), secret=secret.id, secret_data=Output.secret(value), opts=ResourceOptions(parent=self))
        return SecretIamMember(
            child(name, "secret", key),
            project=args["project"],
            secret_id=secret.secret_id,
            role=READ_SECRET,
            member=member,
            opts=ResourceOptions(parent=self),
        )
