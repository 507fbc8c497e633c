"""A decision with its stack: what commands print and the Pulumi program builds."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright.diagnostics.problem import Problem
from rackwright.spec.spec import Spec
from rackwright.workflow.stack.open_items import open_items, unsettled

if TYPE_CHECKING:
    from rackwright.cost import Bill
    from rackwright.stackplan import StackPlan
    from rackwright.workflow.decision import Decision


@dataclass(frozen=True)
class Decided:
    """A decision with the stack it compiles to, priced and checked.

    recorded: whether the decision was read from its file; edits: warnings about changes of the spec since;
    problems: of the stack, those that only building needs as they are, every other one a warning.
    """

    spec: Spec
    decision: "Decision"
    plan: "StackPlan"
    bill: "Bill"
    recorded: bool
    problems: tuple[Problem, ...] = ()
    edits: tuple[Problem, ...] = ()

    @property
    def before_you_build(self) -> tuple[Problem, ...]:
        """Open items that must be settled before an update, warnings included."""
        return open_items(self.problems)

    @property
    def unsettled(self) -> tuple[Problem, ...]:
        """Open items that stop an update, as errors."""
        return unsettled(self.problems)
