"""S-186 to S-199: inventories of own servers, and the options of their places."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from ipaddress import IPv4Network

from rackwright.catalog import query
from rackwright.clouds import profile
from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.sizing.offers.own_servers import accelerator_of, port_bytes_per_s, rdma_nic, server_model
from rackwright.sizing.offers.sharing import profiles_of
from rackwright.spec.base import quote
from rackwright.spec.infra import Place
from rackwright.spec.inventory import Gpus, Nic, Node, ServerGroup
from rackwright.spec.own_servers import RdmaFabric
from rackwright.spec.reading.inventory_file import FORM, InventoryError, inventory_of
from rackwright.spec.reading.model_fields import did_you_mean
from rackwright.stackplan.namespaces import is_reserved
from rackwright.validation.spec.registry import SpecContext, rule

OPTIONS = ("node_cost", "fabric", "namespace")
"""Keys of a place that only own servers have."""
PARTS = ("purchase", "lifetime", "electricity")
"""Keys of node_cost besides per_hour; all three are required together."""
NAMELESS_PORTS = {
    "shared": "",
    "sriov": ", because the operator may change firmware and link type of every port of the vendor",
    "roce": ", because every Ethernet port of the vendor would be used, and pods would take the server's own connection",
}
"""Why ports have names, by mode."""
RARE_RANGES = ("198.18.0.0/15", "172.20.0.0/15", "10.160.0.0/12", "192.168.0.0/16")
"""Ranges that a message proposes, rarely used ones first."""
RANGE_USERS = {"pod_cidr": "pods", "service_cidr": "services", "node_cidr": "nodes"}
"""Key of the inventory's `cluster` -> what has these addresses."""
DRIVER_SYSTEMS = re.compile(r"(ubuntu|rhel|red hat|rocky|coreos|openshift)", re.IGNORECASE)
"""Systems for which NVIDIA publishes driver containers."""
HOST_LABEL = "kubernetes.io/hostname"
"""Kubernetes sets it on every node."""
NETWORK_GUIDE = "https://docs.nvidia.com/networking/display/kubernetes2641/index.html"
GPU_GUIDE = "https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/platform-support.html"
MIG_GUIDE = "https://docs.nvidia.com/datacenter/tesla/mig-user-guide/supported-mig-profiles.html"


@rule("S-186")
def inventory_is_valid(context: SpecContext) -> Iterator[Violation]:
    """An inventory must be a readable file or a mapping, with the keys of docs/kubernetes.md."""
    for at, place in context.places:
        try:
            inventory_of(place, context.folder)
        except InventoryError as error:
            for problem in error.problems:
                yield Violation(at / "inventory", problem.fix or FORM, problem.reason)


@rule("S-187")
def servers_of_a_group_are_equal(context: SpecContext) -> Iterator[Violation]:
    """All servers of a group have the same GPUs, because one pool and one job use all of them."""
    for at, group in context.server_groups:
        model, usual = server_model(group, context.catalog), group.gpus
        odd = [node for node in group.nodes if isinstance(node, Node) and node.gpus and node.gpus != usual]
        if odd:
            found = ", ".join(f"{node.name} has {_gpus(node.gpus)}" for node in odd[:3])
            message = f"The servers of group {group.name} have mixed GPUs: {_gpus(usual)} in most, but {found}"
            yield Violation(at, f"list {odd[0].name} in a group with its own `gpus`, or repair the server", message)
        card = accelerator_of(group, context.catalog)
        if model and usual and card and (card.name, usual.count) != (model.accelerator, model.accelerator_count):
            message = f"Group {group.name} has {_gpus(usual)}; its model {group.model} has {model.accelerator_count} x {model.accelerator}"
            yield Violation(at, f"correct `gpus`, or leave `model` out of group {group.name}", message)


