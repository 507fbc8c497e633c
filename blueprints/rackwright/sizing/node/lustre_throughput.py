"""Throughput that a Lustre file system delivers: the least of its tier, its clients and its servers.

Sizing, plan, report and rules use `lustre_throughput` only. Limits: storage_limits.csv and volumes.csv of the catalog, from
https://docs.aws.amazon.com/fsx/latest/LustreGuide/performance.html and using-fsx-lustre.html (IP addresses for file systems), and
https://docs.cloud.google.com/managed-lustre/docs/performance-tiers, which has no limits of one client or server.
"""

import math
from dataclasses import dataclass
from enum import StrEnum

from rackwright.catalog.query import INTELLIGENT_TIERING, tier_bytes_per_s
from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import Machine, Volume
from rackwright.clouds import FSX, MANAGED_LUSTRE, profile
from rackwright.sizing.node.formulas import NODE_ASSUMPTIONS
from rackwright.sizing.note import Note, NoteKind
from rackwright.sizing.plan import StorageNeed
from rackwright.units import GIB, TIB

SERVICE = "fsx-lustre"
TCP, EFA = "TCP", "EFA"
GBIT = 1e9 / 8
"""Bytes of a gigabit."""


@dataclass(frozen=True)
class LustreSize:
    """A Lustre file system. volume: name of its tier in the catalog. ssd_tier: MB/s per TiB, 0 for FSx Intelligent-Tiering, which has
    throughput_mb_s and cache_gib."""

    capacity_gib: int
    volume: str
    ssd_tier: int = 0
    efa: bool = False
    throughput_mb_s: int | None = None
    cache_gib: int = 0

    @property
    def keeps_tier(self) -> bool:
        """Whether another tier replaces the file system: FSx with EFA, and Managed Lustre.

        https://docs.cloud.google.com/managed-lustre/docs/create-instance
        """
        return self.efa or self.volume.startswith(MANAGED_LUSTRE)


class LustreTerm(StrEnum):
    """What limits a file system."""

    TIER = "tier"
    CLIENTS = "clients"
    SERVERS = "servers"


@dataclass(frozen=True)
class LustreClients:
    """Nodes that use a file system at once. bytes_per_s: highest rate of one. over: TCP or EFA. server_bytes_per_s: highest rate between
    one client and one server."""

    count: int
    bytes_per_s: float
    over: str
    server_bytes_per_s: float
    interface: str = "ENA"
    """Network interface of the clients."""

    @property
    def total_bytes_per_s(self) -> float:
        return self.count * self.bytes_per_s


@dataclass(frozen=True)
class LustreThroughput:
    """Limits of a file system in bytes/s. tier: what is bought. clients: of their network. servers: of their network to these clients."""

    tier_bytes_per_s: float
    clients_bytes_per_s: float
    servers_bytes_per_s: float
    clients: LustreClients
    servers: int

    @property
    def bytes_per_s(self) -> float:
        return min(self.tier_bytes_per_s, self.clients_bytes_per_s, self.servers_bytes_per_s)

    @property
    def term(self) -> LustreTerm:
        """The lowest limit; of equal ones the tier, then the clients."""
        limits = {
            LustreTerm.TIER: self.tier_bytes_per_s,
            LustreTerm.CLIENTS: self.clients_bytes_per_s,
            LustreTerm.SERVERS: self.servers_bytes_per_s,
        }
        return min(limits, key=lambda term: limits[term])

    @property
    def note(self) -> Note:
        """The throughput and the limit, as a note."""
        values = {"gb_per_s": self.bytes_per_s / 1e9, "clients": self.clients.count, "over": self.clients.over, "servers": self.servers}
        if self.term is LustreTerm.TIER:
            return Note(NoteKind.LUSTRE_TIER_LIMIT, values)
        if self.term is LustreTerm.CLIENTS:
            return Note(NoteKind.LUSTRE_CLIENTS_LIMIT, values | {"gbit_per_s": self.clients.bytes_per_s / GBIT})
        share = self.servers_bytes_per_s / (self.servers * self.clients.count)
        return Note(NoteKind.LUSTRE_SERVERS_LIMIT, values | {"gbit_per_s": share / GBIT})


