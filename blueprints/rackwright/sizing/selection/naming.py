"""Candidates and money as sentences say them."""

from rackwright.sizing.plan import Candidate


def name(c: Candidate) -> str:
    what = f"{c.slices} x {c.accelerator} {c.topology} ({c.nodes} x {c.machine})" if c.topology else f"{c.nodes} x {c.machine}"
    return what if c.topology else f"{what} ({c.accelerators} x {c.accelerator})"


def usd(amount: float) -> str:
    return f"{amount:,.2f} USD" if amount < 100 else f"{amount:,.0f} USD"
