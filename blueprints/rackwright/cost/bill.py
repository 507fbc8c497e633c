"""Bill of a stack: machines, control plane, network, file system, disks, transfers, keys, with date and source of each price."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import CapacityMode
from rackwright.clouds import profile
from rackwright.cost import network, storage, transfer
from rackwright.cost.bill_line import BillLine, by_use, hourly, monthly
from rackwright.cost.fallback import FallbackCost, fallback_costs
from rackwright.cost.node_counts import billed_nodes, fit_of, is_sized, sized_nodes
from rackwright.cost.prices import fee_price, machine_price
from rackwright.sizing.metrics import Interval
from rackwright.sizing.plan import Fit
from rackwright.spec.spec import Spec
from rackwright.stackplan import BlueprintKind, StackPlan, machine_layer
from rackwright.units import HOUR, MONTH_H

SYSTEM = "system"
"""Name of the pool that runs operators."""
METRICS_PER_MACHINE = 7
"""Charged metrics of a machine with detailed monitoring (infracost's aws instance_test)."""


@dataclass(frozen=True)
class Bill:
    """Bill of a stack. hours: of the run, or 730 for serving. covers: the same as text. Totals exclude `unknown` and `by_use` lines.

    fallback: totals if the work runs on a later pool of a fallback.
    """

    lines: tuple[BillLine, ...]
    hours: float
    covers: str
    fallback: tuple[FallbackCost, ...] = ()

    @property
    def hourly_usd(self) -> float:
        return sum(line.hourly_usd for line in self.lines if line.hourly_usd is not None)

    @property
    def total_usd(self) -> float:
        return sum(line.total_usd for line in self.lines if line.total_usd is not None)

    @property
    def has_prices(self) -> bool:
        """Whether any line of the total has a price; without one the total is unknown."""
        return any(line.total_usd is not None for line in self.lines) or not self.unknown

    @property
    def unknown(self) -> tuple[str, ...]:
        """Lines whose price is not published."""
        return tuple(line.what for line in self.lines if line.unit_price_usd is None)

    @property
    def by_use(self) -> tuple[str, ...]:
        """Lines whose quantity depends on usage."""
        return tuple(line.what for line in self.lines if line.quantity is None)


def bill(stack: StackPlan, fit: Fit, spec: Spec, catalog: Catalog) -> Bill:
    """Cost per hour and in total: of the run for training and batch, of a month of 730 h for serving or an unknown duration."""
    hours = MONTH_H if fit.duration_s is None else fit.duration_s.p50 / HOUR
    covers = f"a month of {MONTH_H:g} h" if fit.duration_s is None else f"a run of {hours:,.1f} h"
    lines = tuple(_lines(stack, fit, spec, catalog, hours))
    return Bill(lines, hours, covers, tuple(fallback_costs(stack, fit, spec, catalog, lines, hours)))


def total_interval(stack: StackPlan, fit: Fit, spec: Spec, catalog: Catalog) -> Interval:
    """The total of the bill at p10, p50 and p90 of the run; a month is certain. Prices that are not published are left out."""
    found, machines = bill(stack, fit, spec, catalog), sum(line.total_usd or 0.0 for line in _all_accelerators(stack, fit))
    total = found.total_usd
    if fit.duration_s is None or not fit.cost_usd:
        return Interval(total, total, total)
    rest, share = (total - machines) / fit.duration_s.p50, machines / fit.cost_usd.p50 if fit.cost_usd.p50 else 0.0
    return fit.cost_usd.times(share).plus(fit.duration_s.times(rest))


def _lines(stack: StackPlan, fit: Fit, spec: Spec, catalog: Catalog, hours: float) -> Iterator[BillLine]:
    """Lines of the layers that this stack builds, without existing resources. Own servers are all that an existing cluster costs here."""
    if profile(stack.place.cloud).is_owned:
        yield from _accelerators(stack, fit)
        yield from transfer.lines(fit, hours)
        return
    if machine_layer(stack) in stack.layers:
        yield from _all_accelerators(stack, fit)
        yield from _others(stack, fit, spec, catalog, hours)
        if stack.kind is not BlueprintKind.BOX and not (stack.cluster and stack.cluster.existing):
            name = profile(stack.place.cloud).fees["control_plane"]
            yield hourly("Kubernetes control plane", 1, "cluster", fee_price(catalog, name, stack.place, "hour"), hours)
    if "base" in stack.layers:
        yield from network.lines(stack, fit, catalog, hours)
    yield from storage.lines(stack, fit, spec, catalog, hours)
    if machine_layer(stack) in stack.layers:
        yield from transfer.lines(fit, hours)
    yield from _monitoring(stack, fit, catalog, hours)
    yield from _pod_logs(stack, catalog)
    if "base" in stack.layers and not stack.key.existing_arn:
        yield monthly("encryption key", 1, "key", fee_price(catalog, "kms-key", stack.place, "month"), hours)


def _pod_logs(stack: StackPlan, catalog: Catalog) -> Iterator[BillLine]:
    """Unit prices only: how much pods log is not published."""
    if not (stack.cluster and stack.cluster.pod_logs and "cluster" in stack.layers):
        return
    fees = profile(stack.place.cloud).fees
    yield by_use("pod logs", "GiB", fee_price(catalog, fees["log_ingestion"], stack.place, "GiB"))
    if "log_storage" in fees:
        what = f"pod logs, kept {stack.cluster.log_retention_days} days"
        yield by_use(what, "GiB-month", fee_price(catalog, fees["log_storage"], stack.place, "GiB-month"))


def _all_accelerators(stack: StackPlan, fit: Fit) -> Iterator[BillLine]:
    """The sized machines of every workload; of several, each line names its own, and machines that several share are one line."""
    for each in fit.each_pool:
        members = [other for other in fit.each_workload if other.pool_owner == each.workload]
        for line in _accelerators(stack, each):
            names = " and ".join(filter(None, (member.workload for member in members)))
            whole = sum(member.candidate.replicas for member in members) / each.candidate.replicas
            total, hourly_usd = (None if usd is None else usd * whole for usd in (line.total_usd, line.hourly_usd))
            yield replace(line, what=f"{line.what}, {names}", total_usd=total, hourly_usd=hourly_usd) if names else line


def _accelerators(stack: StackPlan, fit: Fit) -> Iterator[BillLine]:
    """The sized machines at the price and time of the fit; serving at its usual number of replicas.

    Machines that other pools of a fallback provide are on the lines of those pools.
    """
    chosen, nodes = fit.candidate, sized_nodes(stack, fit)
    if not nodes:
        return
    priced, share = chosen.price_usd_per_hour is not None, nodes / chosen.nodes
    yield BillLine(
        what=f"{chosen.machine}, {chosen.capacity}",
        quantity=nodes,
        unit="machines" if nodes > 1 else "machine",
        unit_price_usd=chosen.price_usd_per_hour,
        per="hour",
        price_date=chosen.price_as_of,
        source=chosen.price_source,
        hourly_usd=fit.usd_per_hour * share if priced and fit.usd_per_hour is not None else None,
        total_usd=fit.cost_usd.p50 * share if priced and fit.cost_usd else None,
        price_region="" if chosen.price_region == chosen.region else chosen.price_region,
        pool=next((pool.name for pool in stack.pools if is_sized(pool, fit)), ""),
    )


def _others(stack: StackPlan, fit: Fit, spec: Spec, catalog: Catalog, hours: float) -> Iterator[BillLine]:
    """Other pools: those of a fallback with the machines that they provide, others at their initial size."""
    discount = spec.pricing.discounts.get(stack.place.cloud, 0.0)
    for pool in stack.pools:
        nodes = billed_nodes(stack, pool, fit)
        if nodes and not fit_of(pool, fit):
            what = f"system nodes, {pool.machine}" if pool.name == SYSTEM else f"pool {pool.name}, {pool.machine}, {pool.capacity.mode}"
            price = machine_price(catalog, pool.machine, stack.place.region, discount, CapacityMode(pool.capacity.mode))
            yield replace(hourly(what, nodes, "machines", price, hours), pool=pool.name)


def _monitoring(stack: StackPlan, fit: Fit, catalog: Catalog, hours: float) -> Iterator[BillLine]:
    """Detailed metrics of every machine and alarms on idle ones, where the cloud charges for them; mail and budgets cost cents."""
    fees = profile(stack.place.cloud).fees
    if "machine_metric" not in fees or machine_layer(stack) not in stack.layers:
        return
    machines = 1 if stack.box else sum(billed_nodes(stack, pool, fit) for pool in stack.pools)
    price = fee_price(catalog, fees["machine_metric"], stack.place, "metric-month")
    yield monthly("detailed metrics of machines", METRICS_PER_MACHINE * machines, "metrics", price, hours)
    alarms = int(bool(stack.box and stack.box.idle_stop_minutes))
    if not stack.box and stack.guard and stack.guard.idle_minutes:
        alarms = sum(pool.role == "accelerator" and pool.provisioner == "managed" for pool in stack.pools)
    if alarms:
        price = fee_price(catalog, fees["alarm"], stack.place, "alarm-month")
        yield monthly("alarms on idle machines", alarms, "alarms", price, hours)
