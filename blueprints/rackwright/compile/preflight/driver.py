"""How a pod that requests no GPU reaches the driver of its node, by cloud."""

from dataclasses import dataclass

from rackwright.clouds import GCP
from rackwright.compile.jobs.job_context import JobContext
from rackwright.compile.kubernetes.gcp.fabric import CONTAINER_NVIDIA, HOST_NVIDIA
from rackwright.compile.kubernetes.manifests import Body
from rackwright.stackplan.operators import GPU_OPERATOR


@dataclass(frozen=True)
class DriverAccess:
    """Parts of a pod. folders: folder of the node -> path in the container, read-only. programs: folder that precedes the image's PATH."""

    variables: dict[str, str]
    folders: dict[str, str]
    programs: str = ""
    runtime_class: str = ""

    @property
    def env(self) -> list[Body]:
        return [{"name": name, "value": value} for name, value in self.variables.items()]

    @property
    def volumes(self) -> list[Body]:
        return [{"name": f"driver-{number}", "hostPath": {"path": path}} for number, path in enumerate(self.folders)]

    @property
    def volume_mounts(self) -> list[Body]:
        return [{"name": f"driver-{number}", "mountPath": path, "readOnly": True} for number, path in enumerate(self.folders.values())]

    def command(self, words: list[str]) -> list[str]:
        """The command with the folder of programs. A variable of the pod would replace the image's PATH, which has its Python."""
        return ["sh", "-c", f'PATH={self.programs}:$PATH exec "$0" "$@"', *words] if self.programs else words


def driver_access(job: JobContext) -> DriverAccess:
    """Access of the nodes' cloud; elsewhere NVIDIA's container runtime."""
    return BY_CLOUD.get(job.stack.place.cloud, _runtime_access)(job)


def _host_folder_access(job: JobContext) -> DriverAccess:
    """Nodes of GKE have no container runtime of NVIDIA: the device plugin mounts this folder for pods that request GPUs
    (https://cloud.google.com/kubernetes-engine/docs/how-to/gpus)."""
    return DriverAccess({"LD_LIBRARY_PATH": f"{CONTAINER_NVIDIA}/lib64"}, {HOST_NVIDIA: CONTAINER_NVIDIA}, f"{CONTAINER_NVIDIA}/bin")


def _runtime_access(job: JobContext) -> DriverAccess:
    """NVIDIA's container runtime gives a privileged container the GPUs of the variable.

    The GPU operator injects devices by CDI, and creates the class for containers that name them in a variable
    (https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/cdi.html).
    """
    has_operator = GPU_OPERATOR in {*(release.name for release in job.stack.releases), *job.stack.installed}
    variables = {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "utility"}
    return DriverAccess(variables, {}, runtime_class="nvidia" if has_operator else "")


BY_CLOUD = {GCP.name: _host_folder_access}