@rule("S-188")
def hardware_is_in_the_catalog(context: SpecContext) -> Iterator[Violation]:
    """The catalog has the GPUs, server models and InfiniBand speeds of an inventory."""
    catalog = context.catalog
    for at, group in context.server_groups:
        if group.model and server_model(group, catalog) is None:
            near = did_you_mean(group.model, [server.machine for server in catalog.servers]) or "leave `model` out, and set `gpus`"
            yield Violation(at, near, f"Group {group.name}: {quote(group.model)} is not a server of the catalog")
        if group.gpus and query.accelerator(catalog, group.gpus.model) is None:
            near = did_you_mean(group.gpus.model, list(catalog.accelerator_by_name)) or "`rackwright catalog` lists them"
            yield Violation(at, near, f"Group {group.name}: {quote(group.gpus.model)} is not an accelerator of the catalog")
        for nic in group.nics:
            if port_bytes_per_s(nic, catalog) is None:
                speeds = ", ".join(row.name for row in catalog.link_speeds)
                unknown = f"{quote(nic.speed)} is not a speed of InfiniBand"
                found = f"the {nic.kind} ports have no `speed`" if nic.speed is None else unknown
                message = f"Group {group.name}: {found}"
                yield Violation(at, f"use {speeds}, or such as 400 Gbit/s", message)


@rule("S-189", link=MIG_GUIDE)
def mig_profile_exists(context: SpecContext) -> Iterator[Violation]:
    """A MIG profile is one that the GPU supports."""
    for at, group in context.server_groups:
        card = accelerator_of(group, context.catalog)
        if group.gpus is None or group.gpus.mig is None or card is None:
            continue
        supported = [row.profile for row in profiles_of(card.name, context.catalog)]
        if group.gpus.mig not in supported:
            fix = f"use {', '.join(supported)}" if supported else "remove `mig`"
            why = "" if supported else ", which cannot be divided"
            yield Violation(at, fix, f"Group {group.name}: the MIG profile {group.gpus.mig} does not exist on {card.name}{why}")


@rule("S-190", link=NETWORK_GUIDE)
def servers_have_the_fabric(context: SpecContext) -> Iterator[Violation]:
    """Every server with GPUs has RDMA ports where the place sets `fabric`, or where other servers of the inventory have them."""
    for at, place, groups in _places(context):
        with_gpus = [group for group in groups if accelerator_of(group, context.catalog)]
        lacking, having = [g for g in with_gpus if not g.rdma_nics], [g for g in with_gpus if g.rdma_nics]
        for group in lacking if place.fabric or having else ():
            joined = f"group {having[0].name} has {having[0].rdma_nics[0].kind}" if having else "the place sets `fabric`"
            message = f"The servers of group {group.name} have no InfiniBand or RoCE ports, and {joined}: {', '.join(group.node_names[:4])}"
            fix = f"add `nics` to group {group.name}, or move it to a second inventory, and name that in a second place"
            level = Level.ERROR if place.fabric and not having else Level.WARNING
            yield Violation(at / "inventory", fix, message, level=level)


@rule("S-191")
def namespace_is_free(context: SpecContext) -> Iterator[Violation]:
    """The namespace of a stack must not be one of Kubernetes or of an operator."""
    for at, place in context.places:
        inventory = context.inventory(place)
        of_operators = {each.namespace for each in inventory.installed} if inventory else set()
        if place.namespace and (place.namespace in of_operators or is_reserved(place.namespace)):
            message = f"The namespace {place.namespace} belongs to Kubernetes or an operator; a teardown would delete it"
            yield Violation(at / "namespace", f"use such as {context.spec.name}", message)


@rule("S-192")
def options_are_of_own_servers(context: SpecContext) -> Iterator[Violation]:
    """`node_cost`, `fabric` and `namespace` are valid for own servers only."""
    for at, place in context.places:
        for key in OPTIONS if not profile(place.cloud).is_owned else ():
            if key in place.model_fields_set:
                message = f"`{key}` is valid for own servers only; this place is on {place.cloud}"
                yield Violation(at / key, "leave it out, or use a place with an `inventory`", message, about_key=True)


@rule("S-193")
def node_cost_is_complete(context: SpecContext) -> Iterator[Violation]:
    """`node_cost` has either `per_hour`, or `purchase`, `lifetime` and `electricity`."""
    for at, place in context.places:
        cost = place.node_cost
        if cost is None:
            continue
        parts = [key for key in PARTS if getattr(cost, key) is not None]
        if cost.per_hour is not None and parts:
            message = f"`per_hour` includes everything, and {', '.join(parts)} are set too"
            yield Violation(at / "node_cost", "remove `per_hour`, or the others", message)
        elif cost.per_hour is None and len(parts) < len(PARTS):
            missing = ", ".join(key for key in PARTS if key not in parts)
            yield Violation(at / "node_cost", f"add {missing}, or set per_hour: 18 USD", f"The cost of a server lacks {missing}")


