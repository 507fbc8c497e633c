"""IAM and KMS policy statements. Every statement has a resource, or the service that may use it."""

import json
from collections.abc import Sequence
from typing import Any

from pulumi import Input, Output

Statement = dict[str, Any]


def document(*statements: Statement) -> Output[str]:
    """A policy document; statements may hold Outputs."""
    return Output.json_dumps({"Version": "2012-10-17", "Statement": list(statements)})


def allow(actions: Sequence[str], resources: Any = "*", **more: Any) -> Statement:
    """`more`: Principal, Condition, Sid."""
    return {"Effect": "Allow", "Action": list(actions), "Resource": resources, **more}


def service_trust(service: str) -> str:
    """Trust policy for one AWS service."""
    statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def account_service_trust(service: str, account: Input[str]) -> Output[str]:
    """Trust policy for one AWS service on behalf of one account only.

    https://docs.aws.amazon.com/eks/latest/userguide/cross-service-confused-deputy-prevention.html
    https://docs.aws.amazon.com/vpc/latest/userguide/flow-logs-iam-role.html
    """
    own = {"StringEquals": {"aws:SourceAccount": account}}
    return document({"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole", "Condition": own})


def pod_trust(cluster_arn: Input[str], account: Input[str]) -> Output[str]:
    """Trust policy for pods of one cluster through EKS Pod Identity.

    https://docs.aws.amazon.com/eks/latest/userguide/pod-id-role.html
    """
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": "pods.eks.amazonaws.com"},
        "Action": ["sts:AssumeRole", "sts:TagSession"],
        "Condition": {"StringEquals": {"aws:SourceAccount": account}, "ArnEquals": {"aws:SourceArn": cluster_arn}},
    }
    return document(statement)


def bucket_access(bucket_arn: Input[str], prefix: str, write: bool) -> list[Statement]:
    """List and read below `prefix`; `write` adds uploads, but no deletion."""
    below = f"{prefix}/*" if prefix else "*"
    actions = ["s3:GetObject"] + (["s3:PutObject", "s3:AbortMultipartUpload"] if write else [])
    condition = {"StringLike": {"s3:prefix": [below, prefix]}} if prefix else {}
    listing = allow(["s3:ListBucket"], bucket_arn, **({"Condition": condition} if condition else {}))
    return [listing, allow(actions, Output.concat(bucket_arn, "/", below))]


def key_access(key_arn: Input[str], service: str, region: str) -> Statement:
    """Use of one key through one service only."""
    via = {"StringEquals": {"kms:ViaService": f"{service}.{region}.amazonaws.com"}}
    return allow(["kms:Decrypt", "kms:GenerateDataKey"], key_arn, Condition=via)


def tls_only(bucket_arn: Input[str]) -> Output[str]:
    """A bucket policy that denies requests without TLS."""
    deny = {
        "Sid": "TlsOnly",
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:*",
        "Resource": [bucket_arn, Output.concat(bucket_arn, "/*")],
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    return document(deny)
