"""A compiled stack with its bill, quotas and every problem: the same for every command."""

from collections.abc import Callable
from datetime import datetime

from rackwright.catalog import Catalog
from rackwright.cost import bill
from rackwright.diagnostics.problem import Problem, Stage
from rackwright.sizing.plan import Fit
from rackwright.spec.reading.quotas_file import known_quotas
from rackwright.spec.reading.read_spec import Reading
from rackwright.spec.spec import Spec
from rackwright.stackplan import StackPlan
from rackwright.validation.spec_paths import in_spec
from rackwright.validation.stack import StackContext, quota_needs, refuse_broken_invariants, stack_problems
from rackwright.workflow.stack.stack_preview import StackPreview

ConfigReader = Callable[[str], bool] | None


def checked(
    stack: StackPlan, fit: Fit, spec: Spec, catalog: Catalog, now: datetime, reading: Reading, text: str, is_configured: ConfigReader
) -> StackPreview:
    """The stack of a fit, priced, and checked against every rule over stacks. Raises Bug where it breaks an invariant of the compiler.

    reading: the parsed spec with its warnings; text: of the spec file; is_configured: as of Pipeline.
    """
    place = fit.candidate.place
    costs, granted = bill(stack, fit, spec, catalog), known_quotas(spec, place, fit.candidate.region)
    context = StackContext(stack, catalog, costs, fit, spec, granted, now, is_configured)
    found = stack_problems(context, [entry.rule for entry in spec.acknowledge])
    refuse_broken_invariants(found)
    open_in_spec = (problem for problem in reading.warnings if problem.stage is Stage.BUILD and _concerns(problem, place))
    return StackPreview(
        stack,
        costs,
        quota_needs(stack, catalog),
        in_spec((*found, *open_in_spec), spec, place, stack, text),
        known_quotas={row.code: row for row in catalog.quotas if row.code},
        granted_quotas=granted,
    )


def _concerns(problem: Problem, place: int) -> bool:
    """Whether a problem of the spec is about the entry of infra that was chosen, or about no entry."""
    return problem.at.steps[:1] != ("infra",) or problem.at.steps[2:3] in ((), (place,))
