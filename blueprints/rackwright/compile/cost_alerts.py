"""Cost alerts: a budget from the cost goal, recipients, idle alarms and reminders before the expiry date."""

from dataclasses import replace
from datetime import date, timedelta

from rackwright.clouds import profile, supports
from rackwright.compile.compile_context import CompileContext
from rackwright.stackplan import BlueprintKind, CostAlertsPlan, StackPlan
from rackwright.units import HOUR, MONTH_H

REMINDER_DAYS = (7, 1, 0)
"""Days before the expiry date."""
REMINDER_TIME = "T08:00:00"
"""UTC: morning in Europe, before the working day in America."""
IDLE_MINUTES = {BlueprintKind.TRAINING_CLUSTER: 60, BlueprintKind.TPU_POD: 60, BlueprintKind.INFERENCE_FLEET: 1440}
"""A fleet keeps its minimum replicas at night, so only a whole idle day raises an alarm. CloudWatch evaluates at most one day
(https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/AlarmThatSendsEmail.html)."""
IDLE_CORES, IDLE_MIN_PERCENT = 0.5, 2.0
"""Node agents use half a core, or two percent on the largest machines; a process that uses an accelerator uses a whole core."""


def with_cost_alerts(context: CompileContext, plan: StackPlan) -> StackPlan:
    """The plan with cost alerts: on AWS, whose key serves their topic, and on Google Cloud, which has no reminders; a box has no budget
    there (R-117). Without idle alarm a box has no idle stop."""
    if plan.cluster and supports(plan.place.cloud, "project.alerts"):
        return _with_project_alerts(context, plan)
    has_alerts = profile(plan.place.cloud).has_cost_alerts
    box = plan.box
    if not has_alerts and not (box and supports(plan.place.cloud, "project.alerts")):
        return plan
    if box and not context.spec.blueprint.safety.idle_alarm:
        box = replace(box, idle_stop_minutes=None)
    if not has_alerts:
        return replace(plan, guard=replace(cost_alerts_plan(context, plan.kind), budget_usd_per_month=None, reminders=()), box=box)
    return replace(
        plan,
        guard=cost_alerts_plan(context, plan.kind),
        key=replace(plan.key, serves=(*plan.key.serves, "alarms")),
        box=box,
    )


def _with_project_alerts(context: CompileContext, plan: StackPlan) -> StackPlan:
    """The plan with alerts of a cluster on Google Cloud, where the spec names recipients or a billing account for the budget.

    Cloud Monitoring has no one-time reminders, and a budget belongs to a billing account (R-124).
    """
    account = context.place.billing_account or ""
    if not (context.spec.blueprint.emails or account):
        return plan
    guard = cost_alerts_plan(context, plan.kind)
    budget = guard.budget_usd_per_month if account else None
    services = (*plan.services, "budgets") if budget is not None else plan.services
    return replace(plan, guard=replace(guard, budget_usd_per_month=budget, reminders=(), billing_account=account), services=services)


def cost_alerts_plan(context: CompileContext, kind: BlueprintKind) -> CostAlertsPlan:
    """Budget, recipients, idle alarm and reminders. A box has no idle alarm here, because it has an idle stop."""
    switched_on = context.spec.blueprint.safety.idle_alarm
    return CostAlertsPlan(
        budget_usd_per_month=budget_usd_per_month(context),
        emails=context.spec.blueprint.emails,
        idle_minutes=IDLE_MINUTES.get(kind) if switched_on else None,
        idle_cpu_percent=max(IDLE_MIN_PERCENT, round(100 * IDLE_CORES / min(each.machine.vcpus or 1 for each in context.each_workload), 2)),
        expires_on=context.expires_on,
        reminders=reminders(context.expires_on, context.today),
    )


def budget_usd_per_month(context: CompileContext) -> float | None:
    """The cost goal, which is monthly for serving. A training goal is divided by the months of the run. None without a goal."""
    goal = context.spec.goals.max_cost
    if goal is None or not context.spec.is_training or context.fit.duration_s is None:
        return goal
    return round(goal / max(1.0, context.fit.duration_s.p50 / HOUR / MONTH_H), 2)


def reminders(expires_on: str, today: date) -> tuple[tuple[int, str], ...]:
    """(days before expiry, UTC time) of future reminders; EventBridge rejects past schedules or never runs them."""
    if not expires_on:
        return ()
    last = date.fromisoformat(expires_on)
    return tuple((n, f"{day.isoformat()}{REMINDER_TIME}") for n in REMINDER_DAYS if (day := last - timedelta(days=n)) > today)
