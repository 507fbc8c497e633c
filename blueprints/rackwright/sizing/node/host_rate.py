"""Rate at which a node feeds samples to its accelerators. Numbers in, numbers out: does not depend on the catalog or the spec.

Four parts can limit it: processors that decode samples, the disk or the network that they are read from, and the link to the accelerators.
"""

import math
from dataclasses import dataclass
from enum import StrEnum

from rackwright.sizing.node.formulas import NODE_ASSUMPTIONS, NodeAssumptions


class HostTerm(StrEnum):
    """The part of a node that limits its accelerators."""

    PROCESSORS = "processors"
    DISK = "disk"
    NETWORK = "network"
    LINK = "link to the accelerators"


@dataclass(frozen=True)
class SampleWork:
    """Work of one sample for its node. vcpu_s: seconds of one vCPU. read_bytes: from storage. copied_bytes: to the accelerator."""

    vcpu_s: float = 0.0
    read_bytes: float = 0.0
    copied_bytes: float = 0.0


@dataclass(frozen=True)
class NodeHost:
    """A node without its accelerators. Rates in bytes per second, None where not published.

    vcpus: of the node. accelerators: their number. storage_bytes_per_s: sustained rate at which it reads samples: `storage`, its disk or
    its network. link_bytes_per_s: between the host and one accelerator. worker_vcpus: of the processes of one accelerator.
    """

    vcpus: int | None
    accelerators: int
    storage_bytes_per_s: float | None = None
    storage: HostTerm = HostTerm.NETWORK
    link_bytes_per_s: float | None = None
    worker_vcpus: float = NODE_ASSUMPTIONS.worker_vcpus_per_accelerator


@dataclass(frozen=True)
class HostRate:
    """Samples per second that a node feeds, and what limits it; no term where its accelerators are the limit."""

    samples_per_s: float
    term: HostTerm | None = None


def decoding(sample_bytes: float, trains: bool = True, b: NodeAssumptions = NODE_ASSUMPTIONS) -> SampleWork:
    """Work of one compressed image: read, decoded and in training augmented by processors, copied to the accelerator."""
    rate = b.decode_bytes_per_s if trains else b.inference_decode_bytes_per_s
    return SampleWork(sample_bytes / rate, sample_bytes, sample_bytes * b.decoded_per_byte)


def host_rate(host: NodeHost, sample: SampleWork, wanted_per_s: float, b: NodeAssumptions = NODE_ASSUMPTIONS) -> HostRate:
    """The lower one of what the accelerators of a node take and what its host feeds.

    wanted_per_s: samples per second of the accelerators of the node when nothing else limits them. The processes that launch their kernels
    need vCPUs in proportion to the rate.
    """
    limits = {None: wanted_per_s}
    if able := processor_rate(host, sample, wanted_per_s, b):
        limits[HostTerm.PROCESSORS] = able
    if host.storage_bytes_per_s and sample.read_bytes:
        limits[host.storage] = host.storage_bytes_per_s / sample.read_bytes
    if host.link_bytes_per_s and sample.copied_bytes:
        limits[HostTerm.LINK] = host.link_bytes_per_s * host.accelerators / sample.copied_bytes
    term = min(limits, key=lambda term: limits[term])
    return HostRate(limits[term], term)


def processor_rate(host: NodeHost, sample: SampleWork, wanted_per_s: float, b: NodeAssumptions = NODE_ASSUMPTIONS) -> float | None:
    """Samples per second at which the vCPUs of the host are busy; None where they are not published or have no work for a sample."""
    if not (host.vcpus and sample.vcpu_s):
        return None
    each = sample.vcpu_s + host.worker_vcpus * host.accelerators / wanted_per_s
    return max(host.vcpus - b.system_vcpus, 0.5) / each


def needed_vcpus(host: NodeHost, sample: SampleWork, per_s: float, wanted_per_s: float, b: NodeAssumptions = NODE_ASSUMPTIONS) -> float:
    """Whole vCPUs with which `processor_rate` is at least `per_s`. wanted_per_s: as of `host_rate`."""
    share = min(per_s / wanted_per_s, 1.0) if wanted_per_s else 1.0
    return float(math.ceil(b.system_vcpus + host.worker_vcpus * host.accelerators * share + per_s * sample.vcpu_s - 1e-9))
