"""StackPlans, resource graphs and differences on a terminal."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from rackwright.catalog.read import Catalog
from rackwright.report.graph_formats import by_parent, type_name
from rackwright.report.terminal.layout.tables import print_labelled, table, title
from rackwright.stackplan import LAYERS, CapacityPlan, ClusterPlan, CostAlertsPlan, LustrePlan, PoolPlan, StackPlan
from rackwright.validation.stack.storage.lustre import delivered_throughput
from rackwright.wording.formatting import plural, usd
from rackwright.wording.notes import note_text

INK = {"replace": "bold red", "delete": "bold red", "create": "green", "update": "yellow"}
LONGEST_NAME = 400
"""Columns of a tree, so that no name is cut."""


def show_stack(out: Console, plan: StackPlan, catalog: Catalog) -> None:
    """Every part of a StackPlan, one line each. catalog: the one that it was compiled with."""
    where = f"{plan.place.cloud} {plan.place.account}, {plan.place.zone or plan.place.region}".replace(" ,", ",")
    title(out, plan.name, f"{plan.kind} on {where}", f"until {plan.expires_on}" if plan.expires_on else "")
    out.print(table(("part", "plan"), _parts(plan, catalog)))
    expected = plan.expected_fabric
    if expected.fabric != "none":
        interfaces = f", {expected.interfaces_per_node} interfaces per node" if expected.interfaces_per_node else ""
        floor = f", all-reduce at {expected.busbw_floor_gb_s:g} GB/s or more" if expected.busbw_floor_gb_s else ""
        note = f" ({expected.note})" if expected.note else ""
        print_labelled(out, "fabric", f"{expected.fabric.upper()}{interfaces}{floor}{note}")


def _parts(plan: StackPlan, catalog: Catalog) -> Iterator[tuple[str, str]]:
    """(part, text) per part of the plan."""
    if plan.layers != LAYERS:
        yield "layers", ", ".join(plan.layers) + (f" on stack {plan.below}" if plan.below else "")
    subnets = ", ".join(" ".join(filter(None, (s.name, s.cidr, s.zone))) for s in plan.network.subnets)
    yield "network", f"{plan.network.existing_id or plan.network.cidr}{': ' if subnets else ''}{subnets}"
    if plan.key.existing_arn:
        yield "key", f"{plan.key.existing_arn}, existing"
    if plan.network.private_endpoints:
        yield "endpoints", ", ".join(plan.network.private_endpoints)
    if plan.cluster:
        yield "cluster", _cluster(plan.cluster)
    for pool in plan.pools:
        yield "pool", _pool(pool)
    if plan.box:
        yield "box", f"{plan.box.machine}, {_capacity(plan.box.capacity)}, image {plan.box.image}, root disk {plan.box.root.size_gib} GiB"
        if plan.box.ingress:
            yield "ssh", f"from {', '.join(plan.box.ingress)}, from inside the network: the box has no public address"
    if plan.lustre:
        found = delivered_throughput(plan, catalog)
        yield "file system", _lustre(plan.lustre) + (f": {note_text(found.note)}" if found else "")
    if plan.guard:
        yield "alerts", _cost_alerts(plan.guard)
    for bucket in plan.buckets:
        yield "bucket", f"{bucket.key}: {bucket.existing_name or 'new'}"
    for identity in plan.identities:
        grants = ", ".join(f"{grant.access} {grant.bucket}" for grant in identity.grants)
        yield "identity", f"{identity.key}{f': {grants}' if grants else ''}"
    for addon in plan.addons:
        yield "add-on", f"{addon.name} {addon.version}".strip()
    for release in plan.releases:
        expected = "" if "operators" in plan.layers else ", expected"
        disks = "".join(f", disk of {disk.size_gib} GiB" for disk in release.claims)
        yield "release", f"{release.namespace}/{release.name} {release.chart_version}{disks}{expected}"
    for manifest in plan.manifests:
        yield "object", f"{manifest.body['kind']} {manifest.body['metadata']['name']}"


def _cost_alerts(plan: CostAlertsPlan) -> str:
    budget = plan.budget_usd_per_month
    parts = ["no budget" if budget is None else f"budget {usd(budget, 0)} a month"]
    parts += [f"alert after {plan.idle_minutes} idle minutes"] if plan.idle_minutes else []
    parts += [f"{plural(len(plan.reminders), 'reminder')} of {plan.expires_on}"] if plan.reminders else []
    return ", ".join([*parts, f"mail to {', '.join(plan.emails)}" if plan.emails else "no recipients"])


def _lustre(plan: LustrePlan) -> str:
    efa = " over EFA" if plan.rdma else ""
    if plan.kind == "tiered":
        return f"Lustre in tiers at {plan.throughput_mb_s:,} MB/s{efa}, {plan.cache_gib:,} GiB of cache, {plan.capacity_gib:,} GiB expected"
    return f"Lustre {plan.capacity_gib:,} GiB at {plan.throughput_mb_s_per_tib} MB/s per TiB{efa}"


def _cluster(plan: ClusterPlan) -> str:
    if plan.existing:
        return f"{plan.existing}, existing"
    api = {
        "network": "API private",
        "ranges": f"API open to {', '.join(plan.api_cidrs)}",
        "internet": "API open to the internet",
    }[plan.api_scope]
    logs = ", pod logs in the cloud" if plan.pod_logs else ""
    return f"{plan.name}, Kubernetes {plan.version}, {api}{logs}"


def _pool(pool: PoolPlan) -> str:
    nodes = f"{pool.nodes_max}" if pool.nodes_min == pool.nodes_max else f"{pool.nodes_min} to {pool.nodes_max}"
    fabric = pool.fabric.upper() if pool.fabric != "none" else ""
    parts = [f"{pool.name}: {nodes} x {pool.machine}", pool.topology, _capacity(pool.capacity), fabric, ", ".join(pool.zones)]
    return ", ".join(filter(None, parts))


def _capacity(capacity: CapacityPlan) -> str:
    return " ".join(filter(None, [capacity.mode, capacity.reservation_id or capacity.group_arn]))


def show_graph(out: Console, graph: dict[str, Any]) -> None:
    """Resources as a tree of components, with type, logical name and protection."""
    resources = graph["resources"]
    protected = sum(node["protect"] for node in resources)
    title(out, graph.get("stack", "graph"), plural(len(resources), "resource"), f"{protected} protected")
    root, children = Tree("", hide_root=True, guide_style="dim"), by_parent(graph)

    def add(node: Mapping[str, Any], branch: Tree) -> None:
        below = children.get(node["urn"], ())
        words = Text(f"{type_name(node['type'])} {node['name']}", style="bold" if below else "")
        added = branch.add(words.append("  protected", style="yellow") if node["protect"] else words)
        for child in below:
            add(child, added)

    for node in children.get("", ()):
        add(node, root)
    width, out.width = out.width, LONGEST_NAME  # rich cuts the names of a tree at the width of the console
    out.print(root, crop=False)
    out.width = width


def show_diff(out: Console, changes: list[dict[str, Any]]) -> None:
    """Changes in order of severity; a replacement of a protected resource is marked as refused."""
    if not changes:
        out.print("no changes")
        return
    tally = Counter(change["operation"] for change in changes)
    out.print(", ".join(f"{number} to {operation}" for operation, number in sorted(tally.items())))
    if rolled := [change["name"] for change in changes if change.get("rolls")]:
        out.print(f"The update replaces every machine of {', '.join(rolled)}, some at a time, and interrupts what runs on them.")
    rows = []
    for change in changes:
        stops = " (protected: refused)" if change["protected"] and change["operation"] in ("replace", "delete") else ""
        stops += " (replaces its machines)" if change.get("rolls") else ""
        operation = Text(change["operation"], style=INK[change["operation"]])
        rows.append((operation, f"{type_name(change['type'])} {change['name']}", ", ".join(change["because"]) + stops))
    out.print(table(("operation", "resource", "changed inputs"), rows))
