"""Checks that compare a plan and the catalog with an AWS account. Every difference is a warning; pinned values do not change."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import Machine
from rackwright.diagnostics.problem import At, Level, Problem
from rackwright.stackplan import CapacityPlan, StackPlan, is_zone_id
from rackwright.validation.stack import check_quota

from rackwright_pulumi.aws.addons import MANAGED
from rackwright_pulumi.lookup.account import Account, NotAnswered

MIB, GB = 2**20, 10**9
Source = TypeVar("Source")
SERVICES = ("ec2", "vpc", "eks", "fsx", "ebs")
"""Services whose quotas a plan uses."""
IMAGE_PARAMETERS = {
    "al2023": "/aws/service/eks/optimized-ami/{minor}/amazon-linux-2023/x86_64/standard/recommended/release_version",
    "al2023-nvidia": "/aws/service/eks/optimized-ami/{minor}/amazon-linux-2023/x86_64/nvidia/recommended/release_version",
    "al2023-neuron": "/aws/service/eks/optimized-ami/{minor}/amazon-linux-2023/x86_64/neuron/recommended/release_version",
}
"""SSM parameters of the recommended release of a node image: https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id.html"""


@dataclass(frozen=True)
class Answers:
    """problems: where the account differs from the plan; agreed: confirmed checks; unasked: (check, reason why it was not possible)."""

    problems: tuple[Problem, ...] = ()
    agreed: tuple[str, ...] = ()
    unasked: tuple[tuple[str, str], ...] = ()


def look_up(plan: StackPlan, account: Account, catalog: Catalog | None = None) -> Answers:
    """Run all checks. A check that the account does not answer is listed in `unasked`, and does not raise.

    catalog: the one the plan was compiled with; the embedded one by default.
    """
    return answers(_checks(plan, catalog or Catalog.default()), account)


def answers(checks: Iterable[tuple[str, Callable[[Source], Iterator[Problem]]]], account: Source) -> Answers:
    """Run checks of an account or a project. A check that it does not answer is listed in `unasked`, and does not raise."""
    problems: list[Problem] = []
    agreed: list[str] = []
    unasked: list[tuple[str, str]] = []
    for name, check in checks:
        try:
            found = list(check(account))
        except NotAnswered as error:
            unasked.append((name, str(error)))
            continue
        problems += [replace(problem, level=Level.WARNING) for problem in found]
        agreed += [] if found else [name]
    return Answers(tuple(problems), tuple(agreed), tuple(unasked))


def _checks(plan: StackPlan, catalog: Catalog) -> Iterator[tuple[str, Callable[[Account], Iterator[Problem]]]]:
    """(name, check) pairs, one per resource, so that a failed call affects one check only."""
    yield "account", lambda account: _account(plan, account)
    for at, name, zones in machines_of(plan):
        yield f"facts of {name}", lambda account, at=at, name=name: _facts(at, catalog.machine_by_name.get(name), name, account)
        yield f"zones that offer {name}", lambda account, at=at, name=name, zones=zones: _zones(at, name, zones, account)
    capacities = [(At() / "box" / "capacity", plan.box.capacity)] if plan.box else []
    capacities += [(At() / "pools" / index / "capacity", pool.capacity) for index, pool in enumerate(plan.pools)]
    for at, capacity in (pair for pair in capacities if pair[1].reservation_id):
        yield f"reservation {capacity.reservation_id}", lambda account, at=at, plan=capacity: _reservation(at, plan, account)
    if plan.box and not plan.box.image.startswith("ami-"):
        yield f"image {plan.box.image}", lambda account: _box_image(plan, account)
    if plan.cluster and not plan.cluster.existing:
        yield f"Kubernetes {plan.cluster.version}", lambda account: _kubernetes(plan, account)
        for index, addon in enumerate(plan.addons):
            if addon.name in MANAGED and addon.version:
                yield f"add-on {MANAGED[addon.name].name} {addon.version}", lambda account, i=index: _addon(plan, i, account)
        for image, release in plan.pins.images:
            if image in IMAGE_PARAMETERS:
                yield f"node image {image} {release}", lambda account, i=image, r=release: _node_image(plan, i, r, account)
    yield "quotas", lambda account: iter(check_quota(plan, granted(account), catalog))


def granted(account: Account) -> dict[str, float]:
    """Quota code to value, for all SERVICES."""
    return {code: value for service in SERVICES for code, (_, value) in account.quotas(service).items()}


def machines_of(plan: StackPlan) -> Iterator[tuple[At, str, tuple[str, ...]]]:
    """Path, name and zones of each kind of machine of a plan."""
    if plan.box:
        yield At() / "box", plan.box.machine, (plan.box.zone,)
    seen: set[str] = set()
    for index, pool in enumerate(plan.pools):
        if pool.machine not in seen:
            yield At() / "pools" / index, pool.machine, pool.zones
        seen.add(pool.machine)


def _account(plan: StackPlan, account: Account) -> Iterator[Problem]:
    number = account.number()
    if plan.place.account and number != plan.place.account:
        fix = f"use credentials of account {plan.place.account}; the provider rejects others"
        yield Problem("K-01", f"The credentials belong to account {number}, not {plan.place.account}", At() / "place" / "account", fix)


def _facts(at: At, machine: Machine | None, name: str, account: Account) -> Iterator[Problem]:
    if machine is None:
        raise NotAnswered("the catalog does not have it")
    for field, ours, theirs in differences(machine, account.instance_type(name)):
        fix = "report the difference, and pin another instance type until the catalog is corrected"
        yield Problem("K-02", f"{name}: {field} is {ours} in the catalog and {theirs} in AWS", at / "machine", fix)


def differences(ours: Machine, theirs: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """(field, catalog value, EC2's value) where both are known and differ. theirs: an entry of DescribeInstanceTypes."""
    network = theirs.get("NetworkInfo", {})
    for field, our_value, their_value in (
        ("vCPUs", ours.vcpus, theirs.get("VCpuInfo", {}).get("DefaultVCpus")),
        ("memory (MiB)", ours.memory_bytes and ours.memory_bytes // MIB, theirs.get("MemoryInfo", {}).get("SizeInMiB")),
        ("network cards", ours.network_cards, network.get("MaximumNetworkCards")),
        ("EFA interfaces", ours.efa_interfaces, network.get("EfaInfo", {}).get("MaximumEfaInterfaces", 0) if network else None),
        ("addresses per interface", ours.ipv4_per_eni, network.get("Ipv4AddressesPerInterface")),
        ("accelerators", ours.accelerator_count, _accelerators(theirs)),
        (
            "local disks (GB)",
            ours.local_nvme_bytes and round(ours.local_nvme_bytes / GB),
            theirs.get("InstanceStorageInfo", {}).get("TotalSizeInGB"),
        ),
    ):
        if our_value is not None and their_value is not None and our_value != their_value:
            yield field, our_value, their_value


def _accelerators(theirs: dict[str, Any]) -> int | None:
    """Number of GPUs, Neuron devices or other accelerators; None if EC2 lists none."""
    for info, rows in (("GpuInfo", "Gpus"), ("NeuronInfo", "NeuronDevices"), ("InferenceAcceleratorInfo", "Accelerators")):
        if info in theirs:
            return sum(row.get("Count", 0) for row in theirs[info].get(rows, []))
    return None


def _zones(at: At, name: str, zones: tuple[str, ...], account: Account) -> Iterator[Problem]:
    sold = account.zones_selling(name, by_id=is_zone_id(zones[0]))
    missing = [zone for zone in zones if zone not in sold]
    if missing:
        fix = f"set infra zones to one of {', '.join(sold)}" if sold else "use another region or another instance type"
        yield Problem("K-03", f"{name} is not offered in {', '.join(missing)}", at / "zones", fix)


def _reservation(at: At, plan: CapacityPlan, account: Account) -> Iterator[Problem]:
    """Compare the plan's facts of a reservation with the reservation."""
    found = account.reservation(plan.reservation_id)
    facts = [
        ("machine", plan.machine, found["InstanceType"]),
        ("zone", plan.zone, found.get("AvailabilityZoneId" if is_zone_id(plan.zone) else "AvailabilityZone")),
    ]
    facts += [("count", str(plan.count), str(found["TotalInstanceCount"]))] if plan.count else []
    for field, ours, theirs in facts:
        if ours and theirs and ours != theirs:
            yield Problem("K-04", f"{plan.reservation_id} has {field} {theirs}, not {ours}", at / field, f"set it to {theirs}")
    if found["State"] not in ("active", "scheduled", "payment-pending", "pending"):
        fix = "use a reservation that is active or scheduled"
        yield Problem("K-04", f"{plan.reservation_id} is {found['State']}", at / "reservation_id", fix)
    ends = found.get("EndDate")
    if ends and plan.ends_at and abs((ends - datetime.fromisoformat(plan.ends_at)).total_seconds()) > 60:
        reason = f"{plan.reservation_id} ends at {ends.isoformat()}, not {plan.ends_at}"
        yield Problem("K-04", reason, at / "ends_at", f"set it to {ends.isoformat()}")


def _box_image(plan: StackPlan, account: Account) -> Iterator[Problem]:
    assert plan.box is not None
    image = account.image(plan.box.image)
    if image.get("DeprecationTime"):
        at = At() / "box" / "image"
        yield Problem(
            "K-05", f"{plan.box.image} is deprecated from {image['DeprecationTime']}", at, "renew the decision with `rackwright choose`"
        )


def _kubernetes(plan: StackPlan, account: Account) -> Iterator[Problem]:
    assert plan.cluster is not None
    versions = account.cluster_versions()
    status = versions.get(plan.cluster.version, "unknown to EKS")
    standard = sorted(version for version, support in versions.items() if support == "STANDARD_SUPPORT")
    if status != "STANDARD_SUPPORT":
        fix = f"use a version in standard support: {', '.join(standard)}" if standard else "see the EKS release calendar"
        yield Problem("K-06", f"Kubernetes {plan.cluster.version} is {status.lower().replace('_', ' ')}", At() / "cluster" / "version", fix)


def _addon(plan: StackPlan, index: int, account: Account) -> Iterator[Problem]:
    assert plan.cluster is not None
    version = plan.addons[index].version
    name = MANAGED[plan.addons[index].name].name
    builds = account.addon_versions(name, plan.cluster.version)
    if version not in builds:
        fix = f"use one of {', '.join(builds[:3])}" if builds else f"remove it; EKS has no version for {plan.cluster.version}"
        reason = f"EKS does not offer {name} {version} for Kubernetes {plan.cluster.version}"
        yield Problem("K-07", reason, At() / "addons" / index / "version", fix)


def _node_image(plan: StackPlan, image: str, release: str, account: Account) -> Iterator[Problem]:
    """Report an older release than the recommended one."""
    assert plan.cluster is not None
    newest = account.parameter(IMAGE_PARAMETERS[image].format(minor=plan.cluster.version))
    if release != newest:
        at = At() / "pins" / "images" / image
        yield Problem(
            "K-08",
            f"Release {release} of {image} is pinned, and AWS recommends {newest}",
            at,
            "renew the decision with `rackwright choose` to pin it",
        )
