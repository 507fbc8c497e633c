"""Facts of machines, from the catalog."""

from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import Machine
from rackwright.diagnostics.errors import CatalogError


def machine_facts(name: str) -> Machine:
    """The catalog row of a machine. Raises CatalogError where the catalog has none."""
    row = Catalog.default().machine_by_name.get(name)
    if row is None:
        raise CatalogError(f"no machine {name!r}")
    return row