@rule("S-194", link=NETWORK_GUIDE)
def fabric_options_fit_the_mode(context: SpecContext) -> Iterator[Violation]:
    """Options of `fabric` must be options of its mode."""
    for at, place, groups in _places(context):
        used = [(group.name, nic) for group in groups if (nic := rdma_nic(group, context.catalog))]
        for key, message, fix in _fabric_mistakes(place.fabric or RdmaFabric(), used):
            yield Violation(at / "fabric" / key if place.fabric else at / "inventory", fix, message)


def _fabric_mistakes(fabric: RdmaFabric, used: Sequence[tuple[str, Nic]]) -> Iterator[tuple[str, str, str]]:
    """(key, message, fix) of each option that the mode does not have. used: (group, its RDMA ports)."""
    mode, infiniband = fabric.mode, all(nic.kind == "infiniband" for _, nic in used)
    if fabric.pkey and (mode != "sriov" or not infiniband):
        yield "pkey", f"A PKey is set for virtual functions of InfiniBand ports; the mode is {mode}", "set mode: sriov, or remove `pkey`"
    if fabric.pkey and not fabric.ufm_secret:
        yield "pkey", "UFM assigns the PKey, and `ufm_secret` is not set", "set ufm_secret: ufm-credentials"
    if "virtual_functions" in fabric.model_fields_set and mode != "sriov":
        yield "virtual_functions", f"Mode {mode} has no virtual functions", "remove it, or set mode: sriov"
    if fabric.mtu and mode != "sriov" and (infiniband or mode == "host-device"):
        yield "mtu", f"Mode {mode} uses the MTU of the servers' ports", "remove it, and set the MTU on the servers"
    nameless = [name for name, nic in used if not nic.rails or not all(rail.interface or rail.resource for rail in nic.rails)]
    if nameless and (mode != "host-device" or not infiniband):
        why = NAMELESS_PORTS["roce" if mode == "host-device" else mode]
        message = f"Mode {mode} needs the names of the ports{why}, and group {nameless[0]} has no `rails` with `interface`"
        yield "mode", message, "add rails to the NICs of the inventory: [{interface: ibs1f0}, ...]"


@rule("S-199", link="https://docs.tigera.io/calico/latest/networking/ipam/initial-ippool")
def rails_have_free_addresses(context: SpecContext) -> Iterator[Violation]:
    """The addresses of the rails are none of the cluster's pods, services and nodes."""
    for at, place, groups in _places(context):
        inventory, fabric = inventory_of(place, context.folder), place.fabric or RdmaFabric()
        if inventory is None or not any(group.rdma_nics for group in groups):
            continue
        where = at / "fabric" / "addresses" if place.fabric else at / "inventory"
        ranges = [("addresses", fabric.addresses), *((key, text) for key, texts in inventory.cluster.ranges.items() for text in texts)]
        for key, text in ranges:
            if _range(text) is None:
                message = f"`{key}` is {quote(text)}, which is not an IPv4 range"
                yield Violation(where if key == "addresses" else at / "inventory", "write it such as 198.18.0.0/15", message)
        taken = [(key, text, network) for key, text in ranges[1:] if (network := _range(text))]
        free = next((each for each in RARE_RANGES if not any(IPv4Network(each).overlaps(network) for _, _, network in taken)), "...")
        rails = _range(fabric.addresses)
        for key, text, network in taken:
            if rails and rails.overlaps(network):
                used = RANGE_USERS[key]
                message = f"The rails use {fabric.addresses}, which overlaps {text} of the {used} of cluster {inventory.cluster.name}"
                yield Violation(where, f"set fabric: {{addresses: {free}}}, if no server uses this range", message)


def _range(text: str) -> IPv4Network | None:
    """The range; None where the text is none."""
    try:
        return IPv4Network(text, strict=False)
    except ValueError:
        return None


