"""Cost of a StackPlan: `bill` prices every line, `check_budget` compares the total with the goals."""

from rackwright.cost.bill import Bill, BillLine, bill
from rackwright.cost.budget import check_budget

__all__ = ["Bill", "BillLine", "bill", "check_budget"]
