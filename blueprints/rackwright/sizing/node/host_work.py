"""Work of the hosts of nodes: samples to read, decode, tokenize or encode, checkpoints to copy and write. From spec and catalog."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import Accelerator, Machine
from rackwright.clouds import profile
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.evaluation.checkpoints import CheckpointHost
from rackwright.sizing.inputs.model_of_spec import architecture_of
from rackwright.sizing.inputs.sample import image_bytes
from rackwright.sizing.node.formulas import NODE_ASSUMPTIONS
from rackwright.sizing.node.host_rate import HostTerm, NodeHost, SampleWork, decoding
from rackwright.sizing.plan import WorkloadFacts
from rackwright.spec.spec import Spec
from rackwright.spec.workload import TRAINING, Batch, Custom, Finetune, Pretrain, Serve


@dataclass(frozen=True)
class HostWork:
    """sample: work of one sample, nothing for text that is trained on or generated. checkpoint_bytes: of one checkpoint.

    epochs, dataset_bytes: of the data. infers: samples come over the network, from clients or from their bucket, and are not trained on.

    links: generation of an accelerator -> bytes/s to its host. disk_bytes_per_s: cloud -> highest rate of the disk of one machine.
    """

    sample: SampleWork = field(default_factory=SampleWork)
    checkpoint_bytes: float = 0.0
    dataset_bytes: float = 0.0
    epochs: float = 1.0
    infers: bool = False
    links: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    disk_bytes_per_s: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def has_samples(self) -> bool:
        """Whether the hosts have work for each sample."""
        return bool(self.sample.vcpu_s or self.sample.read_bytes)

    @staticmethod
    def of(spec: Spec, facts: WorkloadFacts, catalog: Catalog) -> "HostWork":
        w, disks = spec.workload, dict[str, float]()
        for place in spec.infra.places:
            volume = catalog.volume_by_name.get(profile(place.cloud).disk_volumes.get("balanced", ""))
            if volume and volume.max_read_bytes_per_s:
                disks[place.cloud] = volume.max_read_bytes_per_s
        links = {row.generation: row.host_bytes_per_s for row in catalog.generations}
        epochs = w.data.epochs if isinstance(w, TRAINING) else 1.0
        infers = isinstance(w, (Serve, Batch))
        return HostWork(_sample_work(w, facts), facts.checkpoint_bytes, facts.dataset_bytes, epochs, infers, links, disks)

    def host(self, machine: Machine, accelerator: Accelerator | None, nodes: int) -> NodeHost:
        """A node of several as one that is fed: one machine trains from its disk, several read from storage over their network, and so do
        the machines of an inference. The network counts with its baseline."""
        link, count, b = self._link(accelerator), max(machine.accelerator_count, 1), NODE_ASSUMPTIONS
        link = link and link * machine.whole_accelerators / count if machine.sharing else link
        if self.infers:
            return NodeHost(machine.vcpus, count, machine.sustained_network_bytes_per_s, HostTerm.NETWORK, link, b.inference_worker_vcpus)
        if nodes > 1:
            return NodeHost(machine.vcpus, count, machine.sustained_network_bytes_per_s, HostTerm.NETWORK, link)
        is_local = self.epochs > 1 and (machine.local_nvme_bytes or 0) > self.dataset_bytes > 0
        rate = None if is_local else self._disk(machine)
        return NodeHost(machine.vcpus, count, rate, HostTerm.DISK, link)

    def checkpoint_host(self, machine: Machine, accelerator: Accelerator | None, nodes: int, a: Assumptions) -> CheckpointHost:
        count = max(machine.accelerator_count, 1)
        used = a.host_base_bytes + a.host_per_accelerator_bytes * count + NODE_ASSUMPTIONS.prefetched * count * self.sample.copied_bytes
        known = machine.memory_bytes if machine.kind != "cpu" else None  # the memory of a CPU machine is that of its model
        free = None if known is None else max(known - used, 0.0)
        write = self._disk(machine) if nodes == 1 else machine.sustained_network_bytes_per_s
        return CheckpointHost(nodes * count, nodes, self._link(accelerator), free, write)

    def _link(self, accelerator: Accelerator | None) -> float | None:
        return (accelerator.host_bytes_per_s or self.links.get(accelerator.generation)) if accelerator else None

    def _disk(self, machine: Machine) -> float | None:
        """The highest published rate of the machine's disk connection, whose baseline the catalog does not have, and of one disk."""
        known = [rate for rate in (machine.block_storage_bytes_per_s, self.disk_bytes_per_s.get(machine.cloud)) if rate]
        return min(known, default=None)


NO_WORK = HostWork()


def sample_bytes(w: Pretrain | Finetune | Serve | Batch) -> float:
    """Bytes of one image on disk; 0 where no images are read."""
    return image_bytes(w, architecture_of(w.model)[0])


def _sample_work(w: Pretrain | Finetune | Serve | Batch | Custom, facts: WorkloadFacts) -> SampleWork:
    """Training decodes and augments images; inference decodes those that it reads, encodes those that it makes, and tokenizes documents.

    Text that is generated takes less than a vCPU per node: 0.5 million tokens per second and vCPU.
    """
    if isinstance(w, Custom):
        return SampleWork()
    b, trains = NODE_ASSUMPTIONS, isinstance(w, TRAINING)
    if not trains and facts.unit == "image" and architecture_of(w.model)[0].kind == "diffusion":
        return SampleWork(b.encode_s, read_bytes=b.diffusion_bytes)
    if facts.unit == "document" and facts.sample:
        return SampleWork(facts.sample.number("tokens") / b.tokens_per_s)
    size = sample_bytes(w)
    return decoding(size, trains) if size else SampleWork()
