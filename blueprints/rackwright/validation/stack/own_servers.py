"""Stacks on own servers: address pools and drivers of RDMA networks, versions of operators, and the age of the inventory."""

import json
from collections.abc import Iterator
from datetime import timedelta
from ipaddress import IPv4Network
from typing import Any

from rackwright.catalog.release.pinned_versions import pinned_versions
from rackwright.clouds import KUBERNETES
from rackwright.diagnostics.problem import At, Level, Stage
from rackwright.diagnostics.rule import Violation
from rackwright.spec.inventory import CsiStorage
from rackwright.stackplan import StackPlan
from rackwright.stackplan.labels import RESOURCES_ANNOTATION, is_fabric_config
from rackwright.stackplan.operators import FEATURE_DISCOVERY, GPU_OPERATOR, MONITORING, NETWORK_OPERATOR, OPERATED_SERVICE
from rackwright.validation.stack.registry import StackContext, accelerators, context_rule, manifests, release_numbers, rule

MAX_AGE = timedelta(days=1)
"""Age from which nodes, GPUs and operators of a cluster may have changed."""
NETWORKS = ("HostDeviceNetwork", "SriovIBNetwork", "SriovNetwork", "IPoIBNetwork", "MacvlanNetwork", "NetworkAttachmentDefinition")
GPUDIRECT = {NETWORK_OPERATOR: (26,), GPU_OPERATOR: (25, 3)}
"""Oldest GPU operator for GPUDirect RDMA with network operator 26."""
NETWORK_OPERATOR_DOCS = "https://docs.nvidia.com/networking/display/kubernetes2641"
PLATFORMS = f"{NETWORK_OPERATOR_DOCS}/platform-support.html"
SYSTEM_PRIORITIES = {"system-cluster-critical", "system-node-critical"}
"""Priority classes of every cluster."""
CLASS_FIELDS = {"priorityClassName": "priority class", "storageClassName": "storage class"}
"""Field of release values -> what it names."""
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
    """NICs have either the driver of the servers or that of the network operator, and the GPU driver is configured for it."""
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
    inventory = context.inventory
    if inventory is None or context.now is None:
        return
    age = context.now - inventory.generated_at
    if age > MAX_AGE:
        message = f"The inventory of cluster {inventory.cluster.name} is {age.total_seconds() / 86400:,.0f} days old"
        yield Violation(At() / "place" / "account", "write it again with `rackwright inventory --kubeconfig FILE`", message)


# A warning that stops an update: objects of the stack are written for the pinned versions. It can be acknowledged.
@context_rule("V-177", Level.WARNING, "https://helm.sh/docs/topics/charts/", Stage.BUILD, on=KUBERNETES)
def installed_operators_have_pinned_versions(context: StackContext) -> Iterator[Violation]:
    """Operators of the cluster have the versions for which this release writes its objects."""
    inventory, pins = context.inventory, pinned_versions("chart")
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
    inventory, by_stack = context.inventory, {release.name for release in context.plan.releases}
    found = next((each for each in inventory.installed if each.name == MONITORING), None) if inventory else None
    if found and not found.service and MONITORING not in by_stack and any(manifests(context.plan, "ScaledObject")):
        queried = f"Autoscaling queries {OPERATED_SERVICE} in namespace {found.namespace}"
        fix = f"set `service` of {MONITORING} in `installed`, after a check that its Prometheus reads ServiceMonitors of all namespaces"
        yield Violation(At() / "place" / "account", fix, f"{queried}; the inventory does not name its service")


# A warning that stops an update: pods wait forever for resources that the cluster lacks. It can be acknowledged.
@rule("V-179", Level.WARNING, f"{NETWORK_OPERATOR_DOCS}/customizations/crds.html", stage=Stage.BUILD, on=KUBERNETES)
def network_operator_offers_the_rails(plan: StackPlan) -> Iterator[Violation]:
    """A network operator that the cluster has offers the resources of the rails, because the stack does not change its policy."""
    if NETWORK_OPERATOR in plan.installed and any(manifests(plan, "IPPool")):
        configs = [m.body for _, m in manifests(plan, "ConfigMap") if is_fabric_config(m.body)]
        named = [json.loads(body["metadata"]["annotations"][RESOURCES_ANNOTATION]) for body in configs]
        resources = ", ".join(sorted(set().union(*named))) or "of the rails"
        message = f"The cluster has a network operator, whose policy the stack does not change; pods need its resources {resources}"
        fix = "set `resource` and `network` of each rail in the inventory, or add the resources to the policy and acknowledge V-179"
        yield Violation(At() / "place" / "account", fix, message)


@rule("V-180", Level.ERROR, "https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/", on=KUBERNETES, invariant=True)
def daemons_tolerate_taints(plan: StackPlan) -> Iterator[Violation]:
    """Daemons of the GPU operator and the network operator tolerate the taints of the servers."""
    lists: list[tuple[At, str, list[dict[str, str]]]] = []
    for index, values in ((i, release.values) for i, release in enumerate(plan.releases) if release.name == GPU_OPERATOR):
        at = At() / "releases" / index / "values"
        lists.append((at / "daemonsets", "The GPU operator", values.get("daemonsets", {}).get("tolerations", [])))
        if values.get("nfd", {}).get("enabled", True):
            worker = values.get(FEATURE_DISCOVERY, {}).get("worker", {})
            lists.append((at / FEATURE_DISCOVERY / "worker", "Node Feature Discovery", worker.get("tolerations", [])))
    lists += [(at / "spec", "The network operator", m.body["spec"].get("tolerations", [])) for at, m in manifests(plan, "NicClusterPolicy")]
    for _, pool in accelerators(plan):
        for taint in pool.taints:
            wanted = {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}
            for at, who, tolerations in lists:
                if wanted not in tolerations:
                    written = f"{taint.key}={taint.value}" if taint.value else taint.key
                    message = f"{who} does not tolerate the taint {written}:{taint.effect} of the servers {pool.name}"
                    yield Violation(at / "tolerations", f"add a toleration of {taint.key}", message)


@context_rule("V-181", Level.ERROR, "https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/", on=KUBERNETES)
def classes_of_releases_exist(context: StackContext) -> Iterator[Violation]:
    """Priority classes and storage classes of release values are objects of the stack, or exist in the cluster."""
    plan, inventory = context.plan, context.inventory
    made = {kind: {m.body["metadata"]["name"] for _, m in manifests(plan, kind)} for kind in ("PriorityClass", "StorageClass")}
    known = {"priorityClassName": made["PriorityClass"] | SYSTEM_PRIORITIES}
    if inventory:
        stored = {entry.storage_class for entry in inventory.storage if isinstance(entry, CsiStorage)}
        known["storageClassName"] = made["StorageClass"] | stored
    for index, release in enumerate(plan.releases):
        for at, key, name in _texts(release.values, At() / "releases" / index / "values"):
            if name and name not in known.get(key, {name}):
                message = f"Pods of {release.name} name the {CLASS_FIELDS[key]} {name}, which neither the stack nor the cluster has"
                yield Violation(at, f"use {', '.join(sorted(known[key])) or 'none'}", message)


def _texts(value: Any, at: At, key: str = "") -> Iterator[tuple[At, str, str]]:
    """(path, key, text) of every text in nested values."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _texts(item, at / name, name)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _texts(item, at / index, key)
    elif isinstance(value, str):
        yield at, key, value
