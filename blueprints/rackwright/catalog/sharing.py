"""Division of accelerators among replicas: MIG profiles, MPS and time-slicing."""

from dataclasses import dataclass
from typing import Literal

Strategy = Literal["mig", "mps", "time-slicing"]
RENAMED_GPU = "nvidia.com/gpu.shared"
"""Resource of NVIDIA's device plugin for a shared GPU, with `renameByDefault` (NVIDIA/k8s-device-plugin README, shared access to GPUs)."""
MAX_MPS_CLIENTS = 48
"""CUDA contexts of MPS clients per GPU (https://docs.nvidia.com/deploy/mps/when-to-use-mps.html, client-server connection limits)."""


@dataclass(frozen=True, slots=True)
class MigProfile:
    """A profile of NVIDIA's Multi-Instance GPU. Accelerators without a row cannot be divided by MIG.

    instances: GPU instances of the profile on one accelerator. fraction_of_sms, fraction_of_memory: of one instance, as in NVIDIA's table;
    memory bandwidth is divided like the memory.
    """

    accelerator: str
    profile: str
    instances: int
    fraction_of_sms: float
    fraction_of_memory: float
    notes: str
    source: str
    as_of: str


@dataclass(frozen=True, slots=True)
class Sharing:
    """Division of every accelerator of a machine into equal parts, one for each replica.

    parts: of one accelerator. compute_share, memory_share: of one part while all are busy. profile: of MIG.
    workloads: names of the workloads whose replicas use the machines, where there are several; max_nodes: machines at their maximum numbers
    of replicas, 0 for one workload.
    """

    strategy: Strategy
    parts: int
    compute_share: float
    memory_share: float
    profile: str = ""
    workloads: tuple[str, ...] = ()
    max_nodes: int = 0

    @property
    def key(self) -> tuple[str, int, str]:
        """What identifies the division of a machine."""
        return (self.strategy, self.parts, self.profile)

    @property
    def label(self) -> str:
        """`mig 1g.10gb`, `mps 2`."""
        return f"{self.strategy} {self.profile or self.parts}"


def equal_parts(strategy: Strategy, parts: int) -> Sharing:
    """MPS and time-slicing. The device plugin gives each of N clients of MPS 1/N of the memory and of the threads
    (NVIDIA/k8s-device-plugin README, with CUDA MPS); time-slicing gives each busy client the same time."""
    return Sharing(strategy, parts, 1 / parts, 1 / parts)


def mig_parts(profile: MigProfile) -> Sharing:
    """Every instance of one MIG profile that an accelerator has room for."""
    return Sharing("mig", profile.instances, profile.fraction_of_sms, profile.fraction_of_memory, profile.profile)
