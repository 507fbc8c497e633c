"""Fabrics: interfaces where the machine has them, everything in one zone and close together."""

from collections import Counter
from collections.abc import Iterator

from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import Fabric, Machine
from rackwright.compile.wants import AddonWant, PoolWant, StackPlan
from rackwright.problems import At, Level
from rackwright.rules.registry import Broken, accelerators, rule

EFA_GUIDE = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start.html"
EFA_LAYOUT = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html"
EFA_ONLY_POD_NETWORK = (1, 18, 5)
RESERVED = ("capacity-block", "reservation")
COMPACT_MOST = 1500
LIST_AWS = (
    "`aws ec2 describe-instance-type-offerings --location-type availability-zone "
    "--filters Name=instance-type,Values={} --region {} --query InstanceTypeOfferings[].Location`"
)
LIST_GCP = '`gcloud compute machine-types list --filter="name={} AND zone~{}" --format="value(zone)"`'
"""What lists the zones that sell a machine to this account."""


def machine_of(pool: PoolWant) -> Machine | None:
    return Catalog.default().machine_by_name.get(pool.machine)


@rule("V-14", Level.ERROR, EFA_GUIDE)
def machine_has_the_fabric(plan: StackPlan) -> Iterator[Broken]:
    """Fabric interfaces are only for machines that have the fabric."""
    for at, pool in accelerators(plan):
        machine = machine_of(pool)
        if pool.nics and machine and not machine.efa_interfaces:
            yield Broken(at / "nics", "leave the interfaces out, or pin a machine with EFA", f"{pool.machine} has none")


@rule("V-15", Level.ERROR, EFA_LAYOUT)
def fabric_interfaces_are_as_many_as_the_machine_has(plan: StackPlan) -> Iterator[Broken]:
    """A machine takes as many fabric interfaces as it has, and a training job wants all of them."""
    for at, pool in accelerators(plan):
        machine, asked = machine_of(pool), sum(nic.kind == "fabric" for nic in pool.nics)
        if not asked or machine is None or machine.efa_interfaces in (None, asked):
            continue
        level = Level.ERROR if asked > (machine.efa_interfaces or 0) else Level.WARNING
        yield Broken(
            at / "nics", f"ask for {machine.efa_interfaces}", f"{pool.machine} has {machine.efa_interfaces}, {asked} are asked for", level
        )


@rule("V-16", Level.ERROR, EFA_LAYOUT)
def first_interface_carries_addresses(plan: StackPlan) -> Iterator[Broken]:
    """The interface at card 0, device 0 carries addresses; it is never fabric only."""
    for at, pool in accelerators(plan):
        for index, nic in enumerate(pool.nics):
            if (nic.card, nic.device) == (0, 0) and nic.kind != "ip":
                yield Broken(at / "nics" / index, "make it an IP interface")


@rule("V-17", Level.ERROR, EFA_LAYOUT)
def one_primary_interface(plan: StackPlan) -> Iterator[Broken]:
    """Exactly one interface sits at card 0, device 0."""
    for at, pool in accelerators(plan):
        found = sum((nic.card, nic.device) == (0, 0) for nic in pool.nics)
        if pool.nics and found != 1:
            yield Broken(at / "nics", "put one IP interface there", f"there are {found}")


@rule("V-18", Level.ERROR, EFA_LAYOUT)
def interfaces_do_not_share_a_place(plan: StackPlan) -> Iterator[Broken]:
    """No two interfaces share card and device, a card carries one fabric interface at most, and cards and devices exist."""
    for at, pool in accelerators(plan):
        machine = machine_of(pool)
        places = Counter((nic.card, nic.device) for nic in pool.nics)
        yield from (Broken(at / "nics", "move one", f"card {c} device {d} is taken twice") for (c, d), n in places.items() if n > 1)
        cards = Counter(nic.card for nic in pool.nics if nic.kind == "fabric")
        yield from (Broken(at / "nics", "keep one", f"card {c} has {n} fabric interfaces") for c, n in cards.items() if n > 1)
        if machine and machine.network_cards and machine.enis_per_card:
            for index, nic in enumerate(pool.nics):
                if nic.card >= machine.network_cards or nic.device >= machine.enis_per_card:
                    yield Broken(
                        at / "nics" / index, "use the catalog's layout", f"{pool.machine} has no card {nic.card} device {nic.device}"
                    )


@rule("V-19", Level.ERROR, EFA_LAYOUT)
def card_zero_may_lack_the_fabric(plan: StackPlan) -> Iterator[Broken]:
    """Some machines (p6-b300) carry no fabric on card 0."""
    for at, pool in accelerators(plan):
        machine = machine_of(pool)
        if machine is None or machine.card0_efa:
            continue
        for index, nic in enumerate(pool.nics):
            if nic.card == 0 and nic.kind == "fabric":
                yield Broken(at / "nics" / index, "start the fabric at card 1", f"{pool.machine} is one")


@rule("V-21", Level.ERROR, EFA_GUIDE)
def efa_group_reaches_itself(plan: StackPlan) -> Iterator[Broken]:
    """EFA needs the security group to allow all traffic to and from itself; a CIDR rule does not count."""
    if any(pool.nics for _, pool in accelerators(plan)) and not plan.network.self_reachable:
        yield Broken(At() / "network" / "self_reachable", "leave it out, or set it to true")


