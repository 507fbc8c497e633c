"""Container images of the pinned charts. They belong to the release, as the versions of the charts do."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from rackwright.catalog.read import DATA, read_table
from rackwright.catalog.release.columns import CHART_IMAGE_VALUES, CHART_IMAGES


@dataclass(frozen=True, slots=True)
class ChartImage:
    """One image of a chart. version: of the chart. tag: empty where the chart sets one that is not listed.

    complete: the tag is the whole tag; False also where an operator adds the system of the node to it.
    """

    chart: str
    version: str
    image: str
    tag: str
    complete: bool
    notes: str
    source: str
    as_of: str


@cache
def chart_images(chart: str) -> tuple[ChartImage, ...]:
    """Rows of `chart_images.csv` for a chart, in file order; empty where its images are not listed. Raises CatalogError."""
    return tuple(row for row in map(_row, read_table(DATA, CHART_IMAGES)) if row.chart == chart)


@dataclass(frozen=True, slots=True)
class ImageValue:
    """One Helm value that a registry of images is part of. path: keys joined by slashes. value: of the chart, without the tag."""

    chart: str
    path: str
    value: str
    notes: str
    source: str
    as_of: str


@cache
def image_values(chart: str) -> tuple[ImageValue, ...]:
    """Rows of `chart_image_values.csv` for a chart, in file order; empty for charts without images. Raises CatalogError."""
    rows = (ImageValue(**record) for record in read_table(DATA, CHART_IMAGE_VALUES))
    return tuple(row for row in rows if row.chart == chart)


def _row(record: dict[str, Any]) -> ChartImage:
    return ChartImage(**record)
