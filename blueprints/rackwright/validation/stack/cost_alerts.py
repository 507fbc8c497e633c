"""Cost alerts, owners and protections: what keeps a stack from running or being deleted unnoticed."""

from collections.abc import Iterator

from rackwright.clouds import AWS, GCP, profile
from rackwright.diagnostics.problem import At, Level, Stage
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import BlueprintKind, StackPlan
from rackwright.stackplan.capacity import IDLE_STOP_MINUTES
from rackwright.validation.stack.registry import manifests, rule

ACTIVATE = "https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/activating-tags.html"
OWNER_TAGS = {
    "owner": ("owner",),
    "cost centre": ("cost_centre", "cost-centre", "cost-center", "cost_center", "costcentre", "costcenter"),
}
"""Tags that attribute costs, and their accepted keys in lower case."""


@rule("R-30", Level.WARNING, ACTIVATE, on=AWS)
def owner_tags_are_set(plan: StackPlan) -> Iterator[Violation]:
    """The tags of a stack name an owner and a cost centre, so that costs and leftover resources can be attributed."""
    keys = {key.lower() for key, _ in plan.tags}
    for what, names in OWNER_TAGS.items():
        if not keys & {*names}:
            yield Violation(At() / "tags", f"add tags: {{{names[0]}: ...}} to the spec", f"The tags name no {what}")


@rule("R-31", Level.WARNING, "https://docs.aws.amazon.com/vpc/latest/userguide/flow-logs.html", on=AWS)
def flow_logs_are_on(plan: StackPlan) -> Iterator[Violation]:
    """VPC flow logs are on, so that network traffic can be investigated later."""
    if not plan.network.existing_id and not plan.network.flow_logs:
        message = "VPC flow logs are off, so network traffic cannot be investigated later"
        yield Violation(At() / "network" / "flow_logs", "remove flow_logs from blueprint.safety", message)


@rule("R-32", Level.WARNING, "https://docs.aws.amazon.com/eks/latest/userguide/control-plane-logs.html", on=AWS)
def audit_logs_are_on(plan: StackPlan) -> Iterator[Violation]:
    """Audit logs of the cluster's API are on, so that API calls can be investigated later."""
    if plan.cluster and not plan.cluster.existing and not plan.cluster.audit_logs:
        message = "Audit logs of the cluster are off, so API calls cannot be investigated later"
        yield Violation(At() / "cluster" / "audit_logs", "remove audit_logs from blueprint.safety", message)


@rule("R-33", Level.WARNING, "https://docs.aws.amazon.com/vpc/latest/privatelink/privatelink-access-aws-services.html", on=AWS)
def private_endpoints_are_on(plan: StackPlan) -> Iterator[Violation]:
    """AWS services are reached through private endpoints; otherwise calls leave the network and NAT gateway traffic is billed."""
    if not plan.network.existing_id and not plan.network.private_endpoints:
        message = "Private endpoints are off, so AWS calls leave the network and NAT gateway traffic is billed"
        yield Violation(At() / "network" / "private_endpoints", "remove private_endpoints from blueprint.safety", message)


@rule("R-34", Level.WARNING, "https://kubernetes.io/docs/concepts/services-networking/network-policies/", on=AWS)
def network_policies_are_on(plan: StackPlan) -> Iterator[Violation]:
    """Network policies restrict the traffic between pods; without them every pod of the cluster reaches every other."""
    inside = plan.kind is not BlueprintKind.BOX and "workloads" in plan.layers
    if inside and not [*manifests(plan, "NetworkPolicy")]:
        message = "Network policies are off, so every pod of the cluster reaches every other"
        yield Violation(At() / "manifests", "remove network_policies from blueprint.safety", message)


@rule("V-113", Level.WARNING, "https://www.pulumi.com/docs/iac/concepts/resources/options/protect/")
def deletion_protection_is_on(plan: StackPlan) -> Iterator[Violation]:
    """The cluster and resources with data are protected from deletion until a teardown."""
    if not plan.protected:
        message = "Deletion protection is off, so an update can delete the cluster and data"
        yield Violation(At() / "protected", "remove deletion_protection from blueprint.safety", message)


