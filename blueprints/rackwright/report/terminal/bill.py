"""A bill on a terminal: in one line, and by line with price dates."""

from rich.console import Console
from rich.text import Text

from rackwright.cost import Bill, BillLine
from rackwright.cost.bill_line import ILLUSTRATIVE
from rackwright.report.terminal.layout.tables import print_labelled, table
from rackwright.wording.formatting import UNKNOWN, money

BILL_ITEMS = 3
"""Largest items of a bill that are shown in one line."""


def bill_text(bill: Bill) -> str:
    """`2,320.19 USD for a run of 9.3 h, 249.60 USD/h: machines 2,118.15, file system 190.24, other 11.80`."""
    priced = sorted(((line.total_usd, line.what) for line in bill.lines if line.total_usd), reverse=True)
    parts = [f"{what} {cents(total)}" for total, what in priced[:BILL_ITEMS]]
    parts += [f"other {cents(sum(total for total, _ in priced[BILL_ITEMS:]))}"] if len(priced) > BILL_ITEMS else []
    missing = f"; {no_price(bill)}" if bill.unknown else ""
    if not bill.has_prices:
        return f"total unknown for {bill.covers}{missing}"
    return f"{cents(bill.total_usd)} USD for {bill.covers}, {cents(bill.hourly_usd)} USD/h: {'; '.join(parts)}{missing}"


def show_bill(out: Console, bill: Bill) -> None:
    """Lines with price dates and the total, then items that the total does not include."""
    out.print()
    columns = (f"bill for {bill.covers}", "quantity", "unit price, USD", "price date", "USD/h", "USD")
    total = [Text(cell, style="bold") for cell in ("total", "", "", "", *bill_sums(bill))]
    out.print(table(columns, [*bill_rows(bill), total], right=("quantity", "USD/h", "USD"), whole=("price date",)))
    print_labelled(out, "by usage", by_usage(bill, "; "), "dim")
    print_labelled(out, "examples", examples(bill), "bold yellow")
    print_labelled(out, "unpriced", no_price(bill), "bold yellow")
    print_labelled(out, "fallback", fallback_text(bill))


def bill_sums(bill: Bill) -> tuple[str, str]:
    """USD per hour and in total; `unknown` where no line has a price."""
    return (cents(bill.hourly_usd), cents(bill.total_usd)) if bill.has_prices else ("unknown", "unknown")


def bill_rows(bill: Bill) -> list[tuple[str, ...]]:
    """(name, quantity, unit price, price date, USD per hour, USD) of every line of the total."""
    return [
        (line.what, line.quantity_words, each(line), line.price_date or UNKNOWN, cents(line.hourly_usd), cents(line.total_usd))
        for line in bill.lines
        if line.total_usd is not None
    ]


def each(line: BillLine) -> str:
    """`55.04 / hour`; adds the region of the price if it differs, and `illustrative`."""
    return f"{line.unit_price_usd:,.5g} / {line.per}{line.price_remarks}" if line.unit_price_usd is not None else line.price_words


def by_usage(bill: Bill, separator: str) -> str:
    """Lines with a price whose quantity depends on usage."""
    lines = (line for line in bill.lines if line.quantity is None and line.unit_price_usd is not None)
    return separator.join(f"{line.what} ({line.price_words})" for line in lines)


def examples(bill: Bill) -> str:
    """Amount at illustrative prices, and what to do."""
    total = sum(line.total_usd or 0 for line in bill.lines if line.illustrative)
    reason = f"at {ILLUSTRATIVE} prices, which their source gives as examples; check the cloud's price list"
    return f"{cents(total)} USD of the total {reason}" if total else ""


def fallback_text(bill: Bill) -> str:
    """`on pool gpu-on-demand: 2,320.19 USD for a run of 9.3 h`; empty without later pools."""
    parts = []
    for cost in bill.fallback:
        price = f"no published price of {cost.machine}, {cost.mode}" if cost.total_usd is None else f"{cents(cost.total_usd)} USD"
        parts.append(f"on pool {cost.pool}: {price} for {bill.covers}")
    return "; ".join(parts)


def no_price(bill: Bill) -> str:
    return "not in the total, no published price: " + ", ".join(bill.unknown) if bill.unknown else ""


def cents(value: float | None) -> str:
    """Dollars and cents; `< 0.01` below one cent."""
    return "< 0.01" if value is not None and 0 < value < 0.005 else money(value, 2)
