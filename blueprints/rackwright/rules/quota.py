"""What a plan needs of an account's quotas, and whether a known quota is enough."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import Machine
from rackwright.compile.wants import StackPlan
from rackwright.problems import At, Level, Problem

FIELDS = {"spot": "quota_spot", "capacity-block": "quota_capacity_block"}


@dataclass(frozen=True)
class QuotaNeed:
    """code: AWS quota code or GCP metric; amount in `unit`: vCPUs on AWS, accelerators on GCP (vCPUs where a machine has none)."""

    code: str
    region: str
    amount: float
    unit: str
    machine: str
    words: str = ""


def quota_needs(plan: StackPlan) -> tuple[QuotaNeed, ...]:
    """What the plan takes at its largest, one entry per quota; machines whose quota code is not published are left out."""
    needs: dict[str, QuotaNeed] = {}
    for machine, count, mode in _machines(plan):
        code = getattr(machine, FIELDS.get(mode, "quota_on_demand"))
        if not code:
            continue
        each, unit = _each(plan.place.cloud, machine)
        old = needs.get(code)
        names = f"{old.machine}, {machine.name}" if old else machine.name
        needs[code] = QuotaNeed(code, plan.place.region, each * count + (old.amount if old else 0), unit, names)
    return tuple(needs.values())


def check_quota(plan: StackPlan, have: Mapping[str, float]) -> list[Problem]:
    """V-115 for every quota that is known and too small. have: quota code or metric -> the account's value in the plan's region."""
    return [_short(need, have[need.code]) for need in quota_needs(plan) if need.code in have and have[need.code] < need.amount]


def _short(need: QuotaNeed, have: float) -> Problem:
    return Problem(
        code="V-115",
        reason=f"{need.machine} need {need.amount:g} {need.unit} of quota {need.code} in {need.region}; the account has {have:g}",
        at=At() / "pools",
        fix=f"ask for {need.amount - have:g} more, or choose another place",
        level=Level.ERROR,
        link="https://docs.aws.amazon.com/servicequotas/latest/userguide/request-quota-increase.html" if need.code.startswith("L-") else "",
    )


def _machines(plan: StackPlan) -> Iterator[tuple[Machine, int, str]]:
    wanted = [(pool.machine, pool.nodes_max, pool.capacity.mode) for pool in plan.pools]
    wanted += [(plan.box.machine, 1, plan.box.capacity.mode)] if plan.box else []
    known = Catalog.default().machine_by_name
    yield from ((known[name], count, mode) for name, count, mode in wanted if name in known)


def _each(cloud: str, machine: Machine) -> tuple[float, str]:
    if cloud == "aws" or not machine.accelerator_count:
        return machine.vcpus or 0, "vCPU"
    return machine.accelerator_count, "accelerators"
