"""Service account of the nodes, and bucket access of workloads, without key files."""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

import pulumi
from pulumi import Input, Output, ResourceOptions
from pulumi_gcp.projects import IAMMember
from pulumi_gcp.serviceaccount import Account
from pulumi_gcp.serviceaccount import IAMMember as ServiceAccountMember
from pulumi_gcp.storage import BucketIAMMember
from rackwright.stackplan import IdentityPlan

from rackwright_pulumi.args import Part, part
from rackwright_pulumi.check_args import check_args
from rackwright_pulumi.naming import child, physical
from rackwright_pulumi.upstream import StackReferences

NODE_ROLES = {"node": "roles/container.defaultNodeServiceAccount", "registry": "roles/artifactregistry.reader"}
"""Minimum roles of a GKE node: https://cloud.google.com/kubernetes-engine/docs/how-to/hardening-your-cluster#use_least_privilege_sa"""
BUCKET_ROLES = {"read": "roles/storage.objectViewer", "write": "roles/storage.objectUser"}
ACCOUNT_ID_LENGTH = 30
"""Characters of a service account id: https://cloud.google.com/iam/docs/service-accounts-create"""


class GcpNodeIdentityArgs(TypedDict):
    """existing_email: of a service account in place of a new one; its roles stay as they are."""

    project: Input[str]
    existing_email: NotRequired[Input[str]]


class GcpNodeIdentity(pulumi.ComponentResource):
    """Service account of the nodes, with access to logs, metrics and images only."""

    email: Output[str]

    def __init__(self, name: str, args: GcpNodeIdentityArgs, opts: ResourceOptions | None = None):
        check_args(GcpNodeIdentityArgs, args)
        super().__init__("rackwright:index:GcpNodeIdentity", name, None, opts)
        existing = args.get("existing_email")
        self.email = self._account(name, args["project"]) if existing is None else Output.from_input(existing)
        self.register_outputs({"email": self.email})

    def _account(self, name: str, project: Input[str]) -> Output[str]:
        """The email address, known after its roles are granted."""
        account = Account(
            child(name, "nodes"),
            project=project,
            account_id=physical(child(name, "nodes"), ACCOUNT_ID_LENGTH),
            display_name=f"Nodes of {name}",
            opts=ResourceOptions(parent=self, delete_before_replace=True),
        )
        grants = [
            IAMMember(
                child(name, "nodes", key),
                project=project,
                role=role,
                member=Output.concat("serviceAccount:", account.email),
                opts=ResourceOptions(parent=self),
            )
            for key, role in NODE_ROLES.items()
        ]
        return Output.all(account.email, *[grant.id for grant in grants]).apply(lambda values: values[0])


class GcpWorkloadIdentityArgs(TypedDict):
    """identities: tuple of IdentityPlan. workload_pool: output of the cluster. bucket_names: by bucket key."""

    identities: Part[Sequence[IdentityPlan]]
    project_number: Input[str]
    workload_pool: Input[str]
    bucket_names: Mapping[str, Input[str]]


class GcpWorkloadIdentity(pulumi.ComponentResource):
    """Bucket access of Kubernetes service accounts as IAM principals, without impersonation of a Google service account.

    https://cloud.google.com/kubernetes-engine/docs/how-to/workload-identity
    """

    principals: Mapping[str, Output[str]]
    """By key of the IdentityPlan."""
    accounts: Mapping[str, Output[str]]
    """Email addresses of existing service accounts, by key of the IdentityPlan that has one."""

    def __init__(self, name: str, args: GcpWorkloadIdentityArgs, opts: ResourceOptions | None = None):
        check_args(GcpWorkloadIdentityArgs, args)
        super().__init__("rackwright:index:GcpWorkloadIdentity", name, None, opts)
        identities = part(tuple[IdentityPlan, ...], args["identities"])
        pool = "principal://iam.googleapis.com/projects/{0}/locations/global/workloadIdentityPools/{1}"
        self.principals = {
            plan.key: Output.format(
                pool + "/subject/ns/{2}/sa/{3}", args["project_number"], args["workload_pool"], plan.namespace, plan.service_account
            )
            for plan in identities
        }
        self.accounts = {plan.key: self._act_as(name, plan, args) for plan in identities if plan.existing_arn}
        for plan in (plan for plan in identities if not plan.existing_arn):
            for grant in plan.grants:
                BucketIAMMember(
                    child(name, plan.key, grant.bucket, grant.access),
                    bucket=args["bucket_names"][grant.bucket],
                    role=BUCKET_ROLES[grant.access],
                    member=self.principals[plan.key],
                    opts=ResourceOptions(parent=self),
                )
        self.register_outputs({"principals": dict(self.principals)})

    def _act_as(self, name: str, plan: IdentityPlan, args: GcpWorkloadIdentityArgs) -> Output[str]:
        """The existing service account of a workload, known after its pods may act as it; its own permissions stay as they are."""
        email = Output.from_input(StackReferences(self, child(name, plan.key)).value(plan.existing_arn))
        grant = ServiceAccountMember(
            child(name, plan.key, "act-as"),
            service_account_id=Output.concat("projects/-/serviceAccounts/", email),
            role="roles/iam.workloadIdentityUser",
            member=Output.format("serviceAccount:{0}[{1}/{2}]", args["workload_pool"], plan.namespace, plan.service_account),
            opts=ResourceOptions(parent=self),
        )
        return Output.all(email, grant.id).apply(lambda values: values[0])
