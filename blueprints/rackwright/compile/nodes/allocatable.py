"""What a node has left for jobs: without the kubelet's reserves, huge pages, and the daemons that run on every node."""

import math

from rackwright.catalog.rows import Machine
from rackwright.clouds import CloudProfile, profile
from rackwright.stackplan import PoolPlan
from rackwright.stackplan.labels import EFA_NODE_HUGE_PAGES, HUGE_PAGE_MIB
from rackwright.units import GIB, MIB

CPU_RESERVES = ((1, 0.06), (1, 0.01), (2, 0.005), (math.inf, 0.0025))
"""(CPUs, share that the kubelet reserves of them), in order, on EKS and GKE (awslabs/amazon-eks-ami, nodeadm defaults of the kubelet;
cloud.google.com/kubernetes-engine/docs/concepts/plan-node-sizes)."""
FIRMWARE_SHARE = 0.075
"""Part of the published memory that the machine does not report to Linux, at most: Karpenter's default of VM_MEMORY_OVERHEAD_PERCENT
(karpenter.sh/docs/reference/settings)."""
DAEMON_CPUS, DAEMON_BYTES = 0.5, 600 * MIB
"""For the pods of daemons, which together request less: network, proxy, disks, logs, metrics, devices (values of the pinned charts and of
the EKS add-ons)."""


def cpus_for_jobs(machine: Machine) -> int:
    """Whole CPUs of a node for jobs."""
    return cpus_left(machine.vcpus or 0)


def cpus_left(vcpus: float) -> int:
    """Whole CPUs for jobs, of a node with `vcpus`."""
    return max(0, math.floor(vcpus - _reserved(vcpus, CPU_RESERVES) - DAEMON_CPUS))


def memory_gib_for_jobs(machine: Machine, pool: PoolPlan, cloud: str) -> int:
    """Whole GiB of a node's ordinary memory for jobs."""
    pages = EFA_NODE_HUGE_PAGES * HUGE_PAGE_MIB * MIB if pool.nics else 0
    return memory_gib_left(machine.memory_bytes or 0, cloud, pool.max_pods or 0, pages)


def memory_gib_left(memory_bytes: float, cloud: str, pods: int = 0, pages_bytes: float = 0) -> int:
    """Whole GiB for jobs, of a node with `memory_bytes`. pods: its limit. pages_bytes: of huge pages."""
    reported = memory_bytes * (1 - FIRMWARE_SHARE)
    left = reported - _reserved_bytes(profile(cloud), reported, pods) - pages_bytes - DAEMON_BYTES
    return max(0, math.floor(left / GIB))


def _reserved_bytes(cloud: CloudProfile, memory_bytes: float, pods: int) -> float:
    """Memory that the kubelet reserves, with its threshold for evictions."""
    fixed_mib, pod_mib = cloud.reserved_memory_mib
    return _reserved(memory_bytes / GIB, cloud.reserved_memory_shares) * GIB + (fixed_mib + pod_mib * pods) * MIB


def _reserved(amount: float, bands: tuple[tuple[float, float], ...]) -> float:
    """Sum over the bands: the part of `amount` in each, times its share."""
    total = 0.0
    for width, share in bands:
        part = min(amount, width)
        total, amount = total + part * share, amount - part
    return total
