"""Container images of the pinned charts. They belong to the release, as the versions of the charts do."""

from dataclasses import dataclass
from functools import cache

from rackwright.catalog.columns import CHART_IMAGES
from rackwright.catalog.read import DATA, read_table


@dataclass(frozen=True, slots=True)
class ChartImage:
    """One image of a chart. version: of the chart. tag: empty where the chart sets one that is not listed."""

    chart: str
    version: str
    image: str
    tag: str
    notes: str
    source: str
    as_of: str


@cache
def chart_images(chart: str) -> tuple[ChartImage, ...]:
    """Rows of `chart_images.csv` for a chart, in file order; empty where its images are not listed. Raises CatalogError."""
    return tuple(row for row in map(_row, read_table(DATA, CHART_IMAGES)) if row.chart == chart)


def _row(record: dict[str, str]) -> ChartImage:
    return ChartImage(**record)
