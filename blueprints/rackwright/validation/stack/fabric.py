"""Fabrics: interfaces where the machine has them, and addresses for the pods of machines that have many."""

from collections import Counter
from collections.abc import Iterator

from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import Fabric, Machine
from rackwright.clouds import profile
from rackwright.compile.nodes.fabric import most_pods
from rackwright.compile.operators.versions import EKS_ADDONS
from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import AddonPlan, BlueprintKind, NicPlan, PoolPlan, StackPlan
from rackwright.validation.stack.registry import accelerators, pools, rule

EFA_GUIDE = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start.html"
EFA_LAYOUT = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html"
EFA_ONLY_POD_NETWORK = (1, 18, 5)
ADDRESSES = "https://docs.aws.amazon.com/eks/latest/userguide/cni-increase-ip-addresses.html"
FEW_PODS = 110
"""What Kubernetes expects a node to hold (kubernetes.io/docs/setup/best-practices/cluster-large), and recipes V-27 warns below."""
ALL_OR_NOTHING = ("p4d.", "p4de.", "p5.48xlarge", "p5e.", "p5en.", "p6-", "p6e-", "trn1.32xlarge", "trn1n.", "trn2.48xlarge", "trn2u.")
"""Machines rented for their fabric: a job on part of it waits for the network (skypilot issue 8391: one of four interfaces, a quarter)."""


def machine_of(pool: PoolPlan) -> Machine | None:
    return Catalog.default().machine_by_name.get(pool.machine)


@rule("V-14", Level.ERROR, EFA_GUIDE, invariant=True)
def machine_has_the_fabric(plan: StackPlan) -> Iterator[Violation]:
    """Fabric interfaces are only for machines that have the fabric."""
    for at, pool in accelerators(plan):
        machine = machine_of(pool)
        if pool.nics and machine and machine.fabric is not Fabric.EFA:
            yield Violation(at / "nics", "leave the interfaces out, or pin a machine with EFA", detail=f"{pool.machine} has none")


@rule("R-80", Level.ERROR, EFA_LAYOUT)
def interfaces_of_the_machine_are_known(plan: StackPlan) -> Iterator[Violation]:
    """Which interface goes on which network card is AWS's to say, and not to be guessed where its pages are silent or disagree."""
    for at, pool in accelerators(plan):
        machine = machine_of(pool)
        if machine and machine.fabric is Fabric.EFA and not machine.efa_cards:
            words = machine.conflict or f"no page gives the interfaces of {pool.machine}"
            known = ", ".join(_same_accelerator(machine)) or "another accelerator"
            yield Violation(at / "machine", f"pin a machine whose interfaces are published: {known}", detail=words)


@rule("V-15", Level.ERROR, EFA_LAYOUT, invariant=True)
def fabric_interfaces_are_as_many_as_the_machine_has(plan: StackPlan) -> Iterator[Violation]:
    """A machine takes as many fabric interfaces as it has, and a training job wants all of them."""
    for at, pool in accelerators(plan):
        machine, asked = machine_of(pool), pool.fabric_interfaces
        if not asked or machine is None or machine.efa_interfaces in (None, asked):
            continue
        less = asked < (machine.efa_interfaces or 0)
        if less and _whole_fabric(plan, pool):
            continue
        level = Level.WARNING if less else Level.ERROR
        yield Violation(
            at / "nics",
            f"ask for {machine.efa_interfaces}",
            detail=f"{pool.machine} has {machine.efa_interfaces}, {asked} are asked for",
            level=level,
        )


@rule("V-20", Level.ERROR, EFA_LAYOUT, invariant=True)
def training_takes_the_whole_fabric(plan: StackPlan) -> Iterator[Violation]:
    """Training on machines rented for their fabric takes all of it: p5, p5e 32 interfaces, p5en, p6-b300, trn2 16, p6-b200 8, p4d 4."""
    for at, pool in accelerators(plan):
        machine, asked = machine_of(pool), pool.fabric_interfaces
        if machine and machine.efa_cards and _whole_fabric(plan, pool) and asked < len(machine.efa_cards):
            words = f"{pool.machine} has {len(machine.efa_cards)}, {asked} are asked for"
            yield Violation(at / "nics", f"use the catalog's layout of {len(machine.efa_cards)}", detail=words)


def _whole_fabric(plan: StackPlan, pool: PoolPlan) -> bool:
    return plan.kind is BlueprintKind.TRAINING_CLUSTER and pool.machine.startswith(ALL_OR_NOTHING)


def _same_accelerator(machine: Machine) -> list[str]:
    rows = Catalog.default().machines
    return [row.name for row in rows if row.efa_cards and row.orderable and row.accelerator == machine.accelerator]


@rule("V-16", Level.ERROR, EFA_LAYOUT, invariant=True)
def first_interface_carries_addresses(plan: StackPlan) -> Iterator[Violation]:
    """The interface at card 0, device 0 carries addresses; it is never fabric only."""
    for at, pool in accelerators(plan):
        for index, nic in enumerate(pool.nics):
            if (nic.card, nic.device) == (0, 0) and nic.kind != "ip":
                yield Violation(at / "nics" / index, "make it an IP interface")


@rule("V-17", Level.ERROR, EFA_LAYOUT, invariant=True)
def one_primary_interface(plan: StackPlan) -> Iterator[Violation]:
    """Exactly one interface sits at card 0, device 0."""
    for at, pool in accelerators(plan):
        found = sum((nic.card, nic.device) == (0, 0) for nic in pool.nics)
        if pool.nics and found != 1:
            yield Violation(at / "nics", "put one IP interface there", detail=f"there are {found}")


