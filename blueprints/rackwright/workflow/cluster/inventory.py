"""An inventory from objects of a cluster as its API returns them: nodes, port states, storage classes, deployments, address ranges."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from rackwright.catalog import Catalog
from rackwright.spec.inventory import INVENTORY_VERSION
from rackwright.units import GIB
from rackwright.workflow.cluster.addresses import cluster_ranges, open_ranges
from rackwright.workflow.cluster.quantity import amount

GPU, PRODUCT, FABRIC = "nvidia.com/gpu", "nvidia.com/gpu.product", "feature.node.kubernetes.io/pci-0207_15b3"
"""Resource and label of GPUs; prefix of the labels of nodes with InfiniBand controllers (PCI class 0207, vendor NVIDIA)."""
RDMA_LABEL = "feature.node.kubernetes.io/rdma.available"
RDMA_RESOURCE = re.compile(r"rdma/.+|nvidia\.com/(hostdev|rail|mlnx|roce|ib).*")
TOPOLOGY = tuple(f"network.topology.nvidia.com/{level}" for level in ("core", "spine", "leaf"))
"""Labels of NVIDIA Topograph, from the core to the leaf switches."""
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
ARCHITECTURES = {"amd64": "x86_64", "arm64": "arm64"}
KEPT_LABELS = re.compile(r"(node-role\.kubernetes\.io|topology\.kubernetes\.io|network\.topology\.nvidia\.com)/.+|[^/]+/rack")
Object = dict[str, Any]


def inventory_document(
    *,
    name: str,
    context: str,
    kubernetes: str,
    nodes: Iterable[Object],
    nic_states: Iterable[Object],
    storage_classes: Iterable[Object],
    deployments: Iterable[Object],
    service_cidrs: Iterable[Object],
    ip_pools: Iterable[Object],
    now: datetime,
    catalog: Catalog,
) -> Object:
    """The inventory as plain data. Facts that the API does not have are left out: server models, speeds of ports, local disks."""
    listed = [*nodes]
    ports = {state["metadata"]["name"]: state.get("status", {}).get("interfaces") or [] for state in nic_states}
    levels = [label for label in TOPOLOGY if listed and all(label in _labels(node) for node in listed if _is_worker(node))]
    cluster = {"name": _name(name), "kubernetes": kubernetes, "context": context} | ({"topology_labels": levels} if levels else {})
    return {
        "api_version": INVENTORY_VERSION,
        "generated_at": now.isoformat(timespec="seconds"),
        "cluster": {key: value for key, value in cluster.items() if value} | cluster_ranges(listed, service_cidrs, ip_pools),
        "servers": [*_groups(listed, ports, catalog)],
        "storage": [_storage(each) for each in storage_classes],
        "installed": [*_installed(deployments)],
    }


def open_questions(document: Object) -> Iterator[str]:
    """What people add by hand, because the API of Kubernetes does not have it."""
    yield from open_ranges(document["cluster"])
    for group in document["servers"]:
        if not group.get("nics") and group.get("gpus"):
            yield f"{group['name']}: no RDMA ports were found; add `nics` where the servers have any"
        for nic in group.get("nics", ()):
            if "speed" not in nic:
                yield f"{group['name']}: add the speed of its {nic['kind']} ports, such as `speed: NDR`"
        if group.get("gpus") and "model" not in group:
            yield f"{group['name']}: add `model` where `rackwright catalog` lists the server"
    for entry in document["storage"]:
        yield f"storage {entry['name']}: set shared: true where several nodes can write to a volume"


def _groups(nodes: list[Object], ports: Mapping[str, list[Object]], catalog: Catalog) -> Iterator[Object]:
    """Nodes with equal hardware, in the order of their first node; nodes that take no pods are left out."""
    groups: dict[str, tuple[Object, list[Object]]] = {}
    for node in filter(_is_worker, nodes):
        hardware = _hardware(node, ports.get(node["metadata"]["name"], []), catalog)
        groups.setdefault(repr(hardware), (hardware, []))[1].append(node)
    names: dict[str, int] = {}
    for hardware, members in groups.values():
        base = _name(hardware["gpus"]["model"] if "gpus" in hardware else "cpu")
        names[base] = names.get(base, 0) + 1
        labels = dict(set.intersection(*({pair for pair in _labels(node).items() if KEPT_LABELS.fullmatch(pair[0])} for node in members)))
        group = {
            "name": base if names[base] == 1 else f"{base}-{names[base]}",
            "nodes": [_node(node, labels.keys()) for node in members],
            **hardware,
        }
        yield group | ({"labels": dict(sorted(labels.items()))} if labels else {})


def _hardware(node: Object, interfaces: list[Object], catalog: Catalog) -> Object:
    """What makes nodes equal."""
    capacity, info, labels = node["status"]["capacity"], node["status"].get("nodeInfo", {}), _labels(node)
    gpus, nics = _gpus(node, catalog), _nics(node, interfaces, catalog)
    taints = [taint for taint in node["spec"].get("taints") or [] if not taint["key"].startswith("node.kubernetes.io/")]
    found = {
        "gpus": gpus,
        "cpus": int(amount(capacity["cpu"])),
        "memory": f"{int(amount(capacity['memory']) / GIB)} GiB",
        "arch": ARCHITECTURES.get(info.get("architecture", labels.get("kubernetes.io/arch", "")), "x86_64"),
        "os": info.get("osImage"),
        "nics": nics,
        "taints": [{key: taint[key] for key in ("key", "value", "effect") if taint.get(key)} for taint in taints],
    }
    return {key: value for key, value in found.items() if value}


def _gpus(node: Object, catalog: Catalog) -> Object | None:
    """The GPUs of a node by the labels of GPU Feature Discovery; the number is what pods can request, so a failed GPU shows.
    Of GPUs that MIG divides, pods request instances."""
    product, count = _labels(node).get(PRODUCT, ""), node["status"].get("allocatable", node["status"]["capacity"]).get(GPU)
    if not product or not (devices := int(amount(count))):
        return None
    whole, _, mig = product.removesuffix("-SHARED").partition("-MIG-")
    known = next((row.accelerator for row in catalog.gpu_products if row.product == whole), None)
    card = catalog.accelerator_by_name.get(known.lower()) if known else None
    model = card.aliases[0] if card and card.aliases else whole.lower()
    row = next((row for row in catalog.mig_profiles if card and (row.accelerator, row.profile) == (card.name, mig)), None)
    return {"model": model, "count": devices // (row.instances if row else 1)} | ({"mig": mig} if mig else {})


def _nics(node: Object, interfaces: list[Object], catalog: Catalog) -> list[Object]:
    """RDMA ports that the SR-IOV operator reports with name and speed; else the number that a device plugin offers."""
    ports = [port for port in interfaces if port.get("vendor") == "15b3" and port.get("linkSpeed", "").split(" ")[0].lstrip("-").isdigit()]
    by_kind: dict[tuple[str, str], list[Object]] = {}
    for port in ports:
        kind = "infiniband" if port.get("linkType", "").upper() == "IB" else "roce"
        by_kind.setdefault((kind, port["linkSpeed"].split(" ")[0]), []).append(port)
    if by_kind:
        return [_nic(kind, int(mbits), members, catalog) for (kind, mbits), members in by_kind.items() if int(mbits) > 0]
    labels, capacity = _labels(node), node["status"]["capacity"]
    amounts = {name: int(amount(text)) for name, text in capacity.items() if RDMA_RESOURCE.fullmatch(name)}
    offered = {name: devices for name, devices in amounts.items() if devices}
    infiniband = any(label.startswith(FABRIC) for label in labels)
    if not offered and not infiniband and labels.get(RDMA_LABEL) != "true":
        return []
    shared = {name for name in offered if name.startswith("rdma/")}
    count = len(shared) or (next(iter(offered.values())) if len(offered) == 1 else len(offered)) or 1
    return [{"kind": "infiniband" if infiniband else "roce", "count": count}]


def _nic(kind: str, mbits: int, ports: list[Object], catalog: Catalog) -> Object:
    """Ports of one speed, which InfiniBand names by its generation."""
    generations = {round(row.bytes_per_s * 8 / 1e6): row.name for row in catalog.link_speeds}
    speed = generations.get(mbits) if kind == "infiniband" else None
    rails = [{"interface": port["name"]} for port in ports if port.get("name")]
    return {"kind": kind, "speed": speed or f"{mbits // 1000} Gbit/s", "count": len(ports), "rails": rails}


def _node(node: Object, shared: Collection[str]) -> Object | str:
    """The name of a node, with its rack and its switches where labels have them. shared: labels that the whole group has."""
    name, rack = node["metadata"]["name"], next((value for label, value in _labels(node).items() if label.endswith("/rack")), "")
    switches = {label: _labels(node)[label] for label in TOPOLOGY if label in _labels(node) and label not in shared}
    found = {"name": name, "rack": rack, "labels": switches}
    return {key: value for key, value in found.items() if value} if rack or switches else name


def _storage(storage_class: Object) -> Object:
    meta = storage_class["metadata"]
    is_default = (meta.get("annotations") or {}).get(DEFAULT_CLASS) == "true"
    entry = {"kind": "csi", "name": _name(meta["name"]), "storage_class": meta["name"], "shared": False}
    return entry | ({"default": True} if is_default else {})


def _installed(deployments: Iterable[Object]) -> Iterator[Object]:
    """Charts by the label that charts set on their objects, such as kueue-0.19.2."""
    seen = set()
    for deployment in deployments:
        chart = re.fullmatch(r"(.+?)-(v?[0-9]+\.[0-9]+\.[0-9].*)", _labels(deployment).get("helm.sh/chart", ""))
        if chart and chart[1] not in seen:
            seen.add(chart[1])
            yield {"name": chart[1], "version": chart[2], "namespace": deployment["metadata"]["namespace"]}


def _labels(thing: Object) -> dict[str, str]:
    return thing["metadata"].get("labels") or {}


def _is_worker(node: Object) -> bool:
    """Whether ordinary pods can run there: no control plane, not cordoned."""
    taints = {taint["key"] for taint in node["spec"].get("taints") or []}
    return not node["spec"].get("unschedulable") and "node-role.kubernetes.io/control-plane" not in taints


def _name(text: str) -> str:
    """A name of the inventory: lower-case letters, digits and dashes, a letter first."""
    cleaned = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    return (cleaned if cleaned[:1].isalpha() else f"n-{cleaned}")[:40].rstrip("-")
