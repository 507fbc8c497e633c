"""From a StackPlan to what it costs. `bill` prices every line; `check_budget` holds it against the goals."""

from rackwright.cost.bill import Bill, BillLine, bill
from rackwright.cost.budget import check_budget

__all__ = ["Bill", "BillLine", "bill", "check_budget"]
