"""What a pod on GKE needs to use the fabric of its node, besides variables: interfaces, the node's libraries, a receive daemon.

Source: GoogleCloudPlatform/container-engine-accelerators@992db812 (gpudirect-tcpx/nccl-test-latest.yaml, gpudirect-tcpxo/best-practice.md,
gpudirect-rdma/nccl-test-managed-rdma.yaml; 2026-06-09).
"""

import json
from dataclasses import dataclass
from typing import Any

from rackwright.catalog.rows import Fabric
from rackwright.compile.jobs.job_context import JobContext
from rackwright.compile.kubernetes.gcp.fabric import CONTAINER_NVIDIA, DAEMON_CAPABILITIES, NODE_FOLDERS, daemon_devices
from rackwright.compile.kubernetes.manifests import SOURCED, Body
from rackwright.compile.operators.versions import FABRIC_IMAGES
from rackwright.stackplan.labels import DEFAULT_INTERFACE_ANNOTATION, INTERFACES_ANNOTATION

DEFAULT_INTERFACE = "eth0"
ROCE_MOUNTS = {"nvidia": CONTAINER_NVIDIA, "gib": "/usr/local/gib"}
"""Volume -> where containers have the folder with the driver, and the one with NCCL's RDMA plugin."""
ROCE_SCRIPT = "/usr/local/gib/scripts/set_nccl_env.sh"
LIBRARIES = {"name": "LD_LIBRARY_PATH", "value": f"{CONTAINER_NVIDIA}/lib64"}
DAEMON_CPUS, DAEMON_MEMORY_GIB = 1, 1
"""Requests of the receive daemon, which the container of the job leaves to it. The published examples request nothing."""
HEALTH_FILE = "/run/health-check"
"""Written by the receive daemon of TCPXO after its start, about 30 s; the name must not have an underscore."""


@dataclass(frozen=True)
class FabricPod:
    """Parts of a pod. folders: volume -> folder of the node; mounts: volume -> path in the container of the job.

    sidecars: init containers that run as long as the job. script: of the node, whose variables the command needs. locks_memory: whether
    the container registers memory with the NICs.
    """

    annotations: dict[str, str]
    folders: dict[str, str]
    mounts: dict[str, str]
    sockets: str = ""
    """Folder of sockets that sidecar and job share; empty without one."""
    sidecars: tuple[Body, ...] = ()
    script: str = ""
    locks_memory: bool = False

    @property
    def reserved(self) -> tuple[int, int]:
        """CPUs and GiB of memory of the sidecars."""
        count = len(self.sidecars)
        return DAEMON_CPUS * count, DAEMON_MEMORY_GIB * count

    @property
    def volumes(self) -> list[Body]:
        folders: list[dict[str, Any]] = [{"name": name, "hostPath": {"path": path}} for name, path in self.folders.items()]
        return [*folders, *([{"name": "sockets", "emptyDir": {}}] if self.sockets else [])]

    @property
    def volume_mounts(self) -> list[Body]:
        """Driver and plugin are read-only: other pods of the node use them too."""
        shared = [mount | {"readOnly": True} if mount["name"] in ("nvidia", "gib") else mount for mount in _mounts(self.mounts)]
        return [*shared, *_mounts({"sockets": self.sockets} if self.sockets else {})]

    def command(self, words: list[str]) -> list[str]:
        """The command with the variables of the script; it needs bash in the image."""
        return ["/bin/bash", "-c", SOURCED.format(self.script), *words] if self.script else words


NOTHING = FabricPod({}, {}, {})


def fabric_pod(job: JobContext) -> FabricPod:
    """Parts for the fabric of the job's pool; NOTHING for one machine, and where the fabric needs no such parts."""
    networks = job.stack.network.accelerator_networks
    if job.fit.candidate.is_spread and networks:
        return (_tcpx if job.pool.fabric == Fabric.TCPX else _tcpxo)(job)
    if job.fit.candidate.is_spread and job.pool.devices == "dra" and job.pool.fabric == Fabric.ROCE:
        return FabricPod({}, NODE_FOLDERS[Fabric.ROCE], ROCE_MOUNTS, script=ROCE_SCRIPT, locks_memory=True)
    return NOTHING


def _tcpx(job: JobContext) -> FabricPod:
    command = ["/tcpgpudmarxd/build/app/tcpgpudmarxd", "--gpu_nic_preset", "a3vm", "--gpu_shmem_type", "fd", "--uds_path", "/run/tcpx"]
    sidecar = _daemon(Fabric.TCPX, [*command, "--setup_param", "--verbose 128 2 0 "], {"sockets": "/run/tcpx"})
    return FabricPod(
        _interfaces(job) | daemon_devices(Fabric.TCPX, job.pool.accelerator_count),
        NODE_FOLDERS[Fabric.TCPX],
        {"nvidia": CONTAINER_NVIDIA},
        sockets="/run/tcpx",
        sidecars=(sidecar,),
        locks_memory=True,
    )


def _tcpxo(job: JobContext) -> FabricPod:
    start = f"chmod 755 /fts/entrypoint_rxdm_container.sh && exec /fts/entrypoint_rxdm_container.sh --num_hops=2 --num_nics={_count(job)}"
    probe = {"exec": {"command": ["cat", HEALTH_FILE]}, "initialDelaySeconds": 1, "periodSeconds": 5, "failureThreshold": 24}
    sidecar = _daemon(Fabric.TCPXO, ["/bin/sh", "-ec", start], {}, {"HEALTH_CHECK_LOG_FILE": HEALTH_FILE}) | {"startupProbe": probe}
    return FabricPod(
        _interfaces(job) | daemon_devices(Fabric.TCPXO, job.pool.accelerator_count),
        NODE_FOLDERS[Fabric.TCPXO],
        {"nvidia": CONTAINER_NVIDIA, "aperture-devices": "/dev/aperture_devices"},
        sidecars=(sidecar,),
        script=f"{CONTAINER_NVIDIA}/lib64/nccl-env-profile.sh",
    )


def _daemon(fabric: Fabric, command: list[str], mounts: dict[str, str], variables: dict[str, str] | None = None) -> Body:
    """The receive daemon, which ends with the job because it is an init container that restarts always."""
    values = [LIBRARIES, *({"name": name, "value": value} for name, value in (variables or {}).items())]
    return {
        "name": f"{fabric}-daemon",
        "image": FABRIC_IMAGES[f"{fabric}-daemon"],
        "restartPolicy": "Always",
        "command": command,
        "resources": {"requests": {"cpu": str(DAEMON_CPUS), "memory": f"{DAEMON_MEMORY_GIB}Gi"}},
        "env": values,
        "securityContext": {"capabilities": {"add": [*DAEMON_CAPABILITIES[fabric]]}},
        "volumeMounts": _mounts({"nvidia": CONTAINER_NVIDIA, "sys": "/hostsysfs", "proc-sys": "/hostprocsysfs"} | mounts),
    }


def _interfaces(job: JobContext) -> dict[str, str]:
    """Annotations that give a pod the default interface and one in each accelerator network, from eth1 on."""
    names = ["default", *(network.name for network in job.stack.network.accelerator_networks)]
    listed = [{"interfaceName": f"eth{number}", "network": name} for number, name in enumerate(names)]
    return {DEFAULT_INTERFACE_ANNOTATION: DEFAULT_INTERFACE, INTERFACES_ANNOTATION: json.dumps(listed)}


def _count(job: JobContext) -> int:
    return len(job.stack.network.accelerator_networks)


def _mounts(paths: dict[str, str]) -> list[Body]:
    return [{"name": name, "mountPath": path} for name, path in paths.items()]
