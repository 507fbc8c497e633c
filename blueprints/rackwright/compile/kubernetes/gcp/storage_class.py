"""Storage classes of a GKE cluster."""

from collections.abc import Sequence

from rackwright.clouds import GCP
from rackwright.compile.kubernetes.manifests import storage_class
from rackwright.stackplan import DiskPlan, ManifestPlan, PoolPlan, ref

BALANCED = DiskPlan.kind
"""Kind of disk of every system machine."""


def storage_classes(stack: str, pools: Sequence[PoolPlan]) -> tuple[ManifestPlan, ...]:
    """The class of balanced disks first, then that of Hyperdisk where an accelerator machine supports no other disks.

    The default is the class that accelerator machines support. GKE's own default class, standard-rwo, has no key; of several default
    classes Kubernetes uses the newest: https://kubernetes.io/docs/concepts/storage/storage-classes/#default-storageclass
    """
    default = next((pool.disk.kind for pool in pools if pool.role == "accelerator"), BALANCED)
    return tuple(_class(stack, kind, kind == default) for kind in dict.fromkeys((BALANCED, default)))


def _class(stack: str, kind: str, default: bool) -> ManifestPlan:
    """Disks under the stack's key, with the stack's label.

    https://cloud.google.com/kubernetes-engine/docs/how-to/using-cmek
    https://github.com/kubernetes-sigs/gcp-compute-persistent-disk-csi-driver/blob/master/README.md
    """
    volume = GCP.disk_volumes[kind]
    parameters = {"type": volume, "disk-encryption-kms-key": ref("key.id"), "labels": f"rackwright-stack={stack}"}
    return storage_class(f"storage-class.{volume}", f"{stack}-{volume}", "pd.csi.storage.gke.io", parameters, default)
