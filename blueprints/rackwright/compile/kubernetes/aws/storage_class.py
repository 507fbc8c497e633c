"""Default storage class of a new EKS cluster."""

from rackwright.compile.kubernetes.manifests import storage_class
from rackwright.stackplan import ManifestPlan, ref


def default_storage_class(stack: str) -> ManifestPlan:
    """gp3 volumes under the stack's key, with the stack's tag.

    EKS has no default class since Kubernetes 1.30: https://docs.aws.amazon.com/eks/latest/userguide/kubernetes-versions-standard.html
    Parameters: https://github.com/kubernetes-sigs/aws-ebs-csi-driver/blob/master/docs/parameters.md
    """
    parameters = {"type": "gp3", "encrypted": "true", "kmsKeyId": ref("key.arn"), "tagSpecification_1": f"rackwright-stack={stack}"}
    return storage_class("default-storage-class", f"{stack}-gp3", "ebs.csi.aws.com", parameters)
