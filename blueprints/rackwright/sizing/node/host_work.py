"""Work that a run gives to the hosts of its nodes: samples to decode and read, checkpoints to copy and write. From spec and catalog."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import Accelerator, Machine
from rackwright.clouds import profile
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.evaluation.checkpoints import CheckpointHost
from rackwright.sizing.model_of_spec import architecture_of
from rackwright.sizing.node.formulas import NODE_ASSUMPTIONS
from rackwright.sizing.node.host_rate import Host, HostTerm, SampleWork, decoding
from rackwright.sizing.plan import WorkloadFacts
from rackwright.sizing.sample import image_bytes
from rackwright.spec.spec import Spec
from rackwright.spec.workload import TRAINING, Batch, Finetune, Pretrain, Serve


@dataclass(frozen=True)
class HostWork:
    """sample: work of one sample, nothing for text. checkpoint_bytes: of one checkpoint. epochs, dataset_bytes: of the data.

    links: generation of an accelerator -> bytes/s to its host. disk_bytes_per_s: cloud -> highest rate of the disk of one machine.
    """

    sample: SampleWork = field(default_factory=SampleWork)
    checkpoint_bytes: float = 0.0
    dataset_bytes: float = 0.0
    epochs: float = 1.0
    links: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    disk_bytes_per_s: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))

    @staticmethod
    def of(spec: Spec, facts: WorkloadFacts, catalog: Catalog) -> "HostWork":
        w, disks = spec.workload, dict[str, float]()
        for place in spec.infra.places:
            volume = catalog.volume_by_name.get(profile(place.cloud).disk_volumes.get("balanced", ""))
            if volume and volume.max_read_bytes_per_s:
                disks[place.cloud] = volume.max_read_bytes_per_s
        links = {row.generation: row.host_bytes_per_s for row in catalog.generations}
        epochs = w.data.epochs if isinstance(w, TRAINING) else 1.0
        return HostWork(_sample_work(w), facts.checkpoint_bytes, facts.dataset_bytes, epochs, links, disks)

    def host(self, machine: Machine, accelerator: Accelerator | None, nodes: int) -> Host:
        """A node of several as one that is fed: one machine reads from its disk, several read from storage over their network."""
        link, count = self._link(accelerator), max(machine.accelerator_count, 1)
        if nodes > 1:
            return Host(machine.vcpus, count, machine.sustained_network_bytes_per_s, HostTerm.NETWORK, link)
        is_local = self.epochs > 1 and (machine.local_nvme_bytes or 0) > self.dataset_bytes > 0
        rate = None if is_local else self._disk(machine)
        return Host(machine.vcpus, count, rate, HostTerm.DISK, link)

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


def sample_bytes(w: Pretrain | Finetune | Serve | Batch) -> float:
    """Bytes of one image on disk; 0 where no images are read."""
    return image_bytes(w, architecture_of(w.model)[0])


def _sample_work(w: object) -> SampleWork:
    """Training decodes and augments images; a batch of a vision model decodes them, one of a diffusion model encodes what it makes."""
    if isinstance(w, Batch) and architecture_of(w.model)[0].kind == "diffusion":
        return SampleWork(vcpu_s=NODE_ASSUMPTIONS.encode_s)
    if not isinstance(w, (*TRAINING, Batch)) or not (size := sample_bytes(w)):
        return SampleWork()
    return decoding(size, isinstance(w, TRAINING))
