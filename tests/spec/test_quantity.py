"""Units are parsed once, into base units."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from rackwright.spec.quantity import BYTES, SECONDS, Count, Duration, Money, Percent, Size, TokenPrice, UnitPrice

GOOD = [
    (Duration, "48h", 172_800.0),
    (Duration, "50 ms", 0.05),
    (Duration, "14d", 1_209_600.0),
    (Duration, "1.5 min", 90.0),
    (Money, "9000 USD", 9000.0),
    (Money, "1.5e3 USD", 1500.0),
    (UnitPrice, "0 USD", 0.0),
    (UnitPrice, "0.004 USD", 0.004),
    (Size, "3 GB", 3e9),
    (Size, "3 GiB", 3 * 2**30),
    (Size, "1 kB", 1000.0),
    (Percent, "12 %", 0.12),
    (Percent, "0%", 0.0),
    (TokenPrice, "0.60 USD / 1M tokens", 6e-7),
    (Count, "1.35e9", 1.35e9),
    (Count, 250_000, 250_000.0),
]
BAD = [
    (Duration, "48", "S-unit"),
    (Duration, 48, "S-unit"),
    (Duration, "48 H", "S-unit"),
    (Duration, "-1 h", "S-range"),
    (Duration, "0 h", "S-range"),
    (Duration, "9e99 h", "S-range"),
    (Money, "9,000 USD", "S-unit"),
    (Money, "9000 EUR", "S-unit"),
    (Money, "0 USD", "S-range"),
    (UnitPrice, "-1 USD", "S-range"),
    (Size, "3 gb", "S-unit"),
    (Size, "3 GiB GiB", "S-unit"),
    (Percent, "101 %", "S-range"),
    (Percent, 0.5, "S-unit"),
    (Count, "many", "S-type"),
    (Count, True, "S-type"),
    (Count, 0, "S-range"),
    (Count, float("nan"), "S-range"),
    (Count, float("inf"), "S-range"),
    (Count, 10**400, "S-range"),
    (Count, None, "S-type"),
]


def named(row: tuple) -> str:
    """Deterministic in every process: a type prints its address, and pytest workers that collect different names run no tests."""
    return f"{row[1]!r:.20} {row[2]}"


@pytest.mark.parametrize(("kind", "text", "value"), GOOD, ids=map(named, GOOD))
def test_a_quantity_is_read_into_base_units(kind, text, value):
    assert TypeAdapter(kind).validate_python(text) == pytest.approx(value)


@pytest.mark.parametrize(("kind", "text", "code"), BAD, ids=map(named, BAD))
def test_an_invalid_quantity_is_refused_with_its_code(kind, text, code):
    with pytest.raises(ValidationError) as refused:
        TypeAdapter(kind).validate_python(text)
    assert [error["type"] for error in refused.value.errors()] == [code]


@given(st.integers(1, 999), st.sampled_from(sorted(SECONDS)))
def test_spaces_round_a_unit_do_not_matter(number, unit):
    read = TypeAdapter(Duration).validate_python
    assert read(f"{number}{unit}") == read(f" {number}  {unit} ") == pytest.approx(number * SECONDS[unit])


def test_decimal_and_binary_prefixes_differ():
    assert BYTES["GiB"] / BYTES["GB"] == pytest.approx(1.073741824)
