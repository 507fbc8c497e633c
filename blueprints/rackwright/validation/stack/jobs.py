"""S-201, V-198: what jobs need of a stack."""

from collections.abc import Iterator

from rackwright.diagnostics.problem import At, Level, Stage
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import StackPlan
from rackwright.stackplan.namespaces import is_of_kubernetes
from rackwright.validation.stack.registry import StackContext, context_rule, rule

SESSIONS = "https://docs.aws.amazon.com/systems-manager/latest/userguide/session-manager.html"
RUN = At() / "workloads" / 0 / "run"


# A warning that stops an update, as S-111 of a stack that the spec itself makes a box.
@context_rule("S-201", Level.WARNING, SESSIONS, stage=Stage.BUILD)
def box_runs_no_job(context: StackContext) -> Iterator[Violation]:
    """`run` has no effect on a box, which `kind: auto` chooses for one machine."""
    if context.spec is None or not context.plan.box or context.spec.blueprint.kind == "box":
        return
    if keys := context.spec.workload.run.changed_keys:
        stops = keys != ["secrets"]
        message = f"The chosen stack is a box ({context.plan.box.machine}) without queues, so `run` ({', '.join(keys)}) is not used"
        fix = "leave it out and start the container on the machine, or set `blueprint.kind: training-cluster`"
        yield Violation(RUN, fix, message, stage=Stage.BUILD if stops else Stage.PLAN, blocks_update=stops)


@rule("V-198", Level.ERROR, "https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/")
def namespaces_are_the_stacks_own(plan: StackPlan) -> Iterator[Violation]:
    """The namespaces of a stack are its own; `default` and names that start with kube- belong to Kubernetes."""
    for index, (name, _) in enumerate(plan.namespaces):
        if is_of_kubernetes(name):
            message = f"Namespace {name} belongs to Kubernetes; a stack would change its Pod Security level and delete it at its end"
            yield Violation(At() / "namespaces" / index, "use a namespace of the team, such as team-nlp", message)
