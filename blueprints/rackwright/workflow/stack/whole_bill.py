"""The whole bill of a candidate's stack, which sizing compares with the budget."""

from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import TYPE_CHECKING

from rackwright.catalog import Catalog
from rackwright.compile.compile import compile_plan
from rackwright.cost.bill import total_interval
from rackwright.diagnostics.errors import UserError
from rackwright.sizing.metrics import Interval
from rackwright.sizing.plan import SizingPlan
from rackwright.spec.spec import Spec
from rackwright.workflow.recorded.recorded_choice import running_with
from rackwright.workflow.stack.buildability import Buildability

if TYPE_CHECKING:
    from rackwright.workflow.decision import Decision


@dataclass(frozen=True)
class StackPricing:
    """Prices the stacks of a spec's candidates, as `rackwright.sizing.size` requires.

    record: the decision whose stack is running. buildability: finds candidates that cannot be built without compiling them.
    """

    spec: Spec
    catalog: Catalog
    today: date
    now: datetime | None = None
    record: "Decision | None" = None
    buildability: Buildability | None = None

    def __call__(self, plan: SizingPlan) -> Interval | None:
        """Total cost of the stack of the plan's first fit, which keeps a running file system; None where no stack can be compiled.

        The plan of one workload of several has the stack that this workload has alone.
        """
        fit = plan.fits[0]
        names = [workload.name for workload in self.spec.workloads]
        if len(names) > 1 and not plan.further:
            alone = self.spec.of_workload(names.index(plan.facts.name))
            return replace(self, spec=alone, record=None, buildability=None)(plan)
        if self.buildability and self.buildability.before_compiling(plan, fit):
            return None
        running = running_with(self.record, self.spec, fit, self.catalog)
        try:
            stack = compile_plan(self.spec, plan, fit, today=self.today, now=self.now, catalog=self.catalog, running=running)
        except UserError:
            return None
        return total_interval(stack, fit, self.spec, self.catalog)
