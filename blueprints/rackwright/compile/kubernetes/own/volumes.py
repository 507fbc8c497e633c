"""Volumes of own storage: NFS, file systems that nodes mount, and classes of CSI drivers."""

import math
from collections.abc import Iterator

from rackwright.compile.compile_context import CompileContext
from rackwright.compile.kubernetes.manifests import obj, static_volume
from rackwright.spec.inventory import CsiStorage, NfsStorage, StorageEntry
from rackwright.stackplan import ManifestPlan
from rackwright.units import GIB

MIN_CLAIM_GIB = 1


def storage_of(context: CompileContext) -> tuple[StorageEntry, ...]:
    """Storage of the place's inventory."""
    inventory = context.place.inventory
    return () if inventory is None or isinstance(inventory, str) else inventory.storage


def default_class(context: CompileContext) -> str:
    """Storage class of the operators' disks: the default one of the inventory, else its first; empty without any."""
    classes = [each for each in storage_of(context) if isinstance(each, CsiStorage)]
    return next((each.storage_class for each in sorted(classes, key=lambda each: not each.default)), "")


def volume_objects(context: CompileContext) -> Iterator[ManifestPlan]:
    """A claim for each shared storage, with the storage's name, for all jobs of the namespace.

    The size of NFS and mounted file systems is required but not used. Claims of a storage class have the size that the plan needs.
    """
    size = f"{max(MIN_CLAIM_GIB, math.ceil(context.sizing.storage.capacity_bytes / GIB))}Gi"
    for entry in storage_of(context):
        key = f"storage.{entry.name}"
        if isinstance(entry, CsiStorage):
            if entry.shared:
                spec = {
                    "accessModes": ["ReadWriteMany"],
                    "storageClassName": entry.storage_class,
                    "resources": {"requests": {"storage": size}},
                }
                yield ManifestPlan(f"{key}.claim", obj("v1", "PersistentVolumeClaim", entry.name, context.namespace, spec), data=True)
            continue
        nfs = isinstance(entry, NfsStorage)
        source = {"nfs": {"server": entry.server, "path": entry.path}} if nfs else {"hostPath": {"path": entry.path, "type": "Directory"}}
        options = ["nconnect=16", "noatime"] if nfs else []
        name = f"{context.spec.name}-{entry.name}"
        volume, claim = static_volume(name, entry.name, context.namespace, size, "ReadWriteMany", options, source)
        yield ManifestPlan(f"{key}.volume", volume, data=True)
        yield ManifestPlan(f"{key}.claim", claim, (f"{key}.volume",), data=True)
