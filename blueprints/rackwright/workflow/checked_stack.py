"""A compiled stack with its bill, quotas and every problem: the same for every command."""

from typing import TYPE_CHECKING

from rackwright.compile.compile_context import moment
from rackwright.cost import bill
from rackwright.diagnostics.problem import Problem, Stage
from rackwright.sizing.plan import Fit
from rackwright.spec.quotas import known_quotas
from rackwright.stackplan import StackPlan
from rackwright.validation.spec_paths import in_spec
from rackwright.validation.stack import StackContext, quota_needs, refuse_broken_invariants, stack_problems
from rackwright.workflow.stack_preview import StackPreview

if TYPE_CHECKING:
    from rackwright.workflow.pipeline import Pipeline


def checked(pipeline: "Pipeline", stack: StackPlan, fit: Fit) -> StackPreview:
    """The stack of a fit, priced, and checked against every rule over stacks. Raises Bug where it breaks an invariant of the compiler."""
    spec, catalog, place = pipeline.spec, pipeline.catalog, fit.candidate.place
    costs, granted = bill(stack, fit, spec, catalog), known_quotas(spec, place, fit.candidate.region)
    now = moment(pipeline.today, pipeline.now)
    context = StackContext(stack, catalog, costs, fit, spec, granted, now, pipeline.is_configured)
    found = stack_problems(context, [entry.rule for entry in spec.acknowledge])
    refuse_broken_invariants(found)
    warnings = pipeline.reading.warnings
    open_in_spec = (problem for problem in warnings if problem.stage is Stage.BUILD and _concerns(problem, place))
    return StackPreview(
        stack,
        costs,
        quota_needs(stack, catalog),
        in_spec((*found, *open_in_spec), spec, place, stack, pipeline.content),
        known_quotas={row.code: row for row in catalog.quotas if row.code},
    )


def _concerns(problem: Problem, place: int) -> bool:
    """Whether a problem of the spec is about the entry of infra that was chosen, or about no entry."""
    return problem.at.steps[:1] != ("infra",) or problem.at.steps[2:3] in ((), (place,))
