"""Versions that a plan pins. They belong to the release: chart values are written for them, so another catalog does not replace them."""

from functools import cache

from rackwright.catalog.columns import VERSIONS
from rackwright.catalog.read import DATA, read_table
from rackwright.catalog.rows import PinnedVersion


@cache
def pinned_versions(kind: str) -> dict[str, PinnedVersion]:
    """Name -> row of `versions.csv`, in file order. kind: one of `PINNED_KINDS`. Raises CatalogError when the file is invalid."""
    rows = (PinnedVersion(**record) for record in read_table(DATA, VERSIONS))
    return {row.name: row for row in rows if row.kind == kind}
