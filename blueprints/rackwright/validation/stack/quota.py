"""Quotas that a plan requires, compared with the quotas of an account."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from rackwright.catalog.query import quota_amount, quota_code
from rackwright.catalog.read import Catalog
from rackwright.clouds import profile
from rackwright.diagnostics.problem import At, Level, Problem, Stage
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import StackPlan
from rackwright.validation.stack.quota_aws import aws_needs
from rackwright.validation.stack.registry import RULES, StackContext, context_rule

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


def quota_needs(plan: StackPlan, catalog: Catalog | None = None) -> tuple[QuotaNeed, ...]:
    """Quotas at the maximum size of every pool, one entry per quota. Reserved machines count towards on-demand quotas."""
    found = [*_machine_needs(plan, catalog or Catalog.default())]
    if profile(plan.place.cloud).has_service_quotas:
        found += [QuotaNeed(code, plan.place.region, amount, unit, what) for code, amount, unit, what in aws_needs(plan) if amount]
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
            yield QuotaNeed(code or "", plan.place.region, each * count, unit, name)


def _summed(needs: Iterable[QuotaNeed]) -> list[QuotaNeed]:
    """One entry per code, or per machine without a code."""
    by_code: dict[str, QuotaNeed] = {}
    for need in needs:
        key = need.code or need.machine
        old = by_code.get(key)
        if old:
            names = dict.fromkeys([*old.machine.split(", "), need.machine])
            need = QuotaNeed(need.code, need.region, old.amount + need.amount, need.unit, ", ".join(names))
        by_code[key] = need
    return list(by_code.values())
