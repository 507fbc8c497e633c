"""Checks that compare a plan and the catalog with a Google Cloud project. Every difference is a warning; pinned values do not change."""

from collections.abc import Callable, Iterator
from typing import Any

from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import Machine
from rackwright.diagnostics.problem import At, Problem
from rackwright.stackplan import CapacityPlan, StackPlan
from rackwright.validation.stack import check_quota

from rackwright_pulumi.lookup.account import NotAnswered
from rackwright_pulumi.lookup.compare import GB, Answers, answers, machines_of
from rackwright_pulumi.lookup.gcloud import Project

MIB_PER_GIB = 1024
Check = tuple[str, Callable[[Project], Iterator[Problem]]]


def look_up_project(plan: StackPlan, project: Project, catalog: Catalog) -> Answers:
    """Run all checks. catalog: the one that the plan was compiled with."""
    return answers(checks(plan, catalog), project)


def checks(plan: StackPlan, catalog: Catalog) -> Iterator[Check]:
    """(name, check) pairs, one per resource, so that a failed call affects one check only."""
    yield "project", _project
    for at, name, zones in machines_of(plan):
        machine = catalog.machine_by_name.get(name)
        yield f"zones that offer {name}", lambda project, at=at, name=name, zones=zones: _zones(at, name, zones, project)
        yield f"facts of {name}", lambda project, at=at, row=machine, zones=zones: _facts(at, row, zones[0], project)
    for index, pool in enumerate(plan.pools):
        if pool.capacity.reservation_id:
            at, capacity = At() / "pools" / index / "capacity", pool.capacity
            yield (
                f"reservation {capacity.reservation_id}",
                lambda project, at=at, it=capacity, pool=pool: _reservation(at, it, pool.machine, pool.zones[0], project),
            )
    if plan.cluster and not plan.cluster.existing:
        yield f"Kubernetes {plan.cluster.version}", lambda project: _kubernetes(plan, project)
    yield "quotas", lambda project: iter(check_quota(plan, granted(project), catalog))


def granted(project: Project) -> dict[str, float]:
    """Metric -> limit less usage, of the region and over all regions."""
    return {metric: max(0.0, limit - used) for rows in project.quotas().values() for metric, (limit, used) in rows.items()}


def quota_rows(project: Project) -> dict[str, dict[str, dict[str, Any]]]:
    """Rows of a quota file: region, or `global` -> metric -> value and usage."""
    return {
        where: {metric: {"value": limit, "used": used} for metric, (limit, used) in sorted(rows.items())}
        for where, rows in project.quotas().items()
    }


def _project(project: Project) -> Iterator[Problem]:
    """The project exists and can be read; a call that fails is listed as not checked."""
    project.number()
    yield from ()


def _zones(at: At, name: str, zones: tuple[str, ...], project: Project) -> Iterator[Problem]:
    offered = project.zones_offering(name)
    if missing := [zone for zone in zones if zone not in offered]:
        fix = f"set infra zones to one of {', '.join(offered)}" if offered else "use another region or another machine type"
        yield Problem("K-03", f"{name} is not offered in {', '.join(missing)}", at / "zones", fix)


def _facts(at: At, machine: Machine | None, zone: str, project: Project) -> Iterator[Problem]:
    if machine is None:
        raise NotAnswered("the catalog does not have it")
    theirs = project.machine_type(machine.name, zone)
    memory, their_memory = machine.memory_bytes and round(machine.memory_bytes / GB), theirs.get("memoryMb")
    pairs = (
        ("vCPUs", machine.vcpus, theirs.get("guestCpus")),
        ("memory (GB)", memory, their_memory and round(their_memory / MIB_PER_GIB)),  # pages print GiB as GB
    )
    for field, ours, value in pairs:
        if ours is not None and value is not None and ours != value:
            fix = "report the difference, and pin another machine type until the catalog is corrected"
            reason = f"{machine.name}: {field} is {ours} in the catalog and {value} in Google Cloud"
            yield Problem("K-02", reason, at / "machine", fix)


def _reservation(at: At, plan: CapacityPlan, machine: str, zone: str, project: Project) -> Iterator[Problem]:
    """Compare the plan's machine with the reservation, and its state."""
    found = project.reservation(plan.reservation_id, zone)
    kind = found.get("specificReservation", {}).get("instanceProperties", {}).get("machineType")
    if kind and kind != machine:
        reason = f"{plan.reservation_id} has machine {kind}, not {machine}"
        yield Problem("K-04", reason, at / "machine", f"pin {kind}, or use another reservation")
    if found.get("status", "READY") != "READY":
        yield Problem("K-04", f"{plan.reservation_id} is {found['status']}", at / "reservation_id", "use a reservation that is READY")


def _kubernetes(plan: StackPlan, project: Project) -> Iterator[Problem]:
    assert plan.cluster is not None
    version, offered = plan.cluster.version, project.cluster_versions()
    if not any(each == version or each.startswith((f"{version}.", f"{version}-")) for each in offered):
        newest = offered[0] if offered else "none"
        reason = f"GKE in {project.region} does not offer Kubernetes {version}; its newest version is {newest}"
        yield Problem("K-06", reason, At() / "cluster" / "version", "renew the decision with `rackwright choose`")
