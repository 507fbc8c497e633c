"""The questions, and the answers next to our tables. Every difference is a warning: what is pinned stays pinned."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import Machine
from rackwright.diagnostics.problem import At, Level, Problem
from rackwright.stackplan import CapacityPlan, StackPlan
from rackwright.validation.stack import check_quota

from rackwright_pulumi.aws.addons import MANAGED
from rackwright_pulumi.lookup.account import Account, NotAnswered
from rackwright_pulumi.lookup.machine import differences

SERVICES = ("ec2", "vpc", "eks", "fsx", "ebs")
"""Services whose quotas a plan takes."""
IMAGE_PARAMETERS = {
    "al2023": "/aws/service/eks/optimized-ami/{minor}/amazon-linux-2023/x86_64/standard/recommended/release_version",
    "al2023-nvidia": "/aws/service/eks/optimized-ami/{minor}/amazon-linux-2023/x86_64/nvidia/recommended/release_version",
    "al2023-neuron": "/aws/service/eks/optimized-ami/{minor}/amazon-linux-2023/x86_64/neuron/recommended/release_version",
}
"""Where AWS says which release of a node image it recommends: https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id.html"""


@dataclass(frozen=True)
class Answers:
    """problems: where the account differs from the plan; agreed: what it confirmed; unasked: (what, why it was not checked)."""

    problems: tuple[Problem, ...] = ()
    agreed: tuple[str, ...] = ()
    unasked: tuple[tuple[str, str], ...] = ()


Question = Callable[[StackPlan, Account], Iterator[Problem]]


def look_up(plan: StackPlan, account: Account, catalog: Catalog | None = None) -> Answers:
    """Every question of QUESTIONS, and one per thing it is about. Never raises for what the account does not answer.

    catalog: the one the plan was compiled with; the embedded one when left out.
    """
    problems: list[Problem] = []
    agreed: list[str] = []
    unasked: list[tuple[str, str]] = []
    for what, ask in _questions(plan, catalog or Catalog.default()):
        try:
            found = list(ask(account))
        except NotAnswered as silence:
            unasked.append((what, str(silence)))
            continue
        problems += [replace(problem, level=Level.WARNING) for problem in found]
        agreed += [] if found else [what]
    return Answers(tuple(problems), tuple(agreed), tuple(unasked))


def _questions(plan: StackPlan, catalog: Catalog) -> Iterator[tuple[str, Callable[[Account], Iterator[Problem]]]]:
    """(what is asked, the question): one each, so that one silence hides no other answer."""
    yield "account", lambda account: _account(plan, account)
    for at, name, zones in _machines(plan):
        yield f"facts of {name}", lambda account, at=at, name=name: _facts(at, catalog.machine_by_name.get(name), name, account)
        yield f"zones that sell {name}", lambda account, at=at, name=name, zones=zones: _zones(at, name, zones, account)
    for at, want in _reserved(plan):
        yield f"reservation {want.reservation_id}", lambda account, at=at, want=want: _reservation(at, want, account)
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
    """Quota code -> value, over every service a plan takes from."""
    return {code: value for service in SERVICES for code, (_, value) in account.quotas(service).items()}


def _machines(plan: StackPlan) -> Iterator[tuple[At, str, tuple[str, ...]]]:
    if plan.box:
        yield At() / "box", plan.box.machine, (plan.box.zone,)
    seen: set[str] = set()
    for index, pool in enumerate(plan.pools):
        if pool.machine not in seen:
            yield At() / "pools" / index, pool.machine, pool.zones
        seen.add(pool.machine)


def _reserved(plan: StackPlan) -> Iterator[tuple[At, CapacityPlan]]:
    wants = [(At() / "box" / "capacity", plan.box.capacity)] if plan.box else []
    wants += [(At() / "pools" / index / "capacity", pool.capacity) for index, pool in enumerate(plan.pools)]
    yield from ((at, want) for at, want in wants if want.reservation_id)


def _account(plan: StackPlan, account: Account) -> Iterator[Problem]:
    number = account.number()
    if plan.place.account and number != plan.place.account:
        fix = f"use credentials of {plan.place.account}: the provider refuses others"
        yield Problem("K-01", f"these credentials are of account {number}", At() / "place" / "account", fix)


def _facts(at: At, machine: Machine | None, name: str, account: Account) -> Iterator[Problem]:
    if machine is None:
        raise NotAnswered("our tables do not have it")
    for field, ours, theirs in differences(machine, account.instance_type(name)):
        fix = "tell us, and pin another machine until it is mended: layouts and sizes come from our tables"
        yield Problem("K-02", f"{name}: our tables say {field} {ours}, AWS says {theirs}", at / "machine", fix)


def _zones(at: At, name: str, zones: tuple[str, ...], account: Account) -> Iterator[Problem]:
    sold = account.zones_selling(name)
    missing = [zone for zone in zones if zone not in sold]
    if missing:
        fix = f"name one in infra's zones: {', '.join(sold)}" if sold else "name another region, or another machine"
        yield Problem("K-03", f"{name} is not sold in {', '.join(missing)}", at / "zones", fix)


def _reservation(at: At, plan: CapacityPlan, account: Account) -> Iterator[Problem]:
    """What its owner said of it, against what it is."""
    found = account.reservation(plan.reservation_id)
    facts = [("machine", plan.machine, found["InstanceType"]), ("zone", plan.zone, found["AvailabilityZone"])]
    facts += [("count", str(plan.count), str(found["TotalInstanceCount"]))] if plan.count else []
    for field, ours, theirs in facts:
        if ours and ours != theirs:
            yield Problem("K-04", f"{plan.reservation_id} is of {field} {theirs}, not {ours}", at / field, f"write {theirs}")
    if found["State"] not in ("active", "scheduled", "payment-pending", "pending"):
        yield Problem("K-04", f"{plan.reservation_id} is {found['State']}", at / "reservation_id", "name one that is active or scheduled")
    ends = found.get("EndDate")
    if ends and plan.ends_at and abs((ends - datetime.fromisoformat(plan.ends_at)).total_seconds()) > 60:
        yield Problem("K-04", f"{plan.reservation_id} ends {ends.isoformat()}", at / "ends_at", f"write {ends.isoformat()}")


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
    status, standard = (
        versions.get(plan.cluster.version, "unknown to EKS"),
        sorted(v for v, s in versions.items() if s == "STANDARD_SUPPORT"),
    )
    if status != "STANDARD_SUPPORT":
        fix = f"in standard support: {', '.join(standard)}" if standard else "see the EKS release calendar"
        yield Problem("K-06", f"Kubernetes {plan.cluster.version} is {status.lower().replace('_', ' ')}", At() / "cluster" / "version", fix)


def _addon(plan: StackPlan, index: int, account: Account) -> Iterator[Problem]:
    assert plan.cluster is not None
    want = plan.addons[index]
    name = MANAGED[want.name].name
    builds = account.addon_versions(name, plan.cluster.version)
    if want.version not in builds:
        fix = f"EKS has {', '.join(builds[:3])}" if builds else f"EKS has none for {plan.cluster.version}"
        yield Problem("K-07", f"EKS has no {name} {want.version} for {plan.cluster.version}", At() / "addons" / index / "version", fix)


def _node_image(plan: StackPlan, image: str, release: str, account: Account) -> Iterator[Problem]:
    """An older release than the recommended one is no fault, and is said."""
    assert plan.cluster is not None
    newest = account.parameter(IMAGE_PARAMETERS[image].format(minor=plan.cluster.version))
    if release != newest:
        at = At() / "pins" / "images" / image
        yield Problem(
            "K-08",
            f"AWS recommends release {newest} of {image}, {release} is pinned",
            at,
            "a new decision may pin it; nothing moves by itself",
        )
