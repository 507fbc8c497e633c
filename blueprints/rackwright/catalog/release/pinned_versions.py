"""Versions that a plan pins. They belong to the release: chart values are written for them, so another catalog does not replace them."""

from functools import cache

from rackwright.catalog.read import DATA, read_table
from rackwright.catalog.release.columns import SUPPORT, VERSIONS
from rackwright.catalog.rows import PinnedVersion, Support


@cache
def pinned_versions(kind: str) -> dict[str, PinnedVersion]:
    """Name -> row of `versions.csv`, in file order. kind: one of `PINNED_KINDS`. Raises CatalogError when the file is invalid."""
    rows = (PinnedVersion(**record) for record in read_table(DATA, VERSIONS))
    return {row.name: row for row in rows if row.kind == kind}


@cache
def support_of(component: str, cloud: str, version: str) -> Support | None:
    """The row of `support.csv` for a version, such as v26.3 for v26.3.3; None where no date is known."""
    same = (row for row in _support_rows() if (row.component, row.cloud) == (component, cloud))
    return next((row for row in same if f"{version}.".startswith(f"{row.version}.")), None)


@cache
def support_of_image(name: str, cloud: str, version: str) -> Support | None:
    """The row of the operating system of a machine image, which the name or the version has, such as ubuntu 24.04; None where none does."""
    text = f"{name} {version}".lower()
    same = (row for row in _support_rows() if row.component in text and row.cloud in ("", cloud))
    return next((row for row in same if row.version in text), None)


@cache
def _support_rows() -> tuple[Support, ...]:
    return tuple(Support(**record) for record in read_table(DATA, SUPPORT))
