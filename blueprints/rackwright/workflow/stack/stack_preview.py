"""The compiled stack of a fit with its bill, quotas and problems."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rackwright.catalog.rows import Quota
from rackwright.cost import Bill
from rackwright.diagnostics.problem import Level, Problem, Stage
from rackwright.sizing.plan import SizingPlan
from rackwright.stackplan import StackPlan
from rackwright.validation.stack import QuotaNeed
from rackwright.wording.rejections import refusal_text
from rackwright.workflow.stack.open_items import open_items


@dataclass(frozen=True)
class StackPreview:
    """The stack of one fit with its bill, quotas and problems; stack and bill are None where this release cannot build the fit.

    recorded: a sentence that names the recorded machines where the decision beside the spec has others.
    plan: the ranked candidates. refusals: per rank, mistakes of the spec and limits of this release that prevent the stack of the fit.
    known_quotas: quotas of the pipeline's catalog by code. granted_quotas: available amount by code, where the spec lists it.
    """

    stack: StackPlan | None = None
    bill: Bill | None = None
    quotas: tuple[QuotaNeed, ...] = ()
    problems: tuple[Problem, ...] = ()
    recorded: str = ""
    refusals: tuple[tuple[Problem, ...], ...] = ()
    known_quotas: Mapping[str, Quota] = field(default_factory=dict)
    granted_quotas: Mapping[str, float] = field(default_factory=dict)
    plan: SizingPlan | None = None

    @property
    def errors(self) -> tuple[Problem, ...]:
        """Problems that make the plan itself wrong."""
        return tuple(problem for problem in self.problems if problem.level is Level.ERROR and problem.stage is Stage.PLAN)

    @property
    def before_you_build(self) -> tuple[Problem, ...]:
        """Open items that stop building, not planning, errors first."""
        return open_items(self.problems)

    def refusal(self, rank: int) -> str:
        """Why the stack of a rank, counted from 1, cannot be built: mistakes of the spec, else limits of this release; empty if it can."""
        return refusal_text(self.refusals[rank - 1] if rank <= len(self.refusals) else ())