def lustre_interfaces(machine: Machine, nodes: int, catalog: Catalog) -> int:
    """EFA interfaces per node for a file system: the machine's number, or fewer where all nodes would exceed the connection limit."""
    return min(machine.lustre_interfaces, catalog.storage_limit(SERVICE, "client_interfaces") // max(1, nodes))


def lustre_clients(machine: Machine, nodes: int, interfaces: int, catalog: Catalog) -> LustreClients:
    """Nodes of a machine as clients. interfaces: EFA interfaces of a node that use the file system; 0 over TCP."""
    if profile(machine.cloud).lustre_service != FSX:
        return LustreClients(nodes, first_network_bytes_per_s(machine, catalog) or math.inf, TCP, math.inf, "gVNIC")
    if not interfaces:
        limit = catalog.storage_limit(SERVICE, "client_tcp_gbps") * GBIT
        pair = catalog.storage_limit(SERVICE, "client_server_tcp_gbps") * GBIT
        return LustreClients(nodes, min(limit, machine.sustained_network_bytes_per_s or limit), TCP, pair)
    limit = catalog.storage_limit(SERVICE, "client_efa_gbps") * GBIT
    layout = catalog.layout_by_machine.get(machine.name)
    own = layout.interface_bytes_per_s if layout else None
    return LustreClients(nodes, min(limit, interfaces * own if own else limit), EFA, math.inf, EFA)


def first_network_bytes_per_s(machine: Machine, catalog: Catalog) -> float | None:
    """Rate of the interfaces in the first network of a machine, which reaches the file system; None where no rate is published.

    Lustre uses the standard interfaces of one network, and no RDMA interfaces:
    https://docs.cloud.google.com/managed-lustre/docs/lustre-csi-driver-new-volume. Accelerators with gVNICs have one network for each.
    """
    total, layout = machine.sustained_network_bytes_per_s, catalog.layout_by_machine.get(machine.name)
    if total is None or layout is None or layout.interface_bytes_per_s is None or layout.interfaces is None:
        return total
    further = layout.gvnic_networks if layout.rdma_subnets else 0
    return (total - layout.interfaces * layout.interface_bytes_per_s) / (1 + further)


def needed_bytes(need: StorageNeed, tier: Volume) -> float:
    """Bytes of a tier that hold the data and are rated for the throughput."""
    for_throughput = need.throughput_bytes_per_s / (tier_bytes_per_s(tier, TIB) or 1) * TIB
    return max(need.capacity_bytes * NODE_ASSUMPTIONS.file_system_headroom, for_throughput)


def lustre_throughput(
    tier: Volume, capacity_gib: float, throughput_mb_s: int | None, clients: LustreClients, catalog: Catalog
) -> LustreThroughput:
    """Throughput that a file system of a tier delivers to these clients.

    throughput_mb_s: what is bought with Intelligent-Tiering; None for SSD, whose throughput grows with capacity_gib.
    """
    capacity_bytes = capacity_gib * GIB
    if throughput_mb_s is None:
        bought, network = tier_bytes_per_s(tier, capacity_bytes), (tier.network_bytes_per_s_per_tib or math.inf) * capacity_bytes / TIB
        servers = max(1, math.ceil(capacity_bytes / tier.server_bytes)) if tier.server_bytes else 1
    else:
        bought, network = throughput_mb_s * 1e6, math.inf
        servers = max(1, math.ceil(throughput_mb_s / catalog.storage_limit(INTELLIGENT_TIERING, "throughput_step_mb_s")))
    to_clients = servers * clients.count * clients.server_bytes_per_s
    return LustreThroughput(bought, clients.total_bytes_per_s, min(network, to_clients), clients, servers)


def servers_needed(bytes_per_s: float, clients: LustreClients) -> int:
    """Servers that give clients this rate, as far as the clients' own network allows it."""
    return max(1, math.ceil(min(bytes_per_s, clients.total_bytes_per_s) / (clients.count * clients.server_bytes_per_s)))
