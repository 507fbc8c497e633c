"""Unit prices from the catalog. A price that the catalog lacks is None."""

from rackwright.catalog import query
from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import CapacityMode
from rackwright.cost.bill_line import UnitPrice
from rackwright.stackplan import PlacePlan
from rackwright.units import GIB


def fee_price(catalog: Catalog, name: str, place: PlacePlan, per: str) -> UnitPrice:
    fee = catalog.fee(name, place.cloud, place.region)
    if fee is None:
        return UnitPrice(None, per)
    return UnitPrice(fee.usd, per, fee.as_of, fee.source, _other(fee.region, place.region), fee.illustrative)


def machine_price(catalog: Catalog, name: str, region: str, discount: float, mode: CapacityMode = CapacityMode.ON_DEMAND) -> UnitPrice:
    """List price less the discount of the contract, which does not apply to spot and capacity blocks."""
    machine = query.machine(catalog, name)
    offer = query.offer(catalog, machine, region, mode) if machine else None
    if offer is None or offer.price_usd_per_hour is None:
        return UnitPrice(None, "hour")
    market = mode in (CapacityMode.SPOT, CapacityMode.CAPACITY_BLOCK)
    usd = offer.price_usd_per_hour * (1 - (0.0 if market else discount))
    return UnitPrice(usd, "hour", offer.price_as_of, offer.price_source, _other(offer.price_region, region))


def volume_price(catalog: Catalog, name: str, place: PlacePlan) -> UnitPrice:
    """Price per GiB and month in the region, else of the region that the catalog names."""
    own = [row for row in catalog.storage_prices if row.volume == name and row.region == place.region]
    rows = own or [row for row in catalog.storage_prices if row.volume == name]
    if not rows:
        return UnitPrice(None, "GiB-month")
    row = rows[0]
    usd = row.usd_per_byte_month * GIB
    return UnitPrice(usd, "GiB-month", row.as_of, row.source, _other(row.region, place.region), row.illustrative)


def _other(region: str | None, wanted: str) -> str:
    return region if region and region != wanted else ""
