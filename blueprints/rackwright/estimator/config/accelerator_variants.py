"""Accelerators that a short name may mean."""

import re

from rackwright.catalog.read import Catalog
from rackwright.estimator.config import accelerators


def variants(name: str, catalog: Catalog) -> tuple[str, ...]:
    """Return the accelerators that a name may mean, where their rates differ by more than a tenth: `h100` is SXM5, PCIe or NVL.

    One name, or none, where it is the type of a cloud (`nvidia-h100-80gb`), or the variants are alike.
    """
    parts = [part for part in _parts(name) if part != "nvidia"]
    is_type_of_cloud = name.lower().startswith("nvidia-") and name.lower() in catalog.accelerator_by_name
    if not parts or is_type_of_cloud:
        return ()
    rows = [row for row in catalog.accelerators if all(any(_is_part(part, word) for word in _parts(row.name)) for part in parts)]
    known = [found for row in rows if (found := accelerators.of(row, catalog))]
    rates = [(found.base_peak, found.bandwidth_bytes_per_s) for found in known]
    differ = any(max(column) > 1.1 * min(column) for column in zip(*rates, strict=True))
    return tuple(found.name for found in known) if differ else ()


def _parts(name: str) -> list[str]:
    return [part for part in re.split(r"[\s/_,()-]+", name.lower()) if part]


def _is_part(part: str, word: str) -> bool:
    """Whether a part of a printed name is a word of a catalog name; `sxm` is `SXM5`."""
    return part == word or (part == "sxm" and word.startswith("sxm"))
