"""S-201, V-198, V-290: what jobs need of a stack."""

from collections.abc import Iterator

from rackwright.diagnostics.problem import At, Level, Stage
from rackwright.diagnostics.rule import Violation
from rackwright.spec.workload import TRAINING, Serve, Workload
from rackwright.stackplan import BlueprintKind, StackPlan
from rackwright.stackplan.namespaces import is_of_kubernetes
from rackwright.validation.spec.workload.jobs import never_runs
from rackwright.validation.stack.registry import StackContext, context_rule, rule

SESSIONS = "https://docs.aws.amazon.com/systems-manager/latest/userguide/session-manager.html"
JOB = "https://kubernetes.io/docs/concepts/workloads/controllers/job/"
RUN = At() / "workloads" / 0 / "run"


# A warning that stops an update, as S-111. Earlier releases reported it as S-111 where the spec sets kind: box.
@context_rule("S-201", Level.WARNING, SESSIONS, stage=Stage.BUILD)
def box_runs_no_job(context: StackContext) -> Iterator[Violation]:
    """`run` describes a job of a training cluster, or the container of a box on own servers; other boxes do not use it."""
    spec = context.spec
    if spec is None or never_runs(spec.workload, spec.infra.places):
        return
    if spec.blueprint.kind == "box" and any(entry.rule == "S-111" for entry in spec.acknowledge):
        return
    keys, what = _unused_keys(context.plan, spec.workload), _stack(context.plan)
    if keys and context.plan.runs_container:
        fix = "leave it out, or set `blueprint.kind: training-cluster`"
        for key in keys:
            message = f"The chosen stack is {what} whose container has no queue, so `{key}` has no effect"
            yield Violation(RUN / key, fix, message, about_key=True, link=JOB)
    elif keys:
        missing, fix = _missing(context.plan, spec.workload)
        message = f"The chosen stack is {what} without {missing}, so `run` ({', '.join(keys)}) is not used"
        stops = keys != ["secrets"]
        stage, link = Stage.BUILD if stops else Stage.PLAN, "" if context.plan.box else JOB
        yield Violation(RUN, fix, message, stage=stage, blocks_update=stops, link=link)


def _unused_keys(plan: StackPlan, workload: Workload) -> list[str]:
    """Keys of `run` without an effect. A launcher starts a command; S-200 has the keys of servers."""
    changed = workload.run.changed_keys
    if plan.runs_container:
        unused = ("job", "priority") if workload.run.command else ("job", "priority", "launcher")
        return [key for key in changed if key in unused]
    is_used = plan.runs_jobs if isinstance(workload, TRAINING) else isinstance(workload, Serve) and plan.kind is not BlueprintKind.BOX
    return [] if is_used else changed


def _stack(plan: StackPlan) -> str:
    """Kind of the stack with its machine."""
    machine = plan.box.machine if plan.box else next(pool.machine for pool in plan.pools if pool.does_the_work)
    return f"a {plan.kind} ({machine})"


def _missing(plan: StackPlan, workload: Workload) -> tuple[str, str]:
    """(what the stack lacks to use `run`, fix)."""
    cluster = "set `blueprint.kind: training-cluster`"
    if plan.box:
        return "queues", f"leave it out and start the container on the machine, or {cluster}"
    if plan.kind is BlueprintKind.BOX:
        return "`run.image`", f"set `run.image`, which the stack starts, or {cluster}"
    return f"jobs for a {workload.kind} workload", "set it in the job that you submit to the stack, and leave it out here"


@rule("V-198", Level.ERROR, "https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/")
def namespaces_are_the_stacks_own(plan: StackPlan) -> Iterator[Violation]:
    """A stack creates the namespaces that it uses: `default` and names that start with kube- belong to Kubernetes."""
    for index, (name, _) in enumerate(plan.namespaces):
        if is_of_kubernetes(name):
            message = f"Namespace {name} belongs to Kubernetes; a stack would change its Pod Security level and delete it at its end"
            yield Violation(At() / "namespaces" / index, "use a namespace of the team, such as team-nlp", message)


@context_rule("V-290", Level.WARNING, "https://kueue.sigs.k8s.io/docs/tasks/run/", stage=Stage.BUILD)
def operators_have_a_queue(context: StackContext) -> Iterator[Violation]:
    """`blueprint.operators` are installed in stacks with queues only."""
    spec, plan = context.spec, context.plan
    if spec is not None and spec.blueprint.operators and not plan.runs_jobs:
        message = f"The chosen stack is {_stack(plan)} without queues, so {', '.join(spec.blueprint.operators)} is not installed"
        fix = "set `blueprint.kind: training-cluster`, or leave it out"
        yield Violation(At() / "blueprint" / "operators", fix, message, blocks_update=False)
