"""What watching costs on AWS: detailed metrics of every machine, alarms on idle ones. Mail, schedules and budgets are cents."""

from collections.abc import Iterator

from rackwright.catalog.read import Catalog
from rackwright.clouds import profile
from rackwright.cost.bill_line import BillLine, monthly
from rackwright.cost.node_counts import nodes_at_start
from rackwright.cost.prices import fee_price
from rackwright.sizing.plan import Fit
from rackwright.stackplan import StackPlan, machine_layer

METRICS = 7
"""Of a machine with detailed monitoring that are charged (infracost's aws instance_test)."""


def lines(stack: StackPlan, fit: Fit, catalog: Catalog, hours: float) -> Iterator[BillLine]:
    fees = profile(stack.place.cloud).fees
    if "machine_metric" not in fees or machine_layer(stack) not in stack.layers:
        return
    machines = 1 if stack.box else sum(nodes_at_start(pool, fit) for pool in stack.pools)
    price = fee_price(catalog, fees["machine_metric"], stack.place, "metric-month")
    yield monthly("detailed metrics of machines", METRICS * machines, "metrics", price, hours)
    if alarms := _alarms(stack):
        price = fee_price(catalog, fees["alarm"], stack.place, "alarm-month")
        yield monthly("alarms on idle machines", alarms, "alarms", price, hours)


def _alarms(stack: StackPlan) -> int:
    if stack.box:
        return int(bool(stack.box.idle_stop_minutes))
    watched = [pool for pool in stack.pools if pool.role == "accelerator" and pool.provisioner == "managed"]
    return len(watched) if stack.guard and stack.guard.idle_minutes else 0
