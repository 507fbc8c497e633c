"""What is sold: a machine is bought in a way its cloud offers it."""

from collections.abc import Iterator

from rackwright.catalog.read import Catalog
from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import StackPlan
from rackwright.validation.stack.registry import pools, rule

OF_ON_DEMAND = ("reservation", "calendar")
"""Reservations hold machines that are sold on demand."""
LONG_TERM = ("cud-1y", "cud-3y")
"""Prices, not ways to obtain a machine."""


@rule("R-90", Level.ERROR, "https://docs.aws.amazon.com/ec2/latest/instancetypes/instance-types.html")
def the_machine_is_sold_that_way(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """A machine is bought in one of the capacity modes it is sold in."""
    wanted = [(at / "capacity" / "mode", pool.machine, pool.capacity.mode) for at, pool in pools(plan)]
    wanted += [(At() / "box" / "capacity" / "mode", plan.box.machine, plan.box.capacity.mode)] if plan.box else []
    for at, name, mode in wanted:
        machine = catalog.machine_by_name.get(name)
        sold = [str(way) for way in machine.capacity_modes if way not in LONG_TERM] if machine else []
        if sold and mode not in sold and not (mode in OF_ON_DEMAND and "on-demand" in sold):
            yield Violation(at, f"choose {' or '.join(sold)}", detail=f"{name} is not sold {mode}")
