"""Limits of the checks of nodes. They belong to the release, as the pinned versions do."""

from functools import cache

from rackwright.catalog.read import DATA, read_table
from rackwright.catalog.release.columns import PREFLIGHT_LIMITS


@cache
def preflight_limits() -> dict[str, str]:
    """Name -> value of `preflight_limits.csv`. Raises CatalogError when the file is invalid."""
    return {str(record["name"]): str(record["value"]) for record in read_table(DATA, PREFLIGHT_LIMITS)}
