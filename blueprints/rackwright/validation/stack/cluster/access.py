"""Who has access to a cluster, and options of it that the chosen stack cannot have: on a box, or for principals of another cloud."""

from collections.abc import Iterator

from rackwright.clouds import AWS, profile
from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import StackPlan
from rackwright.validation.stack.registry import StackContext, context_rule, rule

BLUEPRINT = At() / "blueprint"
ACCESS_ENTRIES = "https://docs.aws.amazon.com/eks/latest/userguide/creating-access-entries.html"


@context_rule("S-114", Level.WARNING, ACCESS_ENTRIES)
def box_uses_no_options_of_a_cluster(context: StackContext) -> Iterator[Violation]:
    """`admins`, `viewers` and `pod_logs` have no effect on a box, which `kind: auto` chooses for one machine."""
    if context.spec is None or not context.plan.box:
        return
    blueprint, box = context.spec.blueprint, context.plan.box
    for key, is_set in (("admins", blueprint.admins), ("viewers", blueprint.viewers), ("pod_logs", blueprint.pod_logs != "none")):
        if is_set:
            message = f"The chosen stack is a box ({box.machine}) without a cluster, so `{key}` has no effect"
            yield Violation(BLUEPRINT / key, "leave it out, or set kind to the blueprint that you expect", message)


@context_rule("S-116", Level.WARNING, ACCESS_ENTRIES)
def admins_are_of_the_chosen_cloud(context: StackContext) -> Iterator[Violation]:
    """`admins` and `viewers` should name principals of the chosen cloud; those of other clouds have no access to its cluster."""
    if context.spec is None or context.plan.cluster is None:
        return
    cloud = profile(context.plan.place.cloud)
    for key in ("admins", "viewers"):
        names = getattr(context.spec.blueprint, key)
        if names and not any(name.startswith(cloud.principals) for name in names):
            message = f"The chosen stack is on {cloud.name}, and no entry of `{key}` is a principal of {cloud.name}"
            yield Violation(BLUEPRINT / key, f"add one that starts with {' or '.join(cloud.principals)}", message)


@rule("V-148", Level.ERROR, "https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateAccessEntry.html", on=AWS)
def role_of_updates_is_administrator(plan: StackPlan) -> Iterator[Violation]:
    """The role that updates an EKS cluster is one of its `admins`; without `admins` it has the only access entry, and it is not one
    of the `viewers`."""
    cluster, role = plan.cluster, plan.place.role_arn
    if cluster is None or cluster.existing or cluster.creator_access != "entry" or not role:
        return
    if cluster.admins and role not in cluster.admins:
        message = f"{role} runs the updates, and is not one of the cluster's administrators ({', '.join(cluster.admins)})"
        yield Violation(At() / "cluster" / "admins", f"add {role}", message)
    if not cluster.admins and role in cluster.viewers:
        message = f"{role} runs the updates as administrator, and is in `viewers`; EKS allows one access entry per principal"
        yield Violation(At() / "cluster" / "viewers", "remove it from `viewers`", message)
