"""Stacks on own servers: address pools and drivers of RDMA networks, versions of operators, and the age of the inventory."""

from collections.abc import Iterator
from datetime import timedelta
from ipaddress import IPv4Network

from rackwright.catalog.pinned_versions import pinned_versions
from rackwright.clouds import KUBERNETES
from rackwright.diagnostics.problem import At, Level, Stage
from rackwright.diagnostics.rule import Violation
from rackwright.spec.inventory import Inventory
from rackwright.stackplan import StackPlan
from rackwright.stackplan.operators import GPU_OPERATOR, MONITORING, NETWORK_OPERATOR, OPERATED_SERVICE
from rackwright.validation.stack.registry import StackContext, accelerators, context_rule, manifests, release_numbers, rule

MAX_AGE = timedelta(days=1)
"""Age from which nodes, GPUs and operators of a cluster may have changed."""
NETWORKS = ("HostDeviceNetwork", "SriovIBNetwork", "SriovNetwork", "IPoIBNetwork", "MacvlanNetwork", "NetworkAttachmentDefinition")
GPUDIRECT = {NETWORK_OPERATOR: (26,), GPU_OPERATOR: (25, 3)}
"""Oldest GPU operator for GPUDirect RDMA with network operator 26."""
PLATFORMS = "https://docs.nvidia.com/networking/display/kubernetes2641/platform-support.html"
RESERVED_ADDRESSES = 2
"""Network and broadcast address of a subnet."""


@rule("V-106", Level.ERROR, "https://github.com/Mellanox/nvidia-k8s-ipam", on=KUBERNETES)
def rails_have_addresses(plan: StackPlan) -> Iterator[Violation]:
    """Pods use one kind of RDMA network, and each rail has an address for every pod that can use it on every node."""
    kinds = sorted({manifest.body["kind"] for _, manifest in manifests(plan, *NETWORKS)})
    if len(kinds) > 1:
        message = f"Rails have networks of {len(kinds)} kinds: {', '.join(kinds)}"
        yield Violation(At() / "manifests", "set one `mode` in `fabric`", message)
    nodes = sum(pool.nodes_max for _, pool in accelerators(plan))
    for at, manifest in manifests(plan, "IPPool"):
        spec = manifest.body["spec"]
        need, have = nodes * spec["perNodeBlockSize"], IPv4Network(spec["subnet"]).num_addresses - RESERVED_ADDRESSES
        if need > have:
            message = f"Rail {manifest.body['metadata']['name']} has {have:,} addresses; {nodes} nodes need {need:,}"
            yield Violation(at / "spec" / "subnet", "set `addresses` in `fabric` to a larger range, such as 10.128.0.0/12", message)


@rule("V-107", Level.ERROR, PLATFORMS, on=KUBERNETES, invariant=True)
def nics_have_one_driver(plan: StackPlan) -> Iterator[Violation]:
    """NICs have either the driver of the servers or that of the network operator, and the GPU driver knows which."""
    values = next((release.values for release in plan.releases if release.name == GPU_OPERATOR), {})
    rdma = values.get("driver", {}).get("rdma")
    for at, manifest in manifests(plan, "NicClusterPolicy"):
        installed = "ofedDriver" in manifest.body["spec"]
        if rdma and rdma["useHostMofed"] is installed:
            message = f"The network operator {'installs' if installed else 'does not install'} a NIC driver; useHostMofed is {installed}"
            yield Violation(at / "spec", "set `driver` in `fabric`", message)


@rule("V-108", Level.WARNING, PLATFORMS, on=KUBERNETES)
def gpus_have_a_port_each(plan: StackPlan) -> Iterator[Violation]:
    """A server has as many RDMA ports as GPUs, one rail per GPU; others share ports and reach a part of the bandwidth."""
    ports = plan.expected_fabric.interfaces_per_node
    for at, pool in accelerators(plan):
        if ports and any(manifests(plan, *NETWORKS)) and ports != pool.accelerator_count:
            message = f"Servers of {pool.name} have {pool.accelerator_count} GPUs and {ports} RDMA ports"
            yield Violation(at / "machine", "check `count` of the NICs in the inventory, then acknowledge V-108", message)


