"""Fixtures of the tests here."""

from tests.sized_once import sized_once  # noqa: F401
