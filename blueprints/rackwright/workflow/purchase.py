"""What to buy for the goals of a spec: each server model is sized as a cluster that exists, and priced with the user's prices."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Literal

from rackwright.catalog import Catalog
from rackwright.catalog.hardware import Fabric
from rackwright.catalog.servers import Server, Switch
from rackwright.clouds import KUBERNETES
from rackwright.compile.operators.versions import KUBERNETES as KUBERNETES_VERSION
from rackwright.sizing.node.power import POWER_ASSUMPTIONS, rack_units
from rackwright.sizing.offers.own_servers import server_watts
from rackwright.sizing.plan import Fit
from rackwright.sizing.purchase.purchase_plan import Prices, PurchasePlan, ServerFacts, Site, SwitchFacts
from rackwright.spec.blueprint import Blueprint
from rackwright.spec.infra import Infra, Place
from rackwright.spec.inventory import INVENTORY_VERSION, ClusterFacts, Inventory, Nic, ServerGroup
from rackwright.spec.own_servers import NodeCost
from rackwright.spec.purchase import Purchase
from rackwright.spec.spec import Spec
from rackwright.validation.spec.own.purchase import rack_misfits
from rackwright.wording.rejections import rejection_text
from rackwright.workflow.pipeline import Pipeline

FULL_RATE_GBPS = 8 / 1e9
"""Bytes per second to Gbit/s."""
KINDS: dict[Fabric, Literal["infiniband", "roce"]] = {Fabric.INFINIBAND: "infiniband", Fabric.ROCE: "roce"}
"""Fabric of a server -> kind of its NIC ports in an inventory."""


@dataclass(frozen=True)
class PurchaseOption:
    """One server model. fit: the fewest servers that meet the goals; None where no number does. reason: why not."""

    machine: str
    fit: Fit | None = None
    plan: PurchasePlan | None = None
    reason: str = ""


def purchase_options(spec: Spec, catalog: Catalog, today: date, servers: int = 0) -> list[PurchaseOption]:
    """The server models of `purchase`, cheapest first where all prices are known, then by number of servers, then those that do not fit.

    catalog: without the servers of inventories. servers: a number that is not sized; 0: the fewest that meet the goals.
    """
    asked = _asked(spec)
    switch = next(switch for switch in catalog.switches if switch.machine == asked.switch)
    found = []
    for server in _servers(asked, catalog):
        misfits = "; ".join(misfit.message for misfit in rack_misfits(server, asked))
        if misfits:
            found.append(PurchaseOption(server.machine, reason=misfits[0].lower() + misfits[1:]))
            continue
        inventory = _inventory(asked, server, today)
        facts = _facts(server, inventory, catalog)
        if servers:
            option = PurchaseOption(server.machine, None, _plan(asked, facts, switch, servers))
        else:
            option = _option(spec, asked, facts, switch, inventory, catalog, today)
        alone = option.plan is not None and option.plan.servers == 1
        reasons = [reason for reason in (option.reason, "" if alone else _not_joined(server, switch)) if reason]
        found.append(PurchaseOption(server.machine, reason="; ".join(reasons)) if reasons else option)
    return sorted(found, key=_rank)


def _asked(spec: Spec) -> Purchase:
    """`purchase` with what it leaves to `node_cost` of a place, so that `buy` and `plan` take the same electricity."""
    asked = spec.purchase or Purchase()
    cost = next((place.node_cost for place in spec.infra.places if place.node_cost), NodeCost())
    given = {"lifetime": cost.lifetime, "electricity": cost.electricity, "pue": cost.pue}
    return asked.model_copy(update={key: value for key, value in given.items() if getattr(asked, key) is None})


def _rank(option: PurchaseOption) -> tuple[bool, bool, float, int, str]:
    if option.plan is None:
        return True, True, 0.0, 0, option.machine
    usd = option.plan.purchase_usd
    return False, usd is None, usd or 0.0, option.plan.servers, option.machine


def _servers(asked: Purchase, catalog: Catalog) -> list[Server]:
    known = {server.machine: server for server in catalog.servers}
    return [known[machine] for machine in asked.servers] if asked.servers else list(known.values())


def _not_joined(server: Server, switch: Switch) -> str:
    """Why the switch does not join servers of a model; empty where it does."""
    if server.fabric is Fabric.NONE or not server.fabric_interfaces:
        return "the ports of its fabric are not published; list it in an inventory with `nics`"
    if server.fabric is not switch.fabric:
        return f"its fabric is {server.fabric}, and switch {switch.machine} is for {switch.fabric}; set `switch` of `purchase`"
    if (server.fabric_interface_bytes_per_s or 0.0) > switch.port_bytes_per_s:
        return f"its ports are faster than the {switch.port_bytes_per_s * FULL_RATE_GBPS:.0f} Gbit/s of switch {switch.machine}"
    return ""


def _option(
    spec: Spec, asked: Purchase, server: ServerFacts, switch: Switch, inventory: Inventory, catalog: Catalog, today: date
) -> PurchaseOption:
    """The fewest servers of a model that meet the goals. A limit on the cost of a run is not one on a purchase."""
    pipeline = _sized(spec, inventory, catalog, today)
    fits = [fit for fit in pipeline.plan.fits if _servers_of(fit) <= asked.max_servers]
    fewer = range(1, min(map(_servers_of, fits), default=asked.max_servers))
    if fewer and spec.workload.kind != "serve":  # the servers of a service follow from its replicas
        fits += _sized(spec, _each_number(inventory, fewer), catalog, today).plan.fits
    if not fits:
        return PurchaseOption(server.machine, reason=_reason(pipeline, asked))
    fit = min(fits, key=lambda fit: (_servers_of(fit), fit.finish_s.p50 if fit.finish_s else 0.0))
    return PurchaseOption(server.machine, fit, _plan(asked, server, switch, _servers_of(fit)))


def _sized(spec: Spec, inventory: Inventory, catalog: Catalog, today: date) -> Pipeline:
    """The spec on the servers of an inventory."""
    place = Place(cloud=KUBERNETES.name, inventory=inventory)
    goals = spec.goals.model_copy(update={"max_cost": None})
    changes = {"infra": Infra(any_of=(place,)), "goals": goals, "blueprint": Blueprint(sharing=spec.blueprint.sharing), "registry": None}
    return Pipeline.of_spec(spec.model_copy(update=changes), today, catalog)


def _each_number(inventory: Inventory, numbers: range) -> Inventory:
    """The inventory with a group of each number of servers: sizing tries powers of two, and all servers of a group."""
    (group,) = inventory.servers
    groups = (group.model_copy(update={"name": f"servers-{number}", "nodes": group.nodes[:number]}) for number in numbers)
    return inventory.model_copy(update={"servers": tuple(groups)})


def _servers_of(fit: Fit) -> int:
    """Servers of every workload; those that workloads share count once."""
    return sum(pool.candidate.max_nodes for pool in fit.each_pool)


def _facts(server: Server, inventory: Inventory, catalog: Catalog) -> ServerFacts:
    rails = (server.fabric_interfaces or 0) if server.fabric is not Fabric.NONE else 0
    watts, is_published = server.max_watts or server_watts(inventory.servers[0], catalog), server.max_watts is not None
    height = rack_units(server.form_factor)
    return ServerFacts(server.machine, server.name, server.accelerator_count, rails, watts, is_published, height)


def _reason(pipeline: Pipeline, asked: Purchase) -> str:
    """The nearest miss of a server model; of several workloads that fit only apart, the servers that they need together."""
    together = min(map(_servers_of, pipeline.plan.fits), default=0)
    if together:
        return f"no number of servers up to {asked.max_servers} meets the goals: the workloads need {together} together"
    nearest = min(pipeline.plan.rejected, key=lambda each: each.distance, default=None)
    why = f": {nearest.label}: {rejection_text(nearest.rejections[0])}" if nearest else ""
    return f"no number of servers up to {asked.max_servers} meets the goals{why}"


def _plan(asked: Purchase, server: ServerFacts, switch: Switch, servers: int) -> PurchasePlan:
    given = asked.prices
    prices = Prices(
        given.servers.get(server.machine), given.switch, given.cable, given.server_transceiver, given.switch_transceiver, given.rack
    )
    rack_watts = asked.rack_kw * 1000 if asked.rack_kw else None
    site = Site(asked.rack_units, rack_watts, asked.pue or POWER_ASSUMPTIONS.pue, asked.lifetime, asked.electricity)
    watts = asked.switch_watts or switch.max_watts
    facts = SwitchFacts(switch.machine, switch.ports, switch.transceiver_ports, switch.rack_units, watts)
    return PurchasePlan(server, facts, servers, prices, site)


def _inventory(asked: Purchase, server: Server, today: date) -> Inventory:
    """A cluster with the most servers that are considered, in the vendor's reference design."""
    rate, count = server.fabric_interface_bytes_per_s, server.fabric_interfaces
    nics: tuple[Nic, ...] = ()
    if server.fabric in KINDS and rate and count:
        nics = (Nic(kind=KINDS[server.fabric], speed=f"{rate * FULL_RATE_GBPS:.0f} Gbit/s", count=count),)
    names = tuple(f"server-{number:03}" for number in range(1, asked.max_servers + 1))
    group = ServerGroup(name="servers", model=server.machine, nodes=names, cpus=asked.cpus, memory=f"{int(asked.memory)} B", nics=nics)
    cluster = ClusterFacts(name="purchase", kubernetes=KUBERNETES_VERSION)
    moment = datetime.combine(today, time(), UTC)
    return Inventory(api_version=INVENTORY_VERSION, generated_at=moment, cluster=cluster, servers=(group,))
