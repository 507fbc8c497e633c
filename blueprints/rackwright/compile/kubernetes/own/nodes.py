"""Labels of own nodes, and the pool of the servers that a stack uses."""

from collections.abc import Iterable
from dataclasses import replace

from rackwright.compile.compile_context import CompileContext
from rackwright.compile.existing_cluster import role_label_value
from rackwright.compile.kubernetes.manifests import Body, obj
from rackwright.compile.nodes.sharing import sharing_labels, sharing_plan
from rackwright.diagnostics.errors import Bug
from rackwright.sizing.offers.own_servers import OwnServers, accelerator_of, servers_named
from rackwright.spec.inventory import ServerGroup
from rackwright.stackplan import CapacityPlan, ManifestPlan, PoolPlan, SharingPlan, TaintPlan
from rackwright.stackplan.capacity import OWNED
from rackwright.stackplan.labels import RACK_LABEL, RESOURCES, ROLE_LABEL, SYSTEM_LABEL
from rackwright.stackplan.operators import FEATURE_DISCOVERY, GPU_OPERATOR, NETWORK_OPERATOR, NETWORK_OPERATOR_NAMESPACE


def racks(group: ServerGroup) -> dict[str, list[str]]:
    """Rack -> its nodes; empty where a node has none, because a topology level needs the label on every node."""
    found: dict[str, list[str]] = {}
    for node in group.nodes:
        if isinstance(node, str) or node.rack is None:
            return {}
        found.setdefault(node.rack, []).append(node.name)
    return found


def _rule(name: str, nodes: Iterable[str], label: str, value: str) -> Body:
    """A rule of Node Feature Discovery that sets a label on nodes."""
    match = {"feature": "system.name", "matchExpressions": {"nodename": {"op": "In", "value": list(nodes)}}}
    return {"name": name, "labels": {label: value}, "matchFeatures": [match]}


def servers_of_fit(context: CompileContext) -> OwnServers:
    """The group of the inventory that the fit uses. Raises Bug without one: sizing makes fits of groups only."""
    found = servers_named(context.spec, context.candidate.place, context.candidate.machine)
    if found is None:
        raise Bug(f"no group of the inventory is {context.candidate.machine}")
    return found


def cpu_groups(context: CompileContext) -> tuple[ServerGroup, ...]:
    """Groups of the inventory without GPUs."""
    return tuple(group for group in servers_of_fit(context).inventory.servers if not accelerator_of(group, context.catalog))


def existing_charts(context: CompileContext) -> frozenset[str]:
    """Charts that the cluster has and this stack did not install.

    A release of this stack appears in later inventories too; the decision records its version, so the stack keeps it. Node Feature
    Discovery in the namespace of such a release is a part of it.
    """
    recorded = dict(context.running.pins.charts) if context.running.pins else {}
    own = {GPU_OPERATOR: GPU_OPERATOR, NETWORK_OPERATOR: NETWORK_OPERATOR_NAMESPACE}
    spaces = {namespace for chart, namespace in own.items() if chart in recorded}
    installed = servers_of_fit(context).inventory.installed
    parts = {each.name for each in installed if each.name == FEATURE_DISCOVERY and each.namespace in spaces}
    return frozenset(each.name for each in installed) - recorded.keys() - parts


def own_pool(context: CompileContext) -> PoolPlan:
    """The servers of the group, all of which exist."""
    machine, servers = context.machine, servers_of_fit(context)
    return PoolPlan(
        name=servers.group.name,
        machine=machine.name,
        zones=(),
        nodes_min=servers.count,
        nodes_max=servers.count,
        nodes_start=servers.count,
        accelerator=machine.accelerator or "",
        accelerator_count=machine.accelerator_count,
        resource=RESOURCES["gpu"],
        cpu_arch=machine.cpu_arch,
        capacity=CapacityPlan(OWNED),
        labels=((ROLE_LABEL, role_label_value(context.spec.name)),),
        taints=tuple(TaintPlan(taint.key, taint.value, taint.effect) for taint in servers.group.taints),
        fabric=str(machine.fabric),
        local_nvme=bool(machine.local_nvme_bytes),
        provisioner="existing",
        sharing=_own_sharing(context),
    )


def _own_sharing(context: CompileContext) -> SharingPlan | None:
    """The division of the GPUs. A cluster with its own GPU operator offers GPUs that are divided already by the name of whole ones, as the
    strategy `single` does; `rackwright inventory` reads no other strategy."""
    made = sharing_plan(context)
    exists = made is not None and GPU_OPERATOR in existing_charts(context)
    return replace(made, resource=RESOURCES["gpu"]) if made and exists else made


def node_labels(context: CompileContext) -> ManifestPlan:
    """The role label on the group's nodes, set by Node Feature Discovery: one object for any number of nodes.

    https://kubernetes-sigs.github.io/node-feature-discovery/stable/usage/custom-resources.html#nodefeaturerule
    """
    group = servers_of_fit(context).group
    rules = [_rule("servers", group.node_names, ROLE_LABEL, role_label_value(context.spec.name))]
    rules += [_rule(f"rack {rack}", names, RACK_LABEL, rack) for rack, names in racks(group).items()]
    rules += [_rule(label, group.node_names, label, value) for label, value in sharing_labels(sharing_plan(context), "")]
    plain = [name for each in cpu_groups(context) for name in each.node_names]
    rules += [_rule("servers without GPUs", plain, SYSTEM_LABEL, "true")] if plain else []
    spec = {"rules": rules}
    body = obj("nfd.k8s-sigs.io/v1alpha1", "NodeFeatureRule", context.spec.name, spec=spec)
    return ManifestPlan("nodes.labels", body, (GPU_OPERATOR,), layer="operators")
