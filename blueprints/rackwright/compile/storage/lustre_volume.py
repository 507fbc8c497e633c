"""Storage as Kubernetes sees it: a static volume on the Lustre file system."""

from rackwright.compile.kubernetes.manifests import obj
from rackwright.stackplan import LustrePlan, ManifestPlan, ref

CLAIM = "lustre"


def lustre_volume(plan: LustrePlan, name: str, namespace: str) -> tuple[ManifestPlan, ...]:
    """A volume and the claim bound to it, both by name; deleting the claim keeps the data."""
    size = {"storage": f"{plan.capacity_gib}Gi"}
    volume = {
        "capacity": size,
        "accessModes": ["ReadWriteMany"],
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": "",
        "volumeMode": "Filesystem",
        "mountOptions": ["flock", "noatime"],
        "claimRef": {"name": CLAIM, "namespace": namespace},
        "csi": {
            "driver": "fsx.csi.aws.com",
            "volumeHandle": ref("lustre.id"),
            "volumeAttributes": {"dnsname": ref("lustre.dns_name"), "mountname": ref("lustre.mount_name")},
        },
    }
    claim = {"accessModes": ["ReadWriteMany"], "storageClassName": "", "volumeName": name, "resources": {"requests": size}}
    return (
        ManifestPlan("storage.lustre.volume", obj("v1", "PersistentVolume", name, spec=volume), data=True),
        ManifestPlan(
            "storage.lustre.claim", obj("v1", "PersistentVolumeClaim", CLAIM, namespace, claim), ("storage.lustre.volume",), data=True
        ),
    )
