"""Service account of the nodes, and bucket access of workloads, without key files."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

import pulumi
from pulumi import Input, Output, ResourceOptions
from pulumi_gcp.projects import IAMMember
from pulumi_gcp.serviceaccount import Account
from pulumi_gcp.storage import BucketIAMMember
from rackwright.stackplan import IdentityPlan

from rackwright_pulumi.args import Part, part
from rackwright_pulumi.check_args import check_args
from rackwright_pulumi.naming import child, physical

NODE_ROLES = {"node": "roles/container.defaultNodeServiceAccount", "registry": "roles/artifactregistry.reader"}
"""Minimum roles of a GKE node: https://cloud.google.com/kubernetes-engine/docs/how-to/hardening-your-cluster#use_least_privilege_sa"""
BUCKET_ROLES = {"read": "roles/storage.objectViewer", "write": "roles/storage.objectUser"}
ACCOUNT_ID_LENGTH = 30
"""Characters of a service account id: https://cloud.google.com/iam/docs/service-accounts-create"""


class GcpNodeIdentityArgs(TypedDict):
    project: Input[str]


class GcpNodeIdentity(pulumi.ComponentResource):
    """Service account of the nodes, with access to logs, metrics and images only."""

    email: Output[str]

    def __init__(self, name: str, args: GcpNodeIdentityArgs, opts: ResourceOptions | None = None):
        check_args(GcpNodeIdentityArgs, args)
        super().__init__("rackwright:index:GcpNodeIdentity", name, None, opts)
        account = Account(
            child(name, "nodes"),
            project=args["project"],
            account_id=physical(child(name, "nodes"), ACCOUNT_ID_LENGTH),
            display_name=f"Nodes of {name}",
            opts=ResourceOptions(parent=self, delete_before_replace=True),
        )
        grants = [
            IAMMember(
                child(name, "nodes", key),
                project=args["project"],
                role=role,
                member=Output.concat("serviceAccount:", account.email),
                opts=ResourceOptions(parent=self),
            )
            for key, role in NODE_ROLES.items()
        ]
        self.email = Output.all(account.email, *[grant.id for grant in grants]).apply(lambda values: values[0])
        self.register_outputs({"email": self.email})


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
        for plan in identities:
            for grant in plan.grants:
                BucketIAMMember(
                    child(name, plan.key, grant.bucket, grant.access),
                    bucket=args["bucket_names"][grant.bucket],
                    role=BUCKET_ROLES[grant.access],
                    member=self.principals[plan.key],
                    opts=ResourceOptions(parent=self),
                )
        self.register_outputs({"principals": dict(self.principals)})
