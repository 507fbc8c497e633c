"""Releases of NVIDIA's operators: the drivers and the NIC firmware that belong to each, and what each supports.

They belong to the release, as the pinned versions do.
"""

import re
from dataclasses import dataclass
from functools import cache

from rackwright.catalog.read import DATA, read_table
from rackwright.catalog.release.columns import OPERATOR_MATRIX


@dataclass(frozen=True, slots=True)
class OperatorRelease:
    """One release, such as 26.4. status: of NVIDIA's support. driver: that it installs by default. nic_firmware: of ConnectX-7.

    kubernetes_first, kubernetes_last: minor versions, 35 for 1.35.

    Empty or None: not published in the sources that were read.
    """

    component: str
    release: str
    status: str
    driver: str
    nic_firmware: str
    gpu_operator_first: str
    notes: str
    kubernetes_first: int | None
    kubernetes_last: int | None
    source: str
    as_of: str


@cache
def operator_releases(component: str) -> tuple[OperatorRelease, ...]:
    """Rows of `operator_matrix.csv` for an operator, newest first. Raises CatalogError when the file is invalid."""
    rows = (OperatorRelease(**record) for record in read_table(DATA, OPERATOR_MATRIX))
    return tuple(row for row in rows if row.component == component)


def operator_release(component: str, version: str) -> OperatorRelease | None:
    """The row of a version, such as v26.4.1; None where the matrix has none."""
    numbers = version_numbers(version)[:2]
    return next((row for row in operator_releases(component) if version_numbers(row.release) == numbers), None)


def version_numbers(version: str) -> tuple[int, ...]:
    """Numbers of a version: v26.4.1 is (26, 4, 1)."""
    return tuple(map(int, re.findall(r"[0-9]+", version)))
