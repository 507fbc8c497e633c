"""What can be bought or owned, and what models are made of: data files, strict readers, queries."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rackwright.catalog.read import Catalog

__all__ = ["Catalog"]


def __getattr__(name: str) -> Any:
    """`Catalog` on first use, so that model arithmetic does not pay for the hardware tables."""
    if name != "Catalog":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rackwright.catalog.read import Catalog

    return Catalog