@rule("S-195")
def names_are_unique(context: SpecContext) -> Iterator[Violation]:
    """Groups, nodes and storage of an inventory have different names, and a NIC has as many rails as ports."""
    for at, place, groups in _places(context):
        inventory = inventory_of(place, context.folder)
        storage = inventory.storage if inventory else ()
        named = {
            "group": [group.name for group in groups],
            "node": [name for group in groups for name in group.node_names],
            "storage": [entry.name for entry in storage],
        }
        for what, names in named.items():
            for name in (name for name, count in Counter(names).items() if count > 1):
                yield Violation(at / "inventory", "remove one", f"The {what} {name} is listed twice in the inventory")
        for group in groups:
            for nic in (nic for nic in group.nics if nic.rails and len(nic.rails) != nic.count):
                message = f"Group {group.name} has {nic.count} {nic.kind} ports, and `rails` lists {len(nic.rails)}"
                yield Violation(at / "inventory", f"list {nic.count} rails, or none", message)
            for nic in group.nics:
                existing = [bool(rail.resource) + bool(rail.network) for rail in nic.rails]
                if any(existing) and min(existing) < 2:
                    message = f"Some of the {len(existing)} rails of group {group.name} have `resource` or `network`, not all of them both"
                    yield Violation(at / "inventory", "set both on every rail, or on none", message)


@rule("S-196", link=GPU_GUIDE)
def driver_containers_exist(context: SpecContext) -> Iterator[Violation]:
    """The GPU operator installs drivers on systems for which NVIDIA publishes driver containers."""
    for at, place, groups in _places(context):
        operator = (place.fabric or RdmaFabric()).gpu_driver == "operator"
        for group in groups:
            if operator and group.os and not DRIVER_SYSTEMS.search(group.os):
                message = f"Group {group.name} runs {quote(group.os)}, for which NVIDIA publishes no driver container"
                yield Violation(at / "inventory", "install the driver on the servers, and set fabric: {gpu_driver: host}", message)


# The device plugin selects ports by their names; without names it takes every RDMA port of NVIDIA, those of storage too.
@rule("S-197", Level.WARNING, link=NETWORK_GUIDE)
def rdma_ports_are_of_one_kind(context: SpecContext) -> Iterator[Violation]:
    """The RDMA ports of a server are of one kind and speed, because jobs use one kind for all rails."""
    for at, group in context.server_groups:
        used = rdma_nic(group, context.catalog)
        unused = [nic for nic in group.rdma_nics if nic is not used]
        if used is None or not unused:
            continue
        others = ", ".join(map(_ports, unused))
        if used.has_interfaces:
            message = f"Group {group.name}: jobs use {_ports(used)}, and not {others}"
            yield Violation(at, f"remove the ports that jobs do not use from `nics` of group {group.name}", message)
        else:
            message = f"Group {group.name} has {_ports(used)} without names, and {others}: one resource would mix them"
            fix = f"name the {used.count} ports of jobs in `rails` with `interface`, or remove the others from `nics`"
            yield Violation(at, fix, message, level=Level.ERROR)


@rule("S-198", link="https://kueue.sigs.k8s.io/docs/concepts/topology_aware_scheduling/")
def topology_labels_are_on_all_nodes(context: SpecContext) -> Iterator[Violation]:
    """Every node of a group with GPUs has each of `topology_labels`: Kueue places no job on a node without one."""
    for at, place, groups in _places(context):
        inventory = context.inventory(place)
        labels = inventory.cluster.topology_labels if inventory else ()
        with_gpus = [group for group in groups if accelerator_of(group, context.catalog)]
        for label, group in ((label, group) for label in labels if label != HOST_LABEL for group in with_gpus):
            if lacking := group.lacks_label(label):
                message = f"{len(lacking)} of {len(group.nodes)} nodes of group {group.name} lack {label}, a level of `topology_labels`"
                fix = f"set it in `labels` of {', '.join(lacking[:4])}, or remove it from `topology_labels`"
                yield Violation(at / "inventory", fix, message)


def _ports(nic: Nic) -> str:
    return f"{nic.count} x {nic.kind}" + (f" {nic.speed}" if nic.speed else "")


def _places(context: SpecContext) -> Iterator[tuple[At, Place, tuple[ServerGroup, ...]]]:
    """Places with a valid inventory, and its groups."""
    for at, place in context.places:
        if inventory := context.inventory(place):
            yield at, place, inventory.servers


def _gpus(gpus: Gpus | None) -> str:
    return f"{gpus.count} x {gpus.model}" + (f" ({gpus.mig})" if gpus.mig else "") if gpus else "those of the model"