@rule("V-18", Level.ERROR, EFA_LAYOUT, invariant=True)
def interfaces_do_not_share_a_place(plan: StackPlan) -> Iterator[Violation]:
    """No two interfaces share card and device, a card carries one fabric interface at most, and cards and devices exist."""
    for at, pool in accelerators(plan):
        machine = machine_of(pool)
        places = Counter((nic.card, nic.device) for nic in pool.nics)
        yield from (
            Violation(at / "nics", "move one", detail=f"card {c} device {d} is taken twice") for (c, d), n in places.items() if n > 1
        )
        cards = Counter(nic.card for nic in pool.nics if nic.kind == "fabric")
        yield from (Violation(at / "nics", "keep one", detail=f"card {c} has {n} fabric interfaces") for c, n in cards.items() if n > 1)
        for index, nic in enumerate(pool.nics):
            if machine and not _exists(machine, nic):
                words = f"{pool.machine} has no card {nic.card} device {nic.device}"
                yield Violation(at / "nics" / index, "use the catalog's layout", detail=words)


def _exists(machine: Machine, nic: NicPlan) -> bool:
    """Unknown counts refuse nothing."""
    return nic.card < (machine.network_cards or nic.card + 1) and nic.device < (machine.enis_per_card or nic.device + 1)


@rule("V-19", Level.ERROR, EFA_LAYOUT, invariant=True)
def card_zero_may_lack_the_fabric(plan: StackPlan) -> Iterator[Violation]:
    """Some machines (p6-b300) carry no fabric on card 0."""
    for at, pool in accelerators(plan):
        machine = machine_of(pool)
        if machine is None or machine.card0_efa:
            continue
        for index, nic in enumerate(pool.nics):
            if nic.card == 0 and nic.kind == "fabric":
                yield Violation(at / "nics" / index, "start the fabric at card 1", detail=f"{pool.machine} is one")


@rule("V-21", Level.ERROR, EFA_GUIDE, invariant=True)
def efa_group_reaches_itself(plan: StackPlan) -> Iterator[Violation]:
    """EFA needs the security group to allow all traffic to and from itself; a CIDR rule does not count."""
    if any(pool.nics for _, pool in accelerators(plan)) and not plan.network.self_reachable:
        yield Violation(At() / "network" / "self_reachable", "leave it out, or set it to true")


@rule("V-26", Level.ERROR, "https://docs.aws.amazon.com/eks/latest/userguide/node-efa.html")
def pod_network_knows_fabric_only_interfaces(plan: StackPlan) -> Iterator[Violation]:
    """Fabric-only interfaces need the pod network add-on at 1.18.5 or newer."""
    if not any(pool.nics for _, pool in accelerators(plan)):
        return
    for at, addon in _pod_network(plan):
        if _version(addon.version) < EFA_ONLY_POD_NETWORK:
            yield Violation(at / "version", f"pin {EKS_ADDONS['pod-network']}", detail=f"got {addon.version}")


@rule("V-27", Level.WARNING, ADDRESSES, invariant=True)
def pods_do_not_run_out_of_addresses(plan: StackPlan) -> Iterator[Violation]:
    """Pods take addresses from card 0 alone, which is few on EFA machines unless the pod network hands out prefixes."""
    for at, addon in _pod_network(plan):
        few = [words for words in map(_few_pods, (pool for _, pool in accelerators(plan))) if words]
        if few and not _hands_out_prefixes(addon):
            yield Violation(at / "values", "set ENABLE_PREFIX_DELEGATION to true", detail="; ".join(few))


@rule("R-82", Level.ERROR, ADDRESSES, invariant=True)
def prefixes_that_are_counted_on_are_handed_out(plan: StackPlan) -> Iterator[Violation]:
    """Where the number of pods of a machine counts on prefixes, the pod network hands them out, or pods start without an address."""
    for at, addon in _pod_network(plan):
        counting = [pool.name for _, pool in pools(plan) if pool.pod_prefixes]
        if counting and not _hands_out_prefixes(addon):
            yield Violation(at / "values", "set ENABLE_PREFIX_DELEGATION to true", detail=f"{', '.join(counting)} count on them")


@rule("R-83", Level.ERROR, ADDRESSES, invariant=True)
def pods_have_addresses(plan: StackPlan) -> Iterator[Violation]:
    """A machine on EKS has no more pods than its interfaces on card 0 have addresses for, and than EKS lets a node group have."""
    for at, pool in pools(plan):
        machine = machine_of(pool)
        most = most_pods(machine, pool.nics, pool.pod_prefixes) if machine and profile(machine.cloud).pods_use_subnet else None
        if most is not None and pool.max_pods is not None and pool.max_pods > most:
            yield Violation(at / "max_pods", f"set it to {most}", detail=f"{pool.machine} takes {most}, {pool.max_pods} are wanted")


def _few_pods(pool: PoolPlan) -> str:
    machine = machine_of(pool)
    most = most_pods(machine, pool.nics, prefixes=False) if machine and pool.nics else None
    return f"{pool.machine} has room for {most}" if most is not None and most < FEW_PODS else ""


def _hands_out_prefixes(addon: AddonPlan) -> bool:
    return dict(addon.values).get("env", {}).get("ENABLE_PREFIX_DELEGATION") == "true"


def _pod_network(plan: StackPlan) -> Iterator[tuple[At, AddonPlan]]:
    yield from ((At() / "addons" / i, addon) for i, addon in enumerate(plan.addons) if addon.name == "pod-network")


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.lstrip("v").partition("-")[0].split("."))
