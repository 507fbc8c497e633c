"""Quantities with units, parsed to floats in base units: seconds, bytes, US dollars, fractions.

`48h` -> 172800 s; `9000 USD` -> 9000; `3 GB` -> 3e9 B; `3 GiB` -> 3 * 2**30 B; `12 %` -> 0.12; `0.60 USD / 1M tokens` -> 6e-7.
A number without a unit is an error, except for counts, which accept `1.35e9`.
"""

import re
from collections.abc import Callable
from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema

from rackwright.spec.base import quote, wrong

NUMBER = r"([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)"
SECONDS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
BYTES = {"B": 1.0} | {f"{p}B": 1000.0**i for i, p in enumerate("kMGTP", 1)} | {f"{p}iB": 1024.0**i for i, p in enumerate("KMGTP", 1)}
TOKENS = {"USD / token": 1.0, "USD / 1k tokens": 1e-3, "USD / 1M tokens": 1e-6, "USD / 1B tokens": 1e-9}
REQUESTS = {
    "USD / request": 1.0,
    "USD / 1k requests": 1e-3,
    "USD / 1M requests": 1e-6,
    "USD / image": 1.0,
    "USD / 1k images": 1e-3,
    "USD / 1M images": 1e-6,
}
MEANT = {
    "kB": "KB kb",
    "MB": "mb M",
    "GB": "gb G",
    "TB": "tb T",
    "MiB": "mib Mi",
    "GiB": "gib Gi",
    "TiB": "tib Ti",
    "s": "sec secs seconds S",
    "min": "mins minutes",
    "h": "hours hour hr hrs H",
    "d": "days day D",
    "w": "weeks week",
    "USD": "$ usd dollars",
}
ALIASES = {alias: unit for unit, aliases in MEANT.items() for alias in aliases.split()}
"""Common misspelling -> unit. Used only to suggest a fix."""
SIGNS = {"€": "EUR", "£": "GBP", "¥": "JPY or CNY", "₹": "INR", "₩": "KRW", "$": "USD"}
CURRENCY = re.compile(
    r"[€£¥₹₩$]|(?<![A-Za-z])(?:USD|EUR|GBP|JPY|CNY|INR|KRW|CHF|CAD|AUD|SEK|NOK|DKK|PLN|BRL|SGD|HKD|TWD|ILS|AED)(?![A-Za-z])", re.IGNORECASE
)
"""Signs and ISO 4217 codes of currencies. The catalog has prices in US dollars only."""
COUNT_RANGE = (1e-6, 1e18)
"""Allowed range of counts. Keeps arithmetic on absurd values finite."""
MAX_TOKENS = 10**9
"""Upper limit of the length of a prompt or answer. The longest published context window has 10 million tokens."""


def _pattern(units: dict[str, float]) -> str:
    return rf"^\s*{NUMBER}\s*({'|'.join(sorted(map(re.escape, units), key=len, reverse=True))})\s*$"


def _reader(units: dict[str, float], what: str, example: str, bounds: tuple[str, str]) -> Callable[[object], float]:
    pattern = re.compile(_pattern(units))

    def parse(text: str) -> float | None:
        found = pattern.match(text)
        return float(found[1]) * units[found[2]] if found else None

    low, high = (parse(bound) or 0.0 for bound in bounds)
    such_as = f"such as {example.split(',')[0]}"

    def read(value: object) -> float:
        amount = parse(value) if isinstance(value, str) else None
        if amount is None and isinstance(value, str) and value.lstrip().startswith("-") and parse(value.replace("-", "", 1)) is not None:
            raise wrong("S-range", f"{quote(value)} is negative; expected {what} between {bounds[0]} and {bounds[1]}")
        currencies = _currencies(value) if amount is None and any(unit.startswith("USD") for unit in units) else ()
        if len(currencies) > 1:
            message = f"Expected {what} in US dollars (USD), got {' and '.join(currencies)} in {quote(value)}"
            raise wrong("S-unit", message, f"convert them to USD and write one amount, {such_as}")
        if currencies and currencies != ("USD",):
            message = f"{quote(value)} is in {currencies[0]}; amounts are in US dollars (USD)"
            raise wrong("S-unit", message, f"convert it to USD, {such_as}")
        if amount is None:
            raise wrong(
                "S-unit", f"Expected {what}, a number with a unit ({', '.join(units)}), got {quote(value)}", _meant(value, units, example)
            )
        if not low <= amount <= high:
            raise wrong("S-range", f"Expected {what} between {bounds[0]} and {bounds[1]}, got {quote(value)}")
        return amount

    return read


