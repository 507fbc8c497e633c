"""Servers of inventories as machines of the catalog: their number, their hardware, and what an hour of one costs."""

from collections import Counter
from dataclasses import dataclass

from rackwright.catalog import query
from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import Accelerator, CapacityMode, Fabric, Machine, Price, Server
from rackwright.clouds import KUBERNETES
from rackwright.sizing.economics.own_node import OwnNodeCost, node_usd_per_hour
from rackwright.sizing.node.power import POWER_ASSUMPTIONS, node_watts
from rackwright.sizing.note import Note, NoteKind
from rackwright.spec.infra import Place
from rackwright.spec.inventory import Inventory, Nic, ServerGroup
from rackwright.spec.own_servers import NodeCost
from rackwright.spec.spec import Spec

FABRICS = {"infiniband": Fabric.INFINIBAND, "roce": Fabric.ROCE}
"""Kind of NIC -> fabric of the machine; Ethernet without RDMA joins no machines for one job."""


@dataclass(frozen=True)
class OwnServers:
    """A group of equal servers. machine: its name in the catalog, plans and pins. place: index in `infra`."""

    machine: str
    place: int
    group: ServerGroup
    inventory: Inventory

    @property
    def count(self) -> int:
        return len(self.group.nodes)


def own_servers(spec: Spec) -> tuple[OwnServers, ...]:
    """Groups of the inventories that are read, in file order.

    A group has the name of its server model; where several groups have one model, `<model>.<cluster>.<group>`.
    """
    read = [(i, place.inventory) for i, place in enumerate(spec.infra.places) if isinstance(place.inventory, Inventory)]
    groups = [(i, inventory, group) for i, inventory in read for group in inventory.servers]
    named = Counter(group.model or group.name for _, _, group in groups)
    return tuple(OwnServers(_machine_name(group, inventory, named), i, group, inventory) for i, inventory, group in groups)


def servers_of(spec: Spec, place: int) -> tuple[OwnServers, ...]:
    """Groups of one place."""
    return tuple(servers for servers in own_servers(spec) if servers.place == place)


def servers_named(spec: Spec, place: int, machine: str) -> OwnServers | None:
    """The group of a place whose machine has this name; None without one."""
    return next((servers for servers in servers_of(spec, place) if servers.machine == machine), None)


def with_own_servers(catalog: Catalog, spec: Spec) -> Catalog:
    """The catalog with the servers of the spec's inventories; the same object without inventories."""
    found = [(servers, machine) for servers in own_servers(spec) if (machine := machine_of(servers, catalog))]
    if not found:
        return catalog
    prices = (_price(servers, machine, spec.infra.places[servers.place], catalog) for servers, machine in found)
    return catalog.with_machines((machine for _, machine in found), (price for price in prices if price))


def machine_of(servers: OwnServers, catalog: Catalog) -> Machine | None:
    """The group as a machine; None for servers without GPUs, and where the catalog lacks the GPU (S-188)."""
    group, model = servers.group, server_model(servers.group, catalog)
    card = accelerator_of(group, catalog)
    if card is None:
        return None
    nic = rdma_nic(group, catalog)
    rate = nic_bytes_per_s(nic, catalog) if nic else None
    count = group.gpus.count if group.gpus else model.accelerator_count if model else 0
    slowest = min((port_bytes_per_s(each, catalog) or 0.0 for each in group.nics), default=0.0)
    disks = group.local_nvme
    return Machine(
        name=servers.machine,
        cloud=KUBERNETES.name,
        family=model.name if model else group.name,
        kind="gpu",
        accelerator=card.name,
        accelerator_count=count,
        accelerator_memory_bytes=card.memory_bytes,
        vcpus=group.cpus,
        memory_bytes=int(group.memory),
        cpu_arch=group.arch,
        network_bytes_per_s=rate or slowest or None,
        fabric=FABRICS[nic.kind] if nic else Fabric.NONE,
        fabric_interfaces=nic.count if nic else 0,
        fabric_bytes_per_s=rate,
        local_nvme_bytes=int(disks.count * disks.size) if disks else 0,
        local_nvme_count=disks.count if disks else 0,
        scale_up_link=card.scale_up_link,
        scale_up_domain=card.scale_up_domain,
        capacity_modes=(CapacityMode.OWNED,),
        notes=model.notes if model else "",
        source=f"inventory of {servers.inventory.cluster.name}",
        as_of=servers.inventory.generated_at.date().isoformat(),
    )


