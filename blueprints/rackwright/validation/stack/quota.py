"""What a plan needs of an account's quotas, and whether a known quota is enough."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import Machine
from rackwright.clouds import AWS, profile
from rackwright.diagnostics.problem import At, Level, Problem, Stage
from rackwright.stackplan import StackPlan
from rackwright.validation.stack.quota_aws import aws_needs

FIELDS = {"spot": "quota_spot", "capacity-block": "quota_capacity_block"}
ASKING = "https://docs.aws.amazon.com/servicequotas/latest/userguide/request-quota-increase.html"


@dataclass(frozen=True)
class QuotaNeed:
    """code: AWS quota code or GCP metric; amount in `unit`: vCPUs on AWS, accelerators on GCP (vCPUs where a machine has none).

    machine: what takes it, machines or other parts of the stack. code "": the quota's code is not published.
    """

    code: str
    region: str
    amount: float
    unit: str
    machine: str
    words: str = ""


def quota_needs(plan: StackPlan) -> tuple[QuotaNeed, ...]:
    """What the plan takes at its largest, pools at their most, one entry per quota. Reserved machines run under quotas of on-demand."""
    found = [*_machine_needs(plan)]
    if plan.place.cloud == AWS.name:
        found += [QuotaNeed(code, plan.place.region, amount, unit, what) for code, amount, unit, what in aws_needs(plan) if amount]
    return tuple(_summed(found))


def check_quota(plan: StackPlan, have: Mapping[str, float]) -> list[Problem]:
    """V-115 for every quota that is known and too small. have: quota code or metric -> the account's value in the plan's region."""
    return [_short(need, have[need.code]) for need in quota_needs(plan) if need.code in have and have[need.code] < need.amount]


def vcpu_quota(machine: Machine, mode: str) -> str | None:
    """Code of the quota that machines bought so take; None where it is not published."""
    return getattr(machine, FIELDS.get(mode, "quota_on_demand")) or None


def _short(need: QuotaNeed, have: float) -> Problem:
    verb = "need" if "," in need.machine else "needs"
    return Problem(
        code="V-115",
        reason=f"{need.machine} {verb} {need.amount:g} {need.unit} of quota {need.code} in {need.region}; the account has {have:g}",
        at=At() / "pools",
        fix=f"ask for {need.amount - have:g} more, or choose another place",
        level=Level.ERROR,
        link=ASKING if need.code.startswith("L-") else "",
        stage=Stage.BUILD,
    )


def _machine_needs(plan: StackPlan) -> Iterator[QuotaNeed]:
    for machine, count, mode in _machines(plan):
        each, unit = _each(plan.place.cloud, machine)
        code = vcpu_quota(machine, mode)
        if code or mode == "capacity-block":
            yield QuotaNeed(code or "", plan.place.region, each * count, unit, machine.name)


def _summed(needs: Iterable[QuotaNeed]) -> list[QuotaNeed]:
    """One need per code; those without a code stay apart, by what takes them."""
    by_code: dict[str, QuotaNeed] = {}
    for need in needs:
        key = need.code or need.machine
        old = by_code.get(key)
        if old:
            names = dict.fromkeys([*old.machine.split(", "), need.machine])
            need = QuotaNeed(need.code, need.region, old.amount + need.amount, need.unit, ", ".join(names))
        by_code[key] = need
    return list(by_code.values())


def _machines(plan: StackPlan) -> Iterator[tuple[Machine, int, str]]:
    wanted = [(pool.machine, pool.nodes_max, pool.capacity.mode) for pool in plan.pools]
    wanted += [(plan.box.machine, 1, plan.box.capacity.mode)] if plan.box else []
    known = Catalog.default().machine_by_name
    yield from ((known[name], count, mode) for name, count, mode in wanted if name in known)


def _each(cloud: str, machine: Machine) -> tuple[float, str]:
    if profile(cloud).has_vcpu_quotas or not machine.accelerator_count:
        return machine.vcpus or 0, "vCPU"
    return machine.accelerator_count, "accelerators"
