"""Default storage class of a new EKS cluster."""

from rackwright.compile.kubernetes.manifests import obj
from rackwright.stackplan import ManifestPlan, ref

DEFAULT_CLASS = "default-storage-class"
"""Key of the manifest, which an existing cluster does not get."""


def default_storage_class(stack: str) -> ManifestPlan:
    """gp3 volumes under the stack's key, in the zone of their pod, with the stack's tag.

    EKS has no default class since Kubernetes 1.30: https://docs.aws.amazon.com/eks/latest/userguide/kubernetes-versions-standard.html
    Parameters: https://github.com/kubernetes-sigs/aws-ebs-csi-driver/blob/master/docs/parameters.md
    """
    body = obj(
        "storage.k8s.io/v1",
        "StorageClass",
        f"{stack}-gp3",
        annotations={"storageclass.kubernetes.io/is-default-class": "true"},
        provisioner="ebs.csi.aws.com",
        parameters={"type": "gp3", "encrypted": "true", "kmsKeyId": ref("key.arn"), "tagSpecification_1": f"rackwright-stack={stack}"},
        volumeBindingMode="WaitForFirstConsumer",
        allowVolumeExpansion=True,
        reclaimPolicy="Delete",
    )
    return ManifestPlan(DEFAULT_CLASS, body)
