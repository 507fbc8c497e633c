"""StackPlans, resource graphs and differences on a terminal."""

from collections import Counter
from typing import Any

from rich.console import Console

from rackwright.compile.wants import StackPlan


def _table(*columns: str):
    from rackwright.report.text import table

    return table(*columns)


def show_stack(out: Console, plan: StackPlan) -> None:
    out.print(f"[bold]{plan.name}[/]: {plan.kind} on {plan.place.cloud} in {plan.place.region} ({plan.place.zone})", highlight=False)
    made = _table("wanted", "what")
    for pool in plan.pools:
        nodes = str(pool.nodes_min) if pool.nodes_min == pool.nodes_max else f"{pool.nodes_min} to {pool.nodes_max}"
        made.add_row("pool", f"{pool.name}: {nodes} x {pool.machine} {pool.topology} {pool.capacity.mode} {pool.fabric}")
    if plan.box:
        made.add_row("box", f"{plan.box.machine} {plan.box.capacity.mode}, image {plan.box.image}")
    if plan.cluster:
        made.add_row("cluster", f"{plan.cluster.name} Kubernetes {plan.cluster.version}")
    if plan.lustre:
        made.add_row("file system", f"Lustre {plan.lustre.capacity_gib:,} GiB at {plan.lustre.throughput_mb_s_per_tib} MB/s per TiB")
    for bucket in plan.buckets:
        made.add_row("bucket", f"{bucket.key}: {bucket.existing_name or 'new'}")
    for release in plan.releases:
        made.add_row("release", f"{release.namespace}/{release.name} {release.version}")
    for manifest in plan.manifests:
        made.add_row("object", f"{manifest.body['kind']} {manifest.body['metadata']['name']}")
    out.print(made)


def show_graph(out: Console, graph: dict[str, Any]) -> None:
    resources = graph["resources"]
    out.print(f"[bold]{len(resources)} resources[/]", highlight=False)
    made = _table("type", "name", "protected")
    for node in sorted(resources, key=lambda node: (node["type"], node["name"])):
        made.add_row(node["type"], node["name"], "yes" if node["protect"] else "")
    out.print(made)


def show_diff(out: Console, changes: list[dict[str, Any]]) -> None:
    if not changes:
        out.print("no changes")
        return
    tally = Counter(change["operation"] for change in changes)
    out.print(", ".join(f"{number} to {operation}" for operation, number in sorted(tally.items())), highlight=False)
    made = _table("operation", "resource", "because of")
    for change in changes:
        made.add_row(change["operation"], f"{change['type']} {change['name']}", ", ".join(change["because"]))
    out.print(made)
