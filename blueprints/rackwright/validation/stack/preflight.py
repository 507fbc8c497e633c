"""V-213, V-216: nodes that `rackwright preflight` can check before jobs start on them."""

from collections.abc import Iterator

from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.validation.stack.registry import StackContext, context_rule

FLAVORS = "https://kueue.sigs.k8s.io/docs/concepts/resource_flavor/"


@context_rule("V-213", Level.ERROR, FLAVORS)
def gate_has_nodes_to_check(context: StackContext) -> Iterator[Violation]:
    """A gate needs a queue whose GPU nodes exist before their jobs: new nodes lack the label of a passed check."""
    spec, plan = context.spec, context.plan
    if spec is None or spec.blueprint.preflight.gate is not True or plan.has_gated_queue:
        return
    pools = [pool for pool in plan.pools if pool.does_the_work]
    if not plan.runs_jobs or not pools:
        why = f"the blueprint {plan.kind} has no queue for jobs"
    elif plan.fallback_pools:
        why = "pools of a fallback get their nodes when jobs need them"
    else:
        why = f"pool {pools[0].name} has {pools[0].machine} without GPUs"
    at = At() / "blueprint" / "preflight" / "gate"
    yield Violation(at, "leave it out, or use a fixed number of GPU nodes", f"The queue cannot wait for checked nodes: {why}")


@context_rule("V-216", Level.WARNING, FLAVORS)
def gated_nodes_stay(context: StackContext) -> Iterator[Violation]:
    """Replacements of spot nodes lack the label of a passed check, so a gated queue starts no job on them."""
    pools = context.plan.pools if context.plan.has_gated_queue else ()
    for pool in pools:
        if pool.does_the_work and pool.capacity.mode == "spot":
            consequence = "an interrupted job waits until `rackwright preflight` has checked the replacement"
            reason = f"Pool {pool.name} has spot nodes and a queue with `preflight.gate`: {consequence}"
            yield Violation(At() / "blueprint" / "preflight" / "gate", "set it to false, or use other capacity", reason)
