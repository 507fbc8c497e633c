"""Servers that users own, the speeds of their links, and the names of their GPUs."""

from dataclasses import dataclass

from rackwright.catalog.hardware import Fabric


@dataclass(frozen=True, slots=True)
class Server:
    """Owned server model. Values that vary per order (CPU, memory, disks, NICs) are None or text; the site inventory has them.

    max_watts: published maximum of the whole server; None where none is. fabric_*: the vendor's reference design, which an ordered server
    may differ from.
    """

    name: str
    machine: str
    vendor: str
    accelerator: str
    accelerator_count: int
    cpu: str
    max_memory_bytes: int | None
    memory_words: str
    local_storage: str
    power_supplies: str
    power_supply_watts: float | None
    max_watts: float | None
    form_factor: str
    scale_up: str
    fabric: Fabric
    fabric_interfaces: int | None
    fabric_interface_bytes_per_s: float | None
    scale_out: str
    notes: str
    source: str
    as_of: str


@dataclass(frozen=True, slots=True)
class Switch:
    """Switch of a fabric. ports: at the rate of `port_bytes_per_s`. transceiver_ports: ports of one transceiver.

    max_watts: with transceivers at full load; None where it is not published.
    """

    name: str
    machine: str
    fabric: Fabric
    ports: int
    transceiver_ports: int
    rack_units: int
    port_bytes_per_s: float
    max_watts: float | None
    notes: str
    source: str
    as_of: str


@dataclass(frozen=True, slots=True)
class LinkSpeed:
    """InfiniBand generation. bytes_per_s: of one port with four lanes, per direction."""

    name: str
    bytes_per_s: float
    notes: str
    source: str
    as_of: str


@dataclass(frozen=True, slots=True)
class GpuProduct:
    """Name of a GPU as nvidia-smi and the label nvidia.com/gpu.product print it, with dashes for spaces."""

    product: str
    accelerator: str
    notes: str
    source: str
    as_of: str
