"""What must not happen silently: machines that run on, money nobody watches, protections that are off."""

from collections.abc import Iterator

from rackwright.clouds import AWS
from rackwright.compile.blueprints.box import IDLE_STOP_MINUTES
from rackwright.diagnostics.problem import At, Level, Stage
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import BlueprintKind, StackPlan
from rackwright.validation.stack.registry import manifests, rule

ACTIVATE = "https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/activating-tags.html"
OWNED = {
    "owner": ("owner",),
    "cost centre": ("cost_centre", "cost-centre", "cost-center", "cost_center", "costcentre", "costcenter"),
}
"""What a bill and an orphan are traced by, and the keys it goes by, in lower case."""


@rule("R-30", Level.WARNING, ACTIVATE, on=AWS)
def somebody_answers_for_it(plan: StackPlan) -> Iterator[Violation]:
    """Whatever is left over is traced by its tags: an owner, and a cost centre where several pay."""
    keys = {key.lower() for key, _ in plan.tags}
    for what, names in OWNED.items():
        if not keys & {*names}:
            yield Violation(At() / "tags", f"give the spec tags: {{{names[0]}: ...}}", detail=f"there is no {what}")


@rule("R-31", Level.WARNING, "https://docs.aws.amazon.com/vpc/latest/userguide/flow-logs.html", on=AWS)
def traffic_is_logged(plan: StackPlan) -> Iterator[Violation]:
    """Without flow logs nobody can say afterwards who talked to whom."""
    if not plan.network.existing_id and not plan.network.flow_logs:
        yield Violation(At() / "network" / "flow_logs", "leave blueprint.safety.flow_logs out")


@rule("R-32", Level.WARNING, "https://docs.aws.amazon.com/eks/latest/userguide/control-plane-logs.html", on=AWS)
def the_api_is_audited(plan: StackPlan) -> Iterator[Violation]:
    """Without audit logs nobody can say afterwards who asked what of the cluster."""
    if plan.cluster and not plan.cluster.existing and not plan.cluster.audit_logs:
        yield Violation(At() / "cluster" / "audit_logs", "leave blueprint.safety.audit_logs out")


@rule("R-33", Level.WARNING, "https://docs.aws.amazon.com/vpc/latest/privatelink/privatelink-access-aws-services.html", on=AWS)
def services_are_reached_privately(plan: StackPlan) -> Iterator[Violation]:
    """Without endpoints calls of AWS services leave the network, and every image and object is paid for at the NAT gateway."""
    if not plan.network.existing_id and not plan.network.private_endpoints:
        yield Violation(At() / "network" / "private_endpoints", "leave blueprint.safety.private_endpoints out")


@rule("R-34", Level.WARNING, "https://kubernetes.io/docs/concepts/services-networking/network-policies/", on=AWS)
def pods_are_kept_apart(plan: StackPlan) -> Iterator[Violation]:
    """Without a policy that denies the rest, every pod of the cluster reaches every other."""
    inside = plan.kind is not BlueprintKind.BOX and "workloads" in plan.layers
    if inside and not [*manifests(plan, "NetworkPolicy")]:
        yield Violation(At() / "manifests", "leave blueprint.safety.network_policies out")


@rule("V-113", Level.WARNING, "https://www.pulumi.com/docs/iac/concepts/resources/options/protect/")
def data_is_protected(plan: StackPlan) -> Iterator[Violation]:
    """What holds data, and the cluster, should refuse to be deleted until a teardown."""
    if not plan.protected:
        yield Violation(At() / "protected", "leave blueprint.safety.deletion_protection out")


@rule("R-35", Level.WARNING, "https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-cloudwatch-monitoring.html")
def idle_machines_are_told_of(plan: StackPlan) -> Iterator[Violation]:
    """Accelerators that do nothing cost what they cost when they work; somebody should hear of it."""
    managed = any(pool.role == "accelerator" and pool.provisioner == "managed" for pool in plan.pools)
    if plan.guard and managed and plan.guard.idle_minutes is None:
        yield Violation(At() / "guard" / "idle_minutes", "leave blueprint.safety.idle_alarm out")


@rule("R-36", Level.WARNING, "https://docs.aws.amazon.com/sns/latest/dg/sns-email-notifications.html", Stage.BUILD)
def somebody_is_told(plan: StackPlan) -> Iterator[Violation]:
    """A budget, an alarm and a reminder are worth as much as the people they reach."""
    guard = plan.guard
    if guard and not guard.emails and (guard.budget_usd_per_month is not None or guard.idle_minutes is not None or guard.reminders):
        yield Violation(At() / "guard" / "emails", "give blueprint.notify an address, or subscribe to the topic")


@rule("R-37", Level.WARNING, "https://docs.aws.amazon.com/cost-management/latest/userguide/budgets-managing-costs.html")
def a_budget_watches(plan: StackPlan) -> Iterator[Violation]:
    """Without a goal for the cost there is no budget whose alarm says that more is spent than was meant."""
    if plan.guard and plan.guard.budget_usd_per_month is None:
        yield Violation(At() / "guard" / "budget_usd_per_month", "give the spec goals.max_cost")


@rule("R-38", Level.WARNING, "https://docs.aws.amazon.com/sns/latest/dg/sns-key-management.html")
def alarms_may_use_the_key(plan: StackPlan) -> Iterator[Violation]:
    """A topic is encrypted, and whoever may not use its key tells nobody, without an error."""
    if plan.guard and plan.key.existing_arn:
        fix = "let budgets.amazonaws.com and cloudwatch.amazonaws.com use it, then acknowledge this"
        yield Violation(At() / "key" / "existing_arn", fix, detail="the policy of a key that exists is not seen here")


@rule("V-112", Level.WARNING, "https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/UsingAlarmActions.html")
def machines_do_not_run_on(plan: StackPlan) -> Iterator[Violation]:
    """A machine with accelerators that nobody uses should stop by itself, and a stack that only trains should have an end."""
    if plan.box and not plan.box.idle_stop_minutes:
        fix = f"leave blueprint.safety.idle_alarm out, and it stops after {IDLE_STOP_MINUTES} minutes"
        yield Violation(At() / "box" / "idle_stop_minutes", fix, detail="the box has no idle stop")
    if not plan.expires_on and plan.kind is not BlueprintKind.INFERENCE_FLEET:
        yield Violation(At() / "expires_on", "give the spec a blueprint.ttl", detail="the stack has no date to be gone by")
