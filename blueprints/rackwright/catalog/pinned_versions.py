"""Versions that a plan pins. They belong to the release: chart values are written for them, so another catalog does not replace them."""

from functools import cache

from rackwright.catalog.columns import SUPPORT, VERSIONS
from rackwright.catalog.read import DATA, read_table
from rackwright.catalog.rows import PinnedVersion, Support


@cache
def pinned_versions(kind: str) -> dict[str, PinnedVersion]:
    """Name -> row of `versions.csv`, in file order. kind: one of `PINNED_KINDS`. Raises CatalogError when the file is invalid."""
    rows = (PinnedVersion(**record) for record in read_table(DATA, VERSIONS))
    return {row.name: row for row in rows if row.kind == kind}


@cache
def support_of(component: str, cloud: str, version: str) -> Support | None:
    """The row of `support.csv` for a version, such as v26.3 for v26.3.3; None where no date is known."""
    rows = (Support(**record) for record in read_table(DATA, SUPPORT))
    same = (row for row in rows if (row.component, row.cloud) == (component, cloud))
    return next((row for row in same if f"{version}.".startswith(f"{row.version}.")), None)