@rule("R-35", Level.WARNING, "https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-cloudwatch-monitoring.html")
def idle_alarm_is_on(plan: StackPlan) -> Iterator[Violation]:
    """An alarm reports idle accelerator nodes, which cost as much as busy ones."""
    managed = any(pool.role == "accelerator" and pool.provisioner == "managed" for pool in plan.pools)
    if plan.guard and managed and plan.guard.idle_minutes is None:
        message = "The idle alarm is off, so idle accelerator nodes are billed without notice"
        yield Violation(At() / "guard" / "idle_minutes", "remove idle_alarm from blueprint.safety", message)


# The topic can get subscribers outside the spec, and the machines are the same.
@rule("R-36", Level.WARNING, "https://docs.aws.amazon.com/sns/latest/dg/sns-email-notifications.html", Stage.BUILD, blocks_update=False)
def alerts_have_recipients(plan: StackPlan) -> Iterator[Violation]:
    """Budgets, alarms and expiry reminders have at least one recipient."""
    guard = plan.guard
    if guard and not guard.emails and (guard.budget_usd_per_month is not None or guard.idle_minutes is not None or guard.reminders):
        further = ", or subscribe to the topic" if profile(plan.place.cloud).has_cost_alerts else ""
        fix = f"set `blueprint.notify` to an email address{further}"
        yield Violation(At() / "guard" / "emails", fix, "No alert recipients are configured")


@rule("R-37", Level.WARNING, "https://docs.aws.amazon.com/cost-management/latest/userguide/budgets-managing-costs.html", on=AWS)
def budget_is_set(plan: StackPlan) -> Iterator[Violation]:
    """A stack has a budget, which requires a cost goal in the spec."""
    if plan.guard and plan.guard.budget_usd_per_month is None:
        yield Violation(At() / "guard" / "budget_usd_per_month", "set goals.max_cost", "The spec has no cost goal, so no budget is created")


@rule("R-124", Level.WARNING, "https://docs.cloud.google.com/billing/docs/how-to/budgets", on=GCP)
def google_budget_is_set(plan: StackPlan) -> Iterator[Violation]:
    """A budget on Google Cloud needs a cost goal and the billing account of the project."""
    if plan.cluster is None or plan.guard is None or plan.guard.budget_usd_per_month is not None:
        return
    at = At() / "guard" / "budget_usd_per_month"
    if plan.guard.billing_account:
        yield Violation(at, "set goals.max_cost", "The spec has no cost goal, so no budget is created")
    else:
        fix = "set infra.any_of[].billing_account; `gcloud billing projects describe PROJECT` shows it"
        yield Violation(at, fix, "The spec names no billing account, so no budget is created")


@rule("R-38", Level.WARNING, "https://docs.aws.amazon.com/sns/latest/dg/sns-key-management.html", on=AWS)
def alerts_can_use_the_key(plan: StackPlan) -> Iterator[Violation]:
    """Budgets and CloudWatch must be allowed to use the key of the encrypted alert topic; without permission alerts are lost silently."""
    if plan.guard and plan.key.existing_arn:
        fix = "allow budgets.amazonaws.com and cloudwatch.amazonaws.com to use the key, then acknowledge R-38"
        message = "The alert topic uses an existing key, whose policy cannot be read before deployment"
        yield Violation(At() / "key" / "existing_arn", fix, message)


@rule("V-112", Level.WARNING, "https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/UsingAlarmActions.html")
def stack_stops_or_expires(plan: StackPlan) -> Iterator[Violation]:
    """A box stops when it is idle, and a stack that does not serve has an expiry date. Own servers are not returned."""
    if profile(plan.place.cloud).is_owned:
        return
    if plan.box and not plan.box.idle_stop_minutes:
        fix = f"remove idle_alarm from blueprint.safety; the box then stops after {IDLE_STOP_MINUTES} idle minutes"
        yield Violation(At() / "box" / "idle_stop_minutes", fix, "The idle stop of the box is off")
    if not plan.expires_on and plan.kind is not BlueprintKind.INFERENCE_FLEET:
        yield Violation(At() / "expires_on", "set blueprint.ttl", "The stack has no expiry date")
