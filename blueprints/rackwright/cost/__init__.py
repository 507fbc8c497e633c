"""From a StackPlan to what it costs. `bill` prices every line; `check_budget` holds it against the goals."""

from rackwright.cost.bill import Bill, Line, bill
from rackwright.cost.budget import check_budget

__all__ = ["Bill", "Line", "bill", "check_budget"]
