"""Cost of a StackPlan: `bill` prices every line."""

from rackwright.cost.bill import Bill, BillLine, bill

__all__ = ["Bill", "BillLine", "bill"]
