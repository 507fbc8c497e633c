"""Quantities with units, parsed once. Inside the program they are plain floats in base units: seconds, bytes, US dollars.

`48h` -> 172800 s; `9000 USD` -> 9000; `3 GB` -> 3e9 B; `3 GiB` -> 3 * 2**30 B; `12 %` -> 0.12; `0.60 USD / 1M tokens` -> 6e-7.
A bare number is refused where a unit matters; counts take `1.35e9`.
"""

import re
from collections.abc import Callable
from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema

NUMBER = r"([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)"
SECONDS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
BYTES = {"B": 1.0} | {f"{p}B": 1000.0**i for i, p in enumerate("kMGTP", 1)} | {f"{p}iB": 1024.0**i for i, p in enumerate("KMGTP", 1)}
TOKENS = {"token": 1.0, "1k tokens": 1e3, "1M tokens": 1e6, "1B tokens": 1e9}


def _reader(units: dict[str, float], what: str, example: str) -> Callable[[object], float]:
    pattern = re.compile(rf"^\s*{NUMBER}\s*({'|'.join(sorted(map(re.escape, units), key=len, reverse=True))})\s*$")

    def read(value: object) -> float:
        found = pattern.match(value) if isinstance(value, str) else None
        if found is None:
            raise ValueError(f"{what} needs a number and a unit ({', '.join(units)}), such as {example!r}; got {value!r}")
        return float(found[1]) * units[found[2]]

    return read


def _quantity(units: dict[str, float], what: str, example: str) -> tuple[BeforeValidator, WithJsonSchema]:
    names = "|".join(sorted(map(re.escape, units), key=len, reverse=True))
    schema = {"type": "string", "pattern": rf"^\s*{NUMBER}\s*({names})\s*$", "examples": [example], "description": what}
    return BeforeValidator(_reader(units, what, example)), WithJsonSchema(schema)


def _count(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError(f"a count is a number such as 250000 or 1.35e9; got {value!r}")
    try:
        return float(value)
    except ValueError:
        raise ValueError(f"a count is a number such as 250000 or 1.35e9; got {value!r}") from None


POSITIVE = Field(gt=0, allow_inf_nan=False)
Duration = Annotated[float, *_quantity(SECONDS, "a duration", "48h"), POSITIVE]
"""Seconds."""
Money = Annotated[float, *_quantity({"USD": 1.0}, "an amount of money", "9000 USD"), POSITIVE]
"""US dollars."""
Size = Annotated[float, *_quantity(BYTES, "an amount of data", "3 GB"), POSITIVE]
"""Bytes."""
Percent = Annotated[float, *_quantity({"%": 0.01}, "a percentage", "12 %"), Field(ge=0, le=1)]
"""A fraction of one."""
TokenPrice = Annotated[float, *_quantity({f"USD / {t}": 1 / n for t, n in TOKENS.items()}, "a price per token", "0.60 USD / 1M tokens"), POSITIVE]
"""US dollars per token."""
Count = Annotated[
    float,
    BeforeValidator(_count),
    WithJsonSchema({"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "string", "pattern": rf"^{NUMBER}$"}]}),
    POSITIVE,
]
"""How many; `1.35e9` is a number here even where YAML calls it text."""
