"""Environment variables that a container needs to use a fabric. They belong to the release, as the pinned versions do."""

from dataclasses import dataclass
from functools import cache

from rackwright.catalog.hardware import Fabric
from rackwright.catalog.read import DATA, read_table
from rackwright.catalog.release.columns import FABRIC_ENVIRONMENT

NO_HUGE_PAGES = "no-huge-pages"
"""Pods that request no huge pages."""
OWN_SERVERS, NAMED_PORTS = "own-servers", "named-ports"
"""Pods on own servers, and those of them that see the RDMA ports by the names of the inventory. Values of NAMED_PORTS have placeholders:
{devices} is the list of devices, {ports} that of their ports."""


@dataclass(frozen=True, slots=True)
class FabricVariable:
    """One variable. accelerators: kind of machine. only: pods that need it, empty for all.

    pins_transport: with another value, or without the variable, communication may use TCP without an error.
    """

    fabric: Fabric
    accelerators: str
    variable: str
    value: str
    pins_transport: bool
    only: str
    notes: str
    source: str
    as_of: str


@cache
def fabric_variables(fabric: str, accelerators: str = "gpu", only: str = "") -> tuple[FabricVariable, ...]:
    """Rows of `fabric_environment.csv` for a fabric and a kind of machine, in file order; empty for fabrics without any.

    only: rows for these pods instead of the rows for all pods. Raises CatalogError when the file is invalid.
    """
    rows = (FabricVariable(**record) for record in read_table(DATA, FABRIC_ENVIRONMENT))
    return tuple(row for row in rows if (row.fabric, row.accelerators, row.only) == (fabric, accelerators, only))
