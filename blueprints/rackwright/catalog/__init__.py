"""Catalog of hardware, offerings, prices and models: data files, strict readers and queries."""

from rackwright.catalog.read import Catalog

__all__ = ["Catalog"]
