"""EFA interfaces and security groups, and the pod addresses of machines with many interfaces."""

from collections import Counter
from collections.abc import Iterator

from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import Fabric, Machine
from rackwright.clouds import profile
from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import AddonPlan, BlueprintKind, StackPlan
from rackwright.stackplan.addresses import max_pods
from rackwright.validation.stack.registry import accelerators, catalog_rule, machines, pools, release_numbers, rule

EFA_GUIDE = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start.html"
EFA_LAYOUT = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html"
ADDRESSES = "https://docs.aws.amazon.com/eks/latest/userguide/cni-increase-ip-addresses.html"
USUAL_NODE_PODS = 110
"""Pods per node that Kubernetes is designed for (kubernetes.io/docs/setup/best-practices/cluster-large); V-27 warns below it."""


@catalog_rule("V-14", Level.ERROR, EFA_GUIDE, invariant=True)
def machine_supports_efa(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """Only machines that support EFA have EFA interfaces."""
    for at, pool in accelerators(plan):
        machine = catalog.machine_by_name.get(pool.machine)
        if pool.nics and machine and machine.fabric is not Fabric.EFA:
            yield Violation(at / "nics", "remove the interfaces, or pin a machine with EFA", f"{pool.machine} does not support EFA")


@catalog_rule("R-80", Level.ERROR, EFA_LAYOUT)
def interface_layout_is_published(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """The assignment of EFA interfaces to network cards is published by AWS for the instance type."""
    for at, pool, machine in machines(plan, catalog):
        if machine.fabric is Fabric.EFA and not machine.efa_cards:
            conflict = f": {machine.conflict}" if machine.conflict else ""
            same = (row for row in catalog.machines if row.accelerator == machine.accelerator)
            alternatives = ", ".join(row.name for row in same if row.efa_cards and row.orderable)
            fix = f"pin a machine with a published layout: {alternatives}" if alternatives else "pin a machine with another accelerator"
            yield Violation(at / "machine", fix, f"AWS does not publish the interface layout of {pool.machine}{conflict}")


@catalog_rule("V-15", Level.ERROR, EFA_LAYOUT, invariant=True)
def efa_interface_count(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """A pool attaches at most the EFA interfaces of its instance type, and should attach all of them."""
    for at, pool, machine in machines(plan, catalog):
        attached = pool.fabric_interfaces
        if not attached or machine.efa_interfaces in (None, attached):
            continue
        partial = attached < (machine.efa_interfaces or 0)
        if partial and _requires_all_interfaces(plan, machine):
            continue
        message = f"{pool.machine} has {machine.efa_interfaces} EFA interfaces; the pool attaches {attached}"
        yield Violation(at / "nics", f"attach {machine.efa_interfaces}", message, level=Level.WARNING if partial else Level.ERROR)


@catalog_rule("V-20", Level.ERROR, EFA_LAYOUT, invariant=True)
def training_attaches_all_efa_interfaces(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """Training pools attach all EFA interfaces: 32 on p5 and p5e, 16 on p5en, p6-b300 and trn2, 8 on p6-b200, 4 on p4d."""
    for at, pool, machine in machines(plan, catalog):
        attached, count = pool.fabric_interfaces, len(machine.efa_cards or ())
        if _requires_all_interfaces(plan, machine) and attached < count:
            message = f"Training pools must attach all EFA interfaces: {pool.machine} has {count}, the pool attaches {attached}"
            yield Violation(at / "nics", f"use the catalog's layout of {count}", message)


def _requires_all_interfaces(plan: StackPlan, machine: Machine) -> bool:
    """Skypilot issue 8391 measured a quarter of the speed with one of four interfaces."""
    return plan.kind is BlueprintKind.TRAINING_CLUSTER and machine.needs_whole_fabric


@rule("V-16", Level.ERROR, EFA_LAYOUT, invariant=True)
def primary_interface_has_ip(plan: StackPlan) -> Iterator[Violation]:
    """The interface at card 0, device 0 is an IP interface, never EFA-only."""
    for at, pool in accelerators(plan):
        for index, nic in enumerate(pool.nics):
            if (nic.card, nic.device) == (0, 0) and nic.kind != "ip":
                message = "The interface at card 0, device 0 is EFA-only; the primary interface needs an IP address"
                yield Violation(at / "nics" / index, "set its kind to ip", message)


@rule("V-17", Level.ERROR, EFA_LAYOUT, invariant=True)
def one_primary_interface(plan: StackPlan) -> Iterator[Violation]:
    """Exactly one interface is at card 0, device 0."""
    for at, pool in accelerators(plan):
        count = sum((nic.card, nic.device) == (0, 0) for nic in pool.nics)
        if pool.nics and count != 1:
            message = f"{count or 'No'} interfaces are at card 0, device 0; exactly one is required"
            yield Violation(at / "nics", "put one IP interface there", message)


@catalog_rule("V-18", Level.ERROR, EFA_LAYOUT, invariant=True)
def interface_positions_are_valid(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """Each interface has a card and device of the machine that no other uses; a card has at most one EFA interface."""
    for at, pool in accelerators(plan):
        machine = catalog.machine_by_name.get(pool.machine)
        for (card, device), count in Counter((nic.card, nic.device) for nic in pool.nics).items():
            if count > 1:
                yield Violation(at / "nics", "move one", f"{count} interfaces are at card {card}, device {device}")
        for card, count in Counter(nic.card for nic in pool.nics if nic.kind == "fabric").items():
            if count > 1:
                yield Violation(at / "nics", "keep one", f"Card {card} has {count} EFA interfaces; the limit is 1")
        cards, devices = (machine.network_cards, machine.enis_per_card) if machine else (None, None)
        for index, nic in enumerate(pool.nics):
            if (cards and nic.card >= cards) or (devices and nic.device >= devices):
                message = f"{pool.machine} has no card {nic.card} with device {nic.device}"
                yield Violation(at / "nics" / index, "use the catalog's layout", message)


@catalog_rule("V-19", Level.ERROR, EFA_LAYOUT, invariant=True)
def card_zero_supports_efa(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """Some machines, such as p6-b300, do not support EFA on card 0."""
    for at, pool, machine in machines(plan, catalog):
        for index, nic in enumerate(pool.nics):
            if nic.card == 0 and nic.kind == "fabric" and not machine.card0_efa:
                message = f"{pool.machine} does not support EFA on network card 0"
                yield Violation(at / "nics" / index, "start EFA interfaces at card 1", message)


@rule("V-21", Level.ERROR, EFA_GUIDE, invariant=True)
def efa_group_allows_itself(plan: StackPlan) -> Iterator[Violation]:
    """The EFA security group must allow all traffic to and from itself; CIDR rules do not count."""
    if any(pool.nics for _, pool in accelerators(plan)) and not plan.network.self_reachable:
        message = "The EFA security group does not allow traffic to and from itself"
        yield Violation(At() / "network" / "self_reachable", "set it to true, or remove it", message)


@catalog_rule("V-26", Level.ERROR, "https://docs.aws.amazon.com/eks/latest/userguide/node-efa.html")
def pod_network_supports_efa_only(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """EFA-only interfaces require version 1.18.5 or newer of the pod network add-on."""
    if not any(pool.nics for _, pool in accelerators(plan)):
        return
    oldest = catalog.supported_version("efa-only-interfaces").first_release
    for at, addon in _pod_network(plan):
        if release_numbers(addon.version) < release_numbers(oldest):
            message = f"The pod network add-on has version {addon.version}; EFA-only interfaces require {oldest} or newer"
            yield Violation(at / "version", f"pin {oldest} or newer", message)


@catalog_rule("V-27", Level.WARNING, ADDRESSES, invariant=True)
def nodes_have_pod_addresses(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """Pods take addresses from card 0 only, so EFA machines should use prefix delegation to have addresses for 110 pods."""
    limits = {pool.machine: max_pods(machine, pool.nics, prefixes=False) for _, pool, machine in machines(plan, catalog) if pool.nics}
    few = [f"{name} has addresses for {limit} pods" for name, limit in limits.items() if limit is not None and limit < USUAL_NODE_PODS]
    for at, addon in _pod_network(plan):
        if few and not _delegates_prefixes(addon):
            message = f"Without prefix delegation the nodes run out of pod addresses: {'; '.join(few)}"
            yield Violation(at / "values", "set ENABLE_PREFIX_DELEGATION to true", message)


@rule("R-82", Level.ERROR, ADDRESSES, invariant=True)
def prefix_delegation_is_on(plan: StackPlan) -> Iterator[Violation]:
    """Prefix delegation is on where a pool's maximum number of pods relies on it."""
    for at, addon in _pod_network(plan):
        relying = [pool.name for _, pool in pools(plan) if pool.pod_prefixes]
        if relying and not _delegates_prefixes(addon):
            message = f"Prefix delegation is off, but the pod limits of {', '.join(relying)} rely on it"
            yield Violation(at / "values", "set ENABLE_PREFIX_DELEGATION to true", message)


@catalog_rule("R-83", Level.ERROR, ADDRESSES, invariant=True)
def pod_limit_fits_addresses(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """A node on EKS has at most as many pods as card 0 has addresses, and as node groups allow."""
    for at, pool in pools(plan):
        machine = catalog.machine_by_name.get(pool.machine)
        limit = max_pods(machine, pool.nics, pool.pod_prefixes) if machine and profile(machine.cloud).pods_use_subnet else None
        if limit is not None and pool.max_pods is not None and pool.max_pods > limit:
            yield Violation(at / "max_pods", f"set it to {limit}", f"max_pods is {pool.max_pods}; the limit of {pool.machine} is {limit}")


def _delegates_prefixes(addon: AddonPlan) -> bool:
    return dict(addon.values).get("env", {}).get("ENABLE_PREFIX_DELEGATION") == "true"


def _pod_network(plan: StackPlan) -> Iterator[tuple[At, AddonPlan]]:
    yield from ((At() / "addons" / i, addon) for i, addon in enumerate(plan.addons) if addon.name == "pod-network")
