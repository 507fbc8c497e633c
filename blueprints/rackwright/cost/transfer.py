"""Cost of data that leaves a region or a cloud during a run."""

from collections.abc import Iterator

from rackwright.cost.bill_line import BillLine
from rackwright.sizing.plan import Fit


def lines(fit: Fit, hours: float) -> Iterator[BillLine]:
    """A line per transfer; its price per hour is spread over the run."""
    for moved in fit.transfers:
        gib = None if moved.gib is None else round(moved.gib, 1)
        total = None if gib is None or moved.usd_per_gib is None else gib * moved.usd_per_gib
        yield BillLine(
            what=f"transfer of {moved.what}, {moved.source} to {moved.target}",
            quantity=gib,
            unit="GiB",
            unit_price_usd=moved.usd_per_gib,
            per="GiB",
            price_date=moved.price_as_of,
            source=moved.price_source,
            hourly_usd=total / hours if total is not None and hours else None,
            total_usd=total,
            price_region=moved.price_region,
        )
