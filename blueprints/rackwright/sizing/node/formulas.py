"""Host memory, CPUs, disks, network and file system of a node. Numbers in, numbers out: does not depend on the catalog or the spec.

All values are per node; callers divide rates of the run by its number of nodes.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from rackwright.sizing.assumptions import OWN, assumed
from rackwright.sizing.node.requirements import FileSystem
from rackwright.sizing.note import Note, NoteKind
from rackwright.units import TIB


@dataclass(frozen=True)
class NodeAssumptions:
    """Assumptions about the host side of a node."""

    worker_vcpus_per_accelerator: float = assumed(
        2, "vCPU per accelerator", f"{OWN}: one process that launches kernels, one that pins batches"
    )
    system_vcpus: float = assumed(1, "vCPU per node", f"{OWN}: operating system, agents")
    server_cores: float = assumed(2, "cores per node, and one per accelerator", "vLLM optimization guide: 2 + N physical cores for N GPUs")
    decode_bytes_per_s: float = assumed(
        10e6, "bytes of JPEG per second and vCPU", f"{OWN}: decode, crop, resize; some 90 ImageNet files of 110 kB a second"
    )
    inference_decode_bytes_per_s: float = assumed(
        20e6, "bytes of JPEG per second and vCPU", f"{OWN}: decode and resize without augmentation, twice the rate of training"
    )
    inference_worker_vcpus: float = assumed(1, "vCPU per accelerator of a batch", f"{OWN}: one process that launches kernels")
    encode_s: float = assumed(0.1, "vCPU-seconds per image answered", f"{OWN}: encode 1 megapixel, safety checks left out")
    tokens_per_s: float = assumed(0.5e6, "tokens per second and vCPU", f"{OWN}: text to token ids, fast tokenizers")
    vision_bytes: float = assumed(110e3, "bytes per image", "ImageNet-1k: 138 GB of JPEG, 1.28 million images")
    diffusion_bytes: float = assumed(1e6, "bytes per image", f"{OWN}: a JPEG of one megapixel")
    prefetched: float = assumed(512, "samples held decoded per accelerator", f"{OWN}: 8 workers, 2 batches of 32 each")
    decoded_per_byte: float = assumed(10, "bytes decoded per byte of JPEG", f"{OWN}: 3 bytes a pixel, 0.3 bytes a pixel on disk")
    image_bytes: float = assumed(30e9, "bytes of containers per node", f"{OWN}: CUDA, framework, their layers unpacked")
    checkpoints_on_disk: float = assumed(2, "checkpoints on local disks", f"{OWN}: one being written while the last is copied away")
    file_system_headroom: float = assumed(1.2, "of what is stored", f"{OWN}: a file system slows and fails when full")


NODE_ASSUMPTIONS = NodeAssumptions()


def host_memory_bytes(
    base: float, per_accelerator: float, accelerators: int, checkpoint: float, sample: float, b: NodeAssumptions = NODE_ASSUMPTIONS
) -> float:
    """Host memory of a training node in bytes.

    base, per_accelerator: bytes that processes use. checkpoint: share of this node, copied to the host before it is written.
    sample: bytes of one sample on disk, 0 for text, whose batches are small.
    """
    return base + per_accelerator * accelerators + checkpoint + b.prefetched * accelerators * sample * b.decoded_per_byte


def training_vcpus(
    accelerators: int, samples_per_s: float, sample_bytes: float, tokens_per_s: float, b: NodeAssumptions = NODE_ASSUMPTIONS
) -> float:
    """vCPUs of a training node: decoding or reading at the rate of training, and the processes of each accelerator."""
    work = samples_per_s * sample_bytes / b.decode_bytes_per_s + tokens_per_s / b.tokens_per_s
    return float(math.ceil(b.system_vcpus + b.worker_vcpus_per_accelerator * accelerators + work - 1e-9))


def serving_vcpus(accelerators: int, tokens_per_s: float, b: NodeAssumptions = NODE_ASSUMPTIONS) -> float:
    """vCPUs of a serving node: two per engine core, and tokenising. `host_rate.needed_vcpus` has those of nodes that prepare samples."""
    return float(math.ceil(2 * (b.server_cores + accelerators) + tokens_per_s / b.tokens_per_s))


def training_disk_bytes(nodes: int, checkpoint: float, dataset: float, epochs: float, b: NodeAssumptions = NODE_ASSUMPTIONS) -> float:
    """Local disk of a training node: containers, its share of two checkpoints, and of a dataset that is read more than once."""
    dataset_part = dataset / nodes if epochs > 1 else 0.0
    return b.image_bytes + b.checkpoints_on_disk * checkpoint / nodes + dataset_part


def serving_disk_bytes(weights: float, b: NodeAssumptions = NODE_ASSUMPTIONS) -> float:
    return b.image_bytes + weights


def exchange_bytes(trainable: float, nodes: int, nodes_per_copy: int, gathers: int) -> float:
    """Bytes one node sends in an optimizer step: the ring all-reduce of 16-bit gradients between copies of the model that lie on several
    nodes; gathers: for ZeRO-3 the micro-batches of a step, each with two gathers of weights and a reduce-scatter, else 0.

    Source: Rajbhandari et al. 2020 (arXiv 1910.02054), section 7: 2 and 3 times the parameters. Experts' all-to-all is not in it.
    """
    copies = nodes / nodes_per_copy
    if copies <= 1:
        return 0.0
    ring = (copies - 1) / copies * 2.0 * trainable / nodes_per_copy
    return ring * (3.0 * gathers if gathers else 2.0)


@dataclass(frozen=True)
class Tier:
    """A file system class. bytes: the smallest orderable size with the required capacity and throughput; None if no size has them."""

    name: str
    bytes: float | None
    bytes_per_s_per_tib: float
    usd_per_byte_month: float | None

    @property
    def usd(self) -> float | None:
        """US dollars per month."""
        return None if self.bytes is None or self.usd_per_byte_month is None else self.bytes * self.usd_per_byte_month


def tier_bytes(capacity: float, bytes_per_s: float, bytes_per_s_per_tib: float, b: NodeAssumptions = NODE_ASSUMPTIONS) -> float:
    """Bytes to order of a class whose throughput grows with its size."""
    return max(capacity * b.file_system_headroom, bytes_per_s / bytes_per_s_per_tib * TIB)


def cheapest_tier(tiers: Iterable[Tier], need: Note) -> FileSystem | None:
    """The class with the lowest monthly price; None where none is large enough. Its basis names a smaller class without a price."""
    sold = sorted((t for t in tiers if t.bytes is not None), key=lambda t: (t.usd is None, t.usd or t.bytes, t.name))
    if not sold:
        return None
    basis: tuple[Note, ...] = (need,)
    best, smallest = sold[0], min(sold, key=lambda t: (t.bytes or 0.0, t.name))
    if smallest.usd is None and (smallest.bytes or 0.0) < (best.bytes or 0.0):
        basis += (Note(NoteKind.UNPRICED_TIER, {"tier": smallest.name, "tb": (smallest.bytes or 0.0) / 1e12}),)
    return FileSystem(best.name, best.bytes or 0.0, (best.bytes or 0.0) / TIB * best.bytes_per_s_per_tib, best.usd, basis=basis)