def _currencies(value: object) -> tuple[str, ...]:
    """ISO codes of the currencies in a text, list or mapping, once each in order; () without one."""
    if isinstance(value, (list, tuple)):
        return tuple(dict.fromkeys(code for item in value for code in _currencies(item)))
    if isinstance(value, dict):
        return tuple(dict.fromkeys(code for pair in value.items() for code in _currencies(pair)))
    found = CURRENCY.findall(value) if isinstance(value, str) else ()
    return tuple(dict.fromkeys(SIGNS.get(code, code.upper()) for code in found))


def _meant(value: object, units: dict[str, float], example: str) -> str:
    """Return a fix: the same number with the likely unit, else the example."""
    number = re.match(rf"^\s*\$?\s*{NUMBER}\s*(\S*)\s*$", str(value))
    if number and not isinstance(value, bool):
        typed = "$" if str(value).lstrip().startswith("$") else number[2]
        unit = ALIASES.get(typed, "")
        if unit in units or (not typed and "USD" in units):
            return f"write {number[1]} {unit or 'USD'}"
        if not typed and "%" in units and float(number[1]) <= 1:
            return f"write {float(number[1]) * 100:g} %"
    return f"such as {example}"


def _quantity(units: dict[str, float], what: str, example: str, bounds: tuple[str, str]) -> tuple[BeforeValidator, WithJsonSchema]:
    schema = {"type": "string", "pattern": _pattern(units), "examples": [example.split(",")[0]], "description": what}
    return BeforeValidator(_reader(units, what, example, bounds)), WithJsonSchema(schema)


def _number(value: object) -> float:
    text = value if isinstance(value, str) else repr(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else ""
    if not re.fullmatch(rf"-?{NUMBER}|inf|nan", text):
        raise wrong("S-type", f"Expected a number, got {quote(value)}", "such as 250000 or 1.35e9")
    return float(text)


def _count(value: object) -> float:
    low, high = COUNT_RANGE
    if not low <= (number := _number(value)) <= high:
        raise wrong("S-range", f"Expected a number above 0 and at most {high:.0e}, got {quote(value)}")
    return number


def _measured_rate(value: object) -> float:
    if (number := _number(value)) < COUNT_RANGE[0]:
        reason = f"A measured run must have a rate above 0, because it is scaled to other accelerators; got {quote(value)}"
        raise wrong("S-range", reason, "write the samples per second that you measured, such as 420, or remove the run")
    return _count(number)


def _tokens(value: object) -> float:
    if not 1 <= (number := _number(value)) <= MAX_TOKENS:
        raise wrong("S-range", f"Expected a number of tokens from 1 to {MAX_TOKENS:,}, got {quote(value)}")
    return number


Duration = Annotated[float, *_quantity(SECONDS, "a duration", "48h, 30 min or 50 ms", ("0.001 ms", "5200 w"))]
"""Seconds."""
Money = Annotated[float, *_quantity({"USD": 1.0}, "an amount of money", "9000 USD", ("0.01 USD", "1e12 USD"))]
"""US dollars."""
UnitPrice = Annotated[float, *_quantity({"USD": 1.0}, "an amount of money", "300 USD", ("0 USD", "1e12 USD"))]
"""US dollars of one piece or kWh; 0 for what is included elsewhere."""
Size = Annotated[float, *_quantity(BYTES, "an amount of data", "3 GB", ("1 B", "1e6 PB"))]
"""Bytes."""
Percent = Annotated[float, *_quantity({"%": 0.01}, "a percentage", "12 %", ("0 %", "100 %"))]
"""A fraction of one."""
TokenPrice = Annotated[
    float,
    *_quantity(TOKENS, "a price per token", "0.60 USD / 1M tokens", ("1e-6 USD / 1M tokens", "1 USD / token")),
]
"""US dollars per token."""
RequestPrice = Annotated[
    float,
    *_quantity(
        REQUESTS, "a price per request or image", "0.004 USD / image, 2 USD / 1k requests", ("1e-6 USD / 1M requests", "1000 USD / request")
    ),
]
"""US dollars per request."""
Count = Annotated[
    float,
    BeforeValidator(_count),
    WithJsonSchema({"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "string", "pattern": rf"^{NUMBER}$"}]}),
]
"""Positive number without a unit. Accepts `1.35e9`, which YAML 1.2 parsers may read as text."""
MeasuredRate = Annotated[
    float,
    BeforeValidator(_measured_rate),
    WithJsonSchema({"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "string", "pattern": rf"^{NUMBER}$"}]}),
]
"""Measured samples per second."""
TokenLength = Annotated[
    float,
    BeforeValidator(_tokens),
    WithJsonSchema({"anyOf": [{"type": "number", "minimum": 1, "maximum": MAX_TOKENS}, {"type": "string", "pattern": rf"^{NUMBER}$"}]}),
]
"""Tokens of one prompt or answer, on average or at a percentile."""
