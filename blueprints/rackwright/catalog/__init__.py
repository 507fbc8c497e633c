"""What can be bought or owned, and what models are made of: data files, strict readers, queries."""

from rackwright.catalog.read import Catalog

__all__ = ["Catalog"]
