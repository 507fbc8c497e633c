"""What guards the stack's money: a budget from the goal, who is told, when machines count as idle, reminders of the stack's last day."""

from dataclasses import replace
from datetime import date, timedelta

from rackwright.clouds import profile
from rackwright.compile.compile_context import CompileContext
from rackwright.stackplan import BlueprintKind, CostAlertsPlan, StackPlan
from rackwright.units import MONTH_H

REMINDED_DAYS = (7, 1, 0)
"""Before the stack's last day."""
REMINDED_AT = "T08:00:00"
"""UTC; a working morning in Europe, before one in America."""
IDLE_MINUTES = {BlueprintKind.TRAINING_CLUSTER: 60, BlueprintKind.INFERENCE_FLEET: 1440}
"""A fleet keeps its least replicas through quiet nights, so only a whole day without work is told: CloudWatch looks back one day at most
(https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/AlarmThatSendsEmail.html)."""
IDLE_CORES, IDLE_LEAST_PERCENT = 0.5, 2.0
"""A node's own agents take half a core, on the largest machines two percent; a process that feeds an accelerator takes a whole one."""


def with_cost_alerts(context: CompileContext, plan: StackPlan) -> StackPlan:
    """The plan with its guard, on AWS; its topic is encrypted, so the key serves alarms too. A box that must not be told idle stays on."""
    if not profile(plan.place.cloud).has_cost_alerts:
        return plan
    box = plan.box
    if box and not context.spec.blueprint.safety.idle_alarm:
        box = replace(box, idle_stop_minutes=None)
    return replace(
        plan,
        guard=cost_alerts_plan(context, plan.kind),
        key=replace(plan.key, serves=(*plan.key.serves, "alarms")),
        box=box,
    )


def cost_alerts_plan(context: CompileContext, kind: BlueprintKind) -> CostAlertsPlan:
    """A box is stopped by an alarm of its own, so none is told of it here."""
    switched_on = context.spec.blueprint.safety.idle_alarm
    return CostAlertsPlan(
        budget_usd_per_month=budget_usd_per_month(context),
        emails=tuple(dict.fromkeys(context.spec.blueprint.notify)),
        idle_minutes=IDLE_MINUTES.get(kind) if switched_on else None,
        idle_cpu_percent=max(IDLE_LEAST_PERCENT, round(100 * IDLE_CORES / (context.machine.vcpus or 1), 2)),
        expires_on=context.expires_on,
        reminders=reminders(context.expires_on, context.today),
    )


def budget_usd_per_month(context: CompileContext) -> float | None:
    """The goal itself for serving, whose goal is monthly. A run's goal is spread over its months, so that one which takes longer than a
    month is not let off until the second; None without a goal."""
    goal = context.spec.goals.max_cost
    if goal is None or not context.spec.is_training or context.fit.duration_s is None:
        return goal
    return round(goal / max(1.0, context.fit.duration_s.p50 / 3600 / MONTH_H), 2)


def reminders(expires_on: str, today: date) -> tuple[tuple[int, str], ...]:
    """(days before, moment in UTC) of those still to come: a schedule for a moment that has passed is refused or never fires."""
    if not expires_on:
        return ()
    last = date.fromisoformat(expires_on)
    return tuple((n, f"{day.isoformat()}{REMINDED_AT}") for n in REMINDED_DAYS if (day := last - timedelta(days=n)) > today)
