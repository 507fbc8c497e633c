"""A line of a bill. An unpublished price is None and listed below the total, never zero."""

from dataclasses import dataclass

from rackwright.units import MONTH_H

ILLUSTRATIVE = "illustrative"
"""Remark at a price whose source calls its numbers examples."""


@dataclass(frozen=True)
class BillLine:
    """One line. quantity: None where it depends on usage. unit_price_usd: None where not published.

    unit: what is counted. per: unit of the price (`hour`, `month`, `GiB`). hourly_usd, total_usd: None where either is unknown.
    illustrative: the source of the price calls its numbers examples. pool: name of the accelerator pool, on lines of machines.
    """

    what: str
    quantity: float | None
    unit: str
    unit_price_usd: float | None
    per: str
    price_date: str
    source: str
    hourly_usd: float | None
    total_usd: float | None
    price_region: str = ""
    illustrative: bool = False
    pool: str = ""

    @property
    def quantity_words(self) -> str:
        return f"by {self.unit}" if self.quantity is None else f"{self.quantity:,g} {self.unit}"

    @property
    def price_words(self) -> str:
        if self.unit_price_usd is None:
            return "not published"
        return f"{self.unit_price_usd:,.5g} USD / {self.per}{self.price_remarks}"

    @property
    def price_remarks(self) -> str:
        """` (us-east-1, illustrative)`: the region of the price where it differs, and a price that is an example."""
        remarks = ", ".join(filter(None, (self.price_region, ILLUSTRATIVE if self.illustrative else "")))
        return f" ({remarks})" if remarks else ""


@dataclass(frozen=True)
class UnitPrice:
    """A unit price with its source. region: set where the price is that of another region. usd: None where not published."""

    usd: float | None
    per: str
    date: str = ""
    source: str = ""
    region: str = ""
    illustrative: bool = False


def hourly(what: str, quantity: float, unit: str, price: UnitPrice, hours: float) -> BillLine:
    """A line priced per hour."""
    rate = None if price.usd is None else price.usd * quantity
    return _line(what, quantity, unit, price, rate, hours)


def monthly(what: str, quantity: float, unit: str, price: UnitPrice, hours: float) -> BillLine:
    """A line priced per month of 730 h; shorter runs pay their share."""
    rate = None if price.usd is None else price.usd * quantity / MONTH_H
    return _line(what, quantity, unit, price, rate, hours)


def by_use(what: str, unit: str, price: UnitPrice) -> BillLine:
    """A line of which only the price is known."""
    return BillLine(what, None, unit, price.usd, price.per, price.date, price.source, None, None, price.region, price.illustrative)


def _line(what: str, quantity: float, unit: str, price: UnitPrice, rate: float | None, hours: float) -> BillLine:
    total = None if rate is None else rate * hours
    return BillLine(what, quantity, unit, price.usd, price.per, price.date, price.source, rate, total, price.region, price.illustrative)
