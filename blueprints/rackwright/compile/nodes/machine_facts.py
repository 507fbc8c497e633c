"""Facts of machines and storage tiers the compiler needs, read from the embedded catalog."""

from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import Machine, Volume
from rackwright.diagnostics.errors import CatalogError


def machine_facts(name: str) -> Machine:
    """The catalog row of a machine. Raises CatalogError when there is none: sizing offered what the catalog does not know."""
    row = Catalog.default().machine_by_name.get(name)
    if row is None:
        raise CatalogError(f"no machine {name!r}")
    return row


def volume_facts(name: str) -> Volume:
    """The catalog row of a storage tier. Raises CatalogError when there is none."""
    row = Catalog.default().volume_by_name.get(name)
    if row is None:
        raise CatalogError(f"no storage tier {name!r}")
    return row