@rule("V-26", Level.ERROR, "https://docs.aws.amazon.com/eks/latest/userguide/node-efa.html")
def pod_network_knows_fabric_only_interfaces(plan: StackPlan) -> Iterator[Broken]:
    """Fabric-only interfaces need the pod network add-on at 1.18.5 or newer."""
    if not any(pool.nics for _, pool in accelerators(plan)):
        return
    for at, addon in _pod_network(plan):
        if _version(addon.version) < EFA_ONLY_POD_NETWORK:
            yield Broken(at / "version", "pin a newer build", f"got {addon.version}")


@rule("V-27", Level.WARNING, "https://docs.aws.amazon.com/eks/latest/userguide/cni-increase-ip-addresses.html")
def pods_do_not_run_out_of_addresses(plan: StackPlan) -> Iterator[Broken]:
    """Pods take addresses from card 0 alone, which is few on EFA machines unless the pod network hands out prefixes."""
    for at, addon in _pod_network(plan):
        env = dict(addon.values).get("env", {})
        if env.get("ENABLE_PREFIX_DELEGATION") != "true" and any(pool.nics for _, pool in accelerators(plan)):
            yield Broken(at / "values", "set ENABLE_PREFIX_DELEGATION to true")


@rule("V-28", Level.ERROR, "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/placement-strategies.html")
def adjacent_machines_share_a_zone(plan: StackPlan) -> Iterator[Broken]:
    """A cluster placement group holds machines of one zone."""
    for at, pool in accelerators(plan):
        if plan.place.cloud == "aws" and pool.adjacent and len(pool.zones) != 1:
            yield Broken(at / "zones", "name one zone", f"{pool.name} has {len(pool.zones)}")


@rule("V-29", Level.WARNING, "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html")
def efa_machines_sit_close(plan: StackPlan) -> Iterator[Broken]:
    """Machines that train together on EFA should share a placement group, unless a reservation already keeps them close."""
    for at, pool in accelerators(plan):
        if pool.nics and pool.nodes_max > 1 and not pool.adjacent and pool.capacity.mode not in RESERVED:
            yield Broken(at / "adjacent", "set it to true")


@rule("V-30", Level.ERROR)
def the_zone_sells_the_machine(plan: StackPlan) -> Iterator[Broken]:
    """The machine is sold in the zone it is wanted in."""
    wanted = [(at / "zones", pool.machine, pool.zones) for at, pool in accelerators(plan)]
    wanted += [(At() / "box" / "zone", plan.box.machine, (plan.box.zone,))] if plan.box else []
    for at, machine, zones in wanted:
        if plan.place.cloud == "gcp":
            yield from _sold_by_google(plan, at, machine, zones)
        elif plan.place.zone_assumed and not plan.network.existing_id:
            yield _guessed(plan, at, machine)


def _sold_by_google(plan: StackPlan, at: At, machine: str, zones: tuple[str, ...]) -> Iterator[Broken]:
    sold = [zone for row in Catalog.default().places_by_sku.get(machine, ()) for zone in row.zones]
    if not sold and plan.place.zone_assumed:
        words = f"which zones sell {machine} is not published here, and {plan.place.zone} is a guess"
        yield Broken(at, f"name one in infra's zones: {LIST_GCP.format(machine, plan.place.region)}", words, Level.WARNING)
    elif sold and not set(zones) <= set(sold):
        here = sorted(zone for zone in sold if zone.startswith(plan.place.region)) or ["none in this region"]
        yield Broken(at, f"zones that sell it: {', '.join(here)}", f"{machine} in {', '.join(zones)}")


def _guessed(plan: StackPlan, at: At, machine: str) -> Broken:
    """AWS publishes zone ids, which map to other names in every account: which letter sells the machine, only the account knows."""
    rows = Catalog.default().places_by_sku.get(machine, ())
    ids = ", ".join(zone for row in rows if row.region == plan.place.region for zone in row.zones)
    words = f"{plan.place.zone} is a guess for {machine}" + (f", sold in {ids}: every account has other letters for these" if ids else "")
    return Broken(at, f"name one in infra's zones: {LIST_AWS.format(machine, plan.place.region)}", words, Level.WARNING)


@rule("V-31", Level.ERROR, "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html")
def fabric_stays_in_one_zone(plan: StackPlan) -> Iterator[Broken]:
    """A fabric never crosses zones, so all accelerators of a plan share one."""
    zones = {zone for _, pool in accelerators(plan) if pool.fabric not in (Fabric.NONE, Fabric.TCP) for zone in pool.zones}
    if len(zones) > 1:
        yield Broken(At() / "pools", "use one zone", f"got {', '.join(sorted(zones))}")


@rule("V-73", Level.ERROR, "https://cloud.google.com/kubernetes-engine/docs/how-to/compact-placement")
def compact_placement_has_bounds(plan: StackPlan) -> Iterator[Broken]:
    """GKE places machines compactly in one zone only, and 1,500 of them at most."""
    if plan.place.cloud != "gcp":
        return
    for at, pool in accelerators(plan):
        if pool.adjacent and len(pool.zones) != 1:
            yield Broken(at / "zones", "name one zone", f"{pool.name} has {len(pool.zones)}")
        if pool.adjacent and pool.nodes_max > COMPACT_MOST:
            yield Broken(at / "nodes_max", "split it into several pools", f"{pool.name} has {pool.nodes_max}", Level.WARNING)


def _pod_network(plan: StackPlan) -> Iterator[tuple[At, AddonWant]]:
    yield from ((At() / "addons" / i, addon) for i, addon in enumerate(plan.addons) if addon.name == "pod-network")


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.lstrip("v").partition("-")[0].split("."))
