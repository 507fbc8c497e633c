"""Does a candidate chosen earlier still do? Asked when a spec was edited after the choice."""

from dataclasses import replace
from datetime import date

from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import CapacityMode, Price
from rackwright.sizing.plan import Candidate, Fit, Limit, Rejection
from rackwright.sizing.size import size
from rackwright.spec.spec import Spec


def resize(spec: Spec, catalog: Catalog, chosen: Candidate, *, today: date) -> Fit | tuple[Rejection, ...]:
    """The chosen candidate sized against the spec as it is now, at the price it was chosen at; why it no longer does otherwise."""
    plan = size(spec, _at_its_price(catalog, chosen, spec), today=today)
    fit = next((fit for fit in plan.fits if _same(fit.candidate, chosen)), None)
    if fit is not None:
        return fit
    missed = next((miss for miss in plan.rejected if _same(miss.candidate, chosen)), None)
    if missed is not None:
        return missed.rejections
    place = f"{chosen.cloud} {chosen.region} {chosen.capacity}".strip()
    return (Rejection(Limit.PIN, None, None, words=f"the spec no longer looks for {chosen.nodes} x {chosen.machine} in {place}"),)


def _same(one: Candidate, other: Candidate) -> bool:
    """Same machines, however the search now spreads the job over them."""
    return _machines(one) == _machines(other)


def _machines(c: Candidate) -> tuple:
    return (c.cloud, c.machine, c.nodes, c.region, c.capacity, c.capacity_id, c.slices, c.topology)


def _at_its_price(catalog: Catalog, chosen: Candidate, spec: Spec) -> Catalog:
    if chosen.price_usd_per_hour is None:
        return catalog
    machine = catalog.machine_by_name.get(chosen.machine)
    sku = machine.accelerator if machine and machine.kind == "tpu" and machine.accelerator else chosen.machine
    mode = CapacityMode(chosen.capacity)
    market = mode in (CapacityMode.SPOT, CapacityMode.CAPACITY_BLOCK)
    discount = 0.0 if market else spec.pricing.discounts.get(chosen.cloud, 0.0)
    listed = chosen.price_usd_per_hour / (1 - discount) if discount < 1 else 0.0
    paid = Price(sku, chosen.cloud, chosen.region, mode, listed, "node", "price of the decision", chosen.price_source, chosen.price_as_of)
    others = (p for p in catalog.prices if (p.sku, p.capacity, p.region) != (sku, mode, chosen.region))
    return replace(catalog, prices=(*others, paid))