def server_model(group: ServerGroup, catalog: Catalog) -> Server | None:
    return next((server for server in catalog.servers if server.machine == group.model), None)


def accelerator_of(group: ServerGroup, catalog: Catalog) -> Accelerator | None:
    """The GPU of a group: its own, else that of its server model; None without one, and for one that the catalog lacks."""
    model = server_model(group, catalog)
    name = group.gpus.model if group.gpus else model.accelerator if model else ""
    return query.accelerator(catalog, name) if name else None


def port_bytes_per_s(nic: Nic, catalog: Catalog) -> float | None:
    """Rate of one port; None for a speed that the catalog lacks (S-188)."""
    if nic.speed is None:
        return None
    number, unit, _ = nic.speed.partition(" Gbit/s")
    if unit:
        return float(number) * 1e9 / 8
    return next((row.bytes_per_s for row in catalog.link_speeds if row.name == nic.speed), None)


def nic_bytes_per_s(nic: Nic, catalog: Catalog) -> float | None:
    """Rate of all ports of one kind; None for a speed that the catalog lacks."""
    each = port_bytes_per_s(nic, catalog)
    return each * nic.count if each else None


def rdma_nic(group: ServerGroup, catalog: Catalog) -> Nic | None:
    """The RDMA ports that jobs use: InfiniBand before RoCE, then the highest rate of all ports; None without RDMA."""
    kinds = [*FABRICS]
    return min(group.rdma_nics, key=lambda nic: (kinds.index(nic.kind), -(nic_bytes_per_s(nic, catalog) or 0.0)), default=None)


def server_watts(group: ServerGroup, catalog: Catalog) -> float | None:
    """Watts of one server at full load; None where the power of its GPU is not published."""
    card, machine = accelerator_of(group, catalog), group.gpus or server_model(group, catalog)
    if card is None or machine is None or not card.tdp_watts:
        return None
    count = group.gpus.count if group.gpus else getattr(machine, "accelerator_count", 0)
    return node_watts(count, card.tdp_watts, bool(card.scale_up_link) and count > 1)


def own_node_cost(cost: NodeCost | None, watts: float | None) -> OwnNodeCost | None:
    """The hourly cost of one server and its parts; None where the spec or the catalog lacks a part."""
    if cost is None:
        return None
    if cost.per_hour is not None:
        return OwnNodeCost(cost.per_hour)
    if cost.purchase is None or cost.lifetime is None or cost.electricity is None or watts is None:
        return None
    return node_usd_per_hour(cost.purchase, cost.lifetime, watts, cost.electricity, cost.pue or POWER_ASSUMPTIONS.pue)


def own_cost_note(machine: str, cost: OwnNodeCost | None) -> Note:
    """What an hour of an own server costs, or that only hours are known."""
    if cost is None:
        return Note(NoteKind.OWN_HOURS_ONLY, {"machine": machine})
    if cost.depreciation_usd is None or cost.power_usd is None:
        return Note(NoteKind.OWN_COST_STATED, {"machine": machine, "usd": cost.usd_per_hour})
    values = {
        "machine": machine, "usd": cost.usd_per_hour, "depreciation_usd": cost.depreciation_usd, "power_usd": cost.power_usd,
        "kw": cost.kw, "pue": cost.pue, "usd_per_kwh": cost.usd_per_kwh,
    }  # fmt: skip
    return Note(NoteKind.OWN_COST_PARTS, values)


def _price(servers: OwnServers, machine: Machine, place: Place, catalog: Catalog) -> Price | None:
    made = own_node_cost(place.node_cost, server_watts(servers.group, catalog))
    if made is None:
        return None
    return Price(
        sku=machine.name,
        cloud=machine.cloud,
        region="",
        capacity=CapacityMode.OWNED,
        usd_per_hour=made.usd_per_hour,
        unit="node",
        notes="",
        source="node_cost of the spec",
        as_of=machine.as_of,
    )


def _machine_name(group: ServerGroup, inventory: Inventory, named: Counter[str]) -> str:
    name = group.model or group.name
    return name if named[name] == 1 else f"{name}.{inventory.cluster.name}.{group.name}"