@rule("V-109", Level.ERROR, PLATFORMS, on=KUBERNETES)
def operators_support_gpudirect(plan: StackPlan) -> Iterator[Violation]:
    """GPUDirect RDMA with network operator 26 needs GPU operator 25.3 or newer."""
    versions = {release.name: release_numbers(release.version.removeprefix("v")) for release in plan.releases}
    network, gpu = versions.get(NETWORK_OPERATOR, ()), versions.get(GPU_OPERATOR)
    if network >= GPUDIRECT[NETWORK_OPERATOR] and gpu and gpu < GPUDIRECT[GPU_OPERATOR]:
        index = next(i for i, release in enumerate(plan.releases) if release.name == GPU_OPERATOR)
        message = f"GPU operator {plan.releases[index].version} is older than 25.3"
        yield Violation(At() / "releases" / index / "version", "run `rackwright choose SPEC --upgrade`", message)


@context_rule("V-176", Level.WARNING, "https://kubernetes.io/docs/reference/node/node-status/", on=KUBERNETES)
def inventory_is_recent(context: StackContext) -> Iterator[Violation]:
    """An inventory is at most a day old, because nodes, GPUs and operators change."""
    inventory = _inventory(context)
    if inventory is None or context.now is None:
        return
    age = context.now - inventory.generated_at
    if age > MAX_AGE:
        message = f"The inventory of cluster {inventory.cluster.name} is {age.total_seconds() / 86400:,.0f} days old"
        yield Violation(At() / "place" / "account", "write it again with `rackwright inventory --kubeconfig FILE`", message)


# A warning that stops an update: objects of the stack are written for the pinned versions. It can be acknowledged.
@context_rule("V-177", Level.WARNING, "https://helm.sh/docs/topics/charts/", Stage.BUILD, on=KUBERNETES)
def installed_operators_have_pinned_versions(context: StackContext) -> Iterator[Violation]:
    """Operators that the cluster has are of the versions that objects of the stack are written for."""
    inventory, pins = _inventory(context), pinned_versions("chart")
    recorded = dict(context.plan.pins.charts)
    for each in inventory.installed if inventory else ():
        pinned = pins[each.name].version.partition("@")[0] if each.name in pins else ""
        if pinned and each.name not in recorded and each.version.removeprefix("v") != pinned.removeprefix("v"):
            message = f"The cluster has {each.name} {each.version}; this release is written for {pinned}"
            yield Violation(At() / "place" / "account", f"upgrade it to {pinned}, or acknowledge V-177 after a test", message)


# By default (serviceMonitorSelectorNilUsesHelmValues) the chart selects only ServiceMonitors with the label of its release.
@context_rule("V-178", Level.WARNING, "https://keda.sh/docs/latest/scalers/prometheus/", on=KUBERNETES)
def autoscalers_query_a_known_service(context: StackContext) -> Iterator[Violation]:
    """The inventory names the service of the cluster's Prometheus, which the autoscaler of a fleet queries."""
    inventory, by_stack = _inventory(context), {release.name for release in context.plan.releases}
    found = next((each for each in inventory.installed if each.name == MONITORING), None) if inventory else None
    if found and not found.service and MONITORING not in by_stack and any(manifests(context.plan, "ScaledObject")):
        queried = f"Autoscaling queries {OPERATED_SERVICE} in namespace {found.namespace}"
        fix = f"set `service` of {MONITORING} in `installed`, after a check that its Prometheus reads ServiceMonitors of all namespaces"
        yield Violation(At() / "place" / "account", fix, f"{queried}; the inventory does not name its service")


def _inventory(context: StackContext) -> Inventory | None:
    if context.spec is None or context.fit is None:
        return None
    found = context.spec.infra.places[context.fit.candidate.place].inventory
    return found if isinstance(found, Inventory) else None
