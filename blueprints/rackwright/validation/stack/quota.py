"""Quotas that a plan requires, compared with the quotas of an account."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from rackwright.catalog.query import quota_amount, quota_code
from rackwright.catalog.read import Catalog
from rackwright.clouds import AWS, GCP, profile
from rackwright.diagnostics.problem import At, Level, Problem, Stage
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import StackPlan
from rackwright.validation.stack.quotas.aws import aws_needs
from rackwright.validation.stack.quotas.gcp import gcp_needs
from rackwright.validation.stack.registry import RULES, StackContext, context_rule

FURTHER: dict[str, Callable[[StackPlan, Catalog], Iterator[tuple[str, float, str, str]]]] = {
    AWS.name: lambda plan, _: aws_needs(plan),
    GCP.name: gcp_needs,
}
"""Cloud -> further quotas of a stack: (code, amount, unit, part of the stack)."""
QUOTA_GUIDE = "https://docs.aws.amazon.com/servicequotas/latest/userguide/request-quota-increase.html"


@dataclass(frozen=True)
class QuotaNeed:
    """A required quota.

    code: AWS quota code or GCP metric, "" where AWS publishes none. amount: in `unit`; vCPUs on AWS, accelerators on GCP (vCPUs for
    machines without any). machine: instance types or other parts of the stack that use the quota.
    """

    code: str
    region: str
    amount: float
    unit: str
    machine: str
    words: str = ""
    of_machines: bool = True
    """Whether machines that do the work use it; others without a published default are listed with all details only."""


def quota_needs(plan: StackPlan, catalog: Catalog | None = None) -> tuple[QuotaNeed, ...]:
    """Quotas at the maximum size of every pool, one entry per quota. Reserved machines count towards on-demand quotas."""
    found = [*_machine_needs(plan, catalog or Catalog.default())]
    region, is_known = plan.place.region, profile(plan.place.cloud).has_vcpu_quotas
    if further := FURTHER.get(plan.place.cloud):
        needed = further(plan, catalog or Catalog.default())
        found += [QuotaNeed(code, region, amount, unit, what, of_machines=is_known) for code, amount, unit, what in needed if amount]
    return tuple(_summed(found))


# A spec without quotas states nothing, and does not stop an update; one whose quotas are too small must be settled with the new value.
@context_rule("V-115", Level.ERROR, stage=Stage.BUILD)
def quotas_cover_the_stack(context: StackContext) -> Iterator[Violation]:
    """The quotas of the account, where the spec lists them in `quotas`, cover the stack at its maximum size"""
    for need in quota_needs(context.plan, context.catalog):
        granted = context.quotas.get(need.code, need.amount)
        if granted < need.amount:
            verb = "need" if "," in need.machine else "needs"
            reason = f"{need.machine} {verb} {need.amount:g} {need.unit} of quota {need.code} in {need.region}; the account has {granted:g}"
            fix = f"request an increase by {need.amount - granted:g} and set the new value in `quotas`, or use another region"
            yield Violation(At() / "pools", fix, reason, link=QUOTA_GUIDE if need.code.startswith("L-") else "")


def check_quota(plan: StackPlan, have: Mapping[str, float], catalog: Catalog | None = None) -> list[Problem]:
    """V-115 alone. have: quota code or metric -> the account's value in the plan's region."""
    return list(RULES.rules["V-115"].problems(StackContext(plan, catalog or Catalog.default(), quotas=have)))


def _machine_needs(plan: StackPlan, catalog: Catalog) -> Iterator[QuotaNeed]:
    used = [(pool.machine, pool.nodes_max, pool.capacity.mode) for pool in plan.pools]
    used += [(plan.box.machine, 1, plan.box.capacity.mode)] if plan.box else []
    for name, count, mode in used:
        machine = catalog.machine_by_name.get(name)
        code = quota_code(machine, mode) if machine else None
        if machine and (code or mode == "capacity-block"):
            each, unit = quota_amount(machine)
            works = bool(machine.accelerator_count) or profile(machine.cloud).has_vcpu_quotas
            yield QuotaNeed(code or "", plan.place.region, each * count, unit, name, of_machines=works)


def _summed(needs: Iterable[QuotaNeed]) -> list[QuotaNeed]:
    """One entry per code, or per machine without a code."""
    by_code: dict[str, QuotaNeed] = {}
    for need in needs:
        key = need.code or need.machine
        old = by_code.get(key)
        if old:
            names = dict.fromkeys([*old.machine.split(", "), need.machine])
            need = replace(need, amount=old.amount + need.amount, machine=", ".join(names))
        by_code[key] = need
    return list(by_code.values())
